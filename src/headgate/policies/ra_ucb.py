"""RA-UCB: the paper's Algorithm 1, in its extended form, and a practical configuration of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from headgate import checks
from headgate.estimators import maximum, weak_prior
from headgate.estimators.radii import Bounds, PaperRadii, fisher_bounds
from headgate.feedback import Feedback
from headgate.laws import Floats, Law
from headgate.oracle import standard_form
from headgate.policies.base import Common
from headgate.policies.model import ESTIMATORS, Curves, Estimator, ModelPolicy, point_estimate


class RAUCB(ModelPolicy):
    """Optimism for one arm at a time: each round boosts arm i and makes the others pessimistic.

    With `confidence="paper"` it is the paper's algorithm as written: an initial phase of floor(log T) rounds with
    everything on each arm, two clocks t and t', in each round only the boosted arm updated, rates from the truncated
    mean at B (or `estimator="corrected"`, `"likelihood"`). All bounds are those at t', so they change once in K rounds.
    Its radii are vacuous at any real horizon; `scale` multiplies them (1e-6 brings the paper's figures back). Where
    feedback is late, the first result heard of an arm answers for the round that boosted it.

    With `confidence="fisher"` it is what one would run: no initial phase, no horizon, all arms updated in every round,
    maximum likelihood, and radii of `scale` * sqrt(2 log t) standard deviations.
    """

    name = "ra-ucb"
    needs_rounds = True
    state_names: ClassVar[tuple[str, ...]] = ("bounds", "last", "owed", "poured", "theta")

    def __init__(
        self,
        law: Law | Sequence[Law],
        arms: int,
        max_budget: float,
        *,
        confidence: Literal["paper", "fisher"] = "paper",
        estimator: Estimator = "paper",
        scale: float = 1.0,
        **common: Unpack[Common],
    ) -> None:
        self.paper = checks.choice("confidence", confidence, ("paper", "fisher")) == "paper"
        self.needs_rounds = self.paper
        self.additive = not self.paper
        options = {"confidence": confidence, "estimator": estimator, "scale": scale}
        super().__init__(law, arms, max_budget, options=options, **common)
        self.estimator = checks.choice("estimator", estimator, ESTIMATORS)
        self.scale = float(checks.numbers("scale", scale))
        self.initial = int(np.log(self.rounds)) if self.paper and self.rounds else 0  # floor(log T)
        each = (*self.batch, arms)
        self.bounds = np.zeros((4, *each))  # those of t', in the order of `Bounds`
        self.last = np.full(each, self.max_budget)  # x of the arm's last update, for C_hat
        self.owed = np.zeros(each, dtype=np.int64)  # rounds that boosted the arm, less those heard of
        self.poured = -1  # the arm that the round being poured boosts
        self.theta = np.zeros((*each, 2))  # where the likelihood is largest
        self.theta[..., 0] = np.log(arms / self.max_budget)
        self._radii = PaperRadii(self.law, self.max_budget, self.rate_range, self.scale) if self.paper else None

    def _curves(self) -> Curves:
        """(lambda, lambda', p) = (lambda-, lambda+, p+) for arm i, (lambda+, lambda-, p-) for the others."""
        if self.round < self.initial * self.arms:
            return self._everything_on(self.round // self.initial)
        clock, arm = divmod(self.round - self.initial * self.arms, self.arms)
        if self._radii is None:
            self.bounds = np.stack(self._fisher_bounds())
        elif arm == 0:
            self.bounds = np.stack(self._paper_bounds(self._radii, clock + 1))  # t' = 1, 2, ...
        bounds = Bounds(*self.bounds)
        boosted = np.arange(self.arms) == arm
        rate = np.where(boosted, bounds.rate_low, bounds.rate_high)
        other = np.where(boosted, bounds.rate_high, bounds.rate_low)
        weight = np.where(boosted, bounds.activation_high, bounds.activation_low)
        return Curves(weight * self.law.boost(rate, other), rate)

    def _paper_bounds(self, radii: PaperRadii, clock: int) -> Bounds:
        rate, activation = point_estimate(self.law, self.evidence, self.estimator)
        return radii(rate, activation, self.evidence.successes, self.last, clock)

    def _fisher_bounds(self) -> Bounds:
        form, prior = standard_form(self.law, self.arms), weak_prior(self.evidence)
        found = maximum(form, self.whole, self.evidence, prior, self.theta, steps=8)
        self.theta = found.theta
        return fisher_bounds(found, self.scale * np.sqrt(2.0 * np.log(self.round + 1.0)), self.rate_range)

    def _arm_of_round(self) -> int:
        """The arm that this round explores or boosts."""
        start = self.initial * self.arms
        return self.round // self.initial if self.round < start else (self.round - start) % self.arms

    def allocate(self, budget: ArrayLike) -> Floats:
        """Split `budget` and begin a new round, in which one arm is boosted."""
        arm = self._arm_of_round()
        x = super().allocate(budget)
        self.poured = -1
        given = x[..., arm] > 0.0
        self.owed[..., arm] += given
        self.last[..., arm] *= given  # C_hat = G(0) = 0: nothing is known of p
        return x

    def pour(self, step: float | None = None, *, resolution: float | None = None) -> Iterator[tuple[int, float]]:
        """Begin a round whose budget nobody knows yet, in which one arm is boosted; see `ModelPolicy.pour`."""
        arm = self._arm_of_round()
        steps = super().pour(step, resolution=resolution)
        self.owed[..., arm] += 1
        self.poured = arm  # whether it got anything is only known when the money is gone
        return steps

    def observe(self, x: ArrayLike, feedback: Feedback) -> None:
        """Update arm i only, as the paper does; with Fisher radii, every arm."""
        if not self.paper:
            super().observe(x, feedback)
            return
        amount = self._played(x, feedback)
        told = feedback.reported & (amount > 0.0) & (self.owed > 0)
        self.evidence.record(amount, feedback, told)
        self.owed -= told
        self.last = np.where(told, amount, self.last)
        if self.poured >= 0 and amount[..., self.poured] <= 0.0:  # as in `allocate`, but later
            self.owed[..., self.poured] -= 1
            self.last[..., self.poured] = 0.0
        self.poured = -1
