"""Policies that act on estimates: they hand weights and rates to the oracle, or pour along its path."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headgate import checks
from headgate.errors import BudgetError, UnsupportedError
from headgate.estimators import corrected_rate, likelihood, paper_activation, paper_rate
from headgate.evidence import Evidence
from headgate.laws import Floats, Law
from headgate.laws.standard import Standard
from headgate.oracle import Limits, maximise, standard_form
from headgate.policies.base import Policy

Estimator = Literal["paper", "corrected", "likelihood"]
ESTIMATORS = ("paper", "corrected", "likelihood")
Portions: TypeAlias = tuple[NDArray[np.int64], Floats]
_BLOCKS = 1024  # of the largest budget, when pouring without a step


class Curves(NamedTuple):
    """What the oracle is to maximise: weight times G(., rate), arm by arm."""

    weight: Floats
    rate: Floats
    form: Standard | None = None


def point_estimate(law: Law, evidence: Evidence, estimator: str) -> tuple[Floats, Floats]:
    """lambda_hat, NaN before a first success, and p_hat."""
    if estimator == "likelihood":
        found = likelihood(law, evidence)
        return found.rate, found.activation
    rate = (paper_rate if estimator == "paper" else corrected_rate)(law, evidence)
    return rate, paper_activation(law, evidence, rate)


class ModelPolicy(Policy):
    """A policy given by the curves it believes in, round by round."""

    #: Relative precision that a learner's allocation needs; its estimates are never that good.
    tolerance = 1e-6
    max_nodes = 200

    @abstractmethod
    def _curves(self) -> Curves:
        """Return the curves to act on in this round."""

    def _everything_on(self, arm: int) -> Curves:
        """Curves that send all of the budget to one arm."""
        weight = np.zeros((*self.batch, self.arms))
        weight[..., arm] = 0.5
        return Curves(weight, np.full_like(weight, 1.0 / self.max_budget))

    def _believed(self) -> Curves:
        """The curves with weights that suit the reward; equal weights where nothing is believed to be worth a thing."""
        weight, rate, form = self._curves()
        if weight.min() <= 0.0:
            weight = np.where(np.any(weight > 0.0, axis=-1, keepdims=True), weight, 0.5)
        return Curves(np.minimum(weight, 1.0) if self.reward == "cascade" else weight, rate, form)

    def _allocate(self, limits: Limits) -> Floats:
        weight, rate, form = self._believed()
        return maximise(self.law, weight, rate, limits, self.reward, self.tolerance, self.max_nodes, form).x

    def pour(self, step: float | None = None, *, resolution: float | None = None) -> Iterator[tuple[int, float]]:
        """Begin a round whose budget nobody knows yet: yield (arm, amount) until `max_budget`, or until you stop.

        Then `observe` what each arm got in all. The lower limits are poured first.

        Without `step` this walks the oracle's path in blocks of `resolution` (by default max_budget / 1024): after
        each block the arms have what `allocate` would have given them at that budget (the paper's MG-UCB). With `step`
        each step goes to the arm that gains most by it (MG-UCB-Delta); this is the best allocation in such steps, and
        loses at most (K + 1) G_max step against `allocate`. Arms that count in whole units get at least one at a time.

        S-shaped laws: no way of pouring is best at every budget, because what was poured cannot be taken back. This
        one is the best on the concave hulls of the curves: an arm once begun is taken to its point of tangency before
        any other gets more. It is the optimum at every budget at which no arm is on its way there; at the others it may
        lose as much as a curve lies below its hull, which for the first arm of all can be all of its worth.
        """
        if self.batch:
            raise UnsupportedError(f"only a single learner pours, this is a batch of shape {self.batch}")
        size = checks.numbers(
            "step", self._default_step(resolution) if step is None else step, BudgetError, open_least=True
        )
        if step is not None and resolution is not None:
            raise BudgetError(f"give step or resolution, not both, got {step!r} and {resolution!r}")
        if size.ndim or (self.whole.all() and size != np.floor(size)):
            raise BudgetError(f"step must be one number, and whole for thresholds that are, got {step!r}")
        limits = self.limits(self.max_budget)
        with np.errstate(all="ignore"):  # as in `allocate`
            curves = self._believed()
            exact = step is None and not self.whole.any()
            arms, amounts = (self._along_path if exact else self._greedily)(curves, limits, float(size))
        self._begin_round()
        first = np.flatnonzero(limits.lower > 0.0)
        arms, amounts = np.concatenate([first, arms]), np.concatenate([limits.lower[first], amounts])
        return iter(list(zip(arms.tolist(), amounts.tolist(), strict=True)))

    def _default_step(self, resolution: float | None) -> float:
        fine = self.max_budget / _BLOCKS if resolution is None else resolution
        return 1.0 if self.whole.all() else fine

    def _along_path(self, curves: Curves, limits: Limits, block: float) -> Portions:
        """The increments between points of the oracle's path."""
        least = limits.lower.sum()
        budgets = np.append(np.arange(least + block, self.max_budget * (1.0 - 1e-12), block), self.max_budget)
        # One hull for all budgets, reaching to the largest: only so no arm's amount ever shrinks.
        upper = np.minimum(limits.upper, limits.lower + (self.max_budget - least))
        along = Limits(budgets, limits.lower, upper, limits.free)
        points = maximise(self.law, curves.weight, curves.rate, along, self.reward, 0.0, 0, curves.form).x
        points = np.maximum.accumulate(points, axis=0)
        steps = np.diff(points, axis=0, prepend=limits.lower[None])
        block_of, arms = np.nonzero(steps > 0.0)
        return arms.astype(np.int64), steps[block_of, arms]

    def _greedily(self, curves: Curves, limits: Limits, step: float) -> Portions:
        """Step by step, each to the arm whose hull gains most by it."""
        from headgate.kernels.pour import pour_order  # noqa: PLC0415  # machine code loads on first use

        form = curves.form or standard_form(self.law, self.arms)
        steps = np.where(self.whole, np.ceil(step), step)
        room = np.zeros(int(np.ceil(self.max_budget / steps.min())) + self.arms)
        arms, amounts = pour_order(
            form.base, form.a, form.b, form.shift, form.cap, form.table, curves.weight, curves.rate, limits.lower,
            limits.upper, steps, self.whole, limits.budget, float(self.reward == "cascade"), room,
        )  # fmt: skip
        poured = arms >= 0
        return arms[poured], amounts[poured]
