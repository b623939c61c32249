"""What the paper's own policies share: a horizon, a range of rates, an estimator; and one arm boosted at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import ParameterError, UnsupportedError
from headgate.estimators import corrected_rate, likelihood, paper_activation, paper_rate
from headgate.estimators.radii import Bounds, PaperRadii
from headgate.evidence import Evidence
from headgate.feedback import Feedback
from headgate.laws import Floats, RateRange
from headgate.policies.ask import Ask
from headgate.policies.model import Curves, ModelPolicy
from headgate.policies.rule import Portions
from headgate.policies.state import State

Estimator = Literal["paper", "corrected", "likelihood"]
ESTIMATORS = ("paper", "corrected", "likelihood")
_LOOKS = 33  # rates at which the mean threshold is looked at


class PaperPolicy(ModelPolicy):
    """A policy of the paper: it knows the horizon, and acts on point estimates.

    Parameters
    ----------
    rounds : int
        The horizon T, at least 1.
    rate_range : (float, float), default (1 / max_budget, 80 / max_budget)
        Lambda = [m/B, M/B], within which the rates are known to be; by default as in the paper's experiments, and for
        `ExploreThenCommit`, which does without, from 1e-6 / max_budget to 1e6 / max_budget.
    estimator : "paper", "corrected" or "likelihood", default "paper"
        How rates are estimated: from the mean of the thresholds, truncated at B (the paper's, consistent only where
        everything was on one arm) or at what was given; or by maximum likelihood.
    """

    default_range: ClassVar[RateRange] = (1.0, 80.0)  # in units of 1 / max_budget

    rounds: int
    rate_range: RateRange | None = None
    estimator: Estimator = "paper"

    def __post_init__(self) -> None:
        """Check."""
        super().__post_init__()
        checks.choice("estimator", self.estimator, ESTIMATORS)
        vars(self).update(rounds=checks.whole("rounds", self.rounds), rates=self.rates)
        if self.estimator != "likelihood" and not any(law.is_open for law, _ in self.laws.members()):
            self._check_mean()

    def _check_mean(self) -> None:
        """Raise if a mean of thresholds may stand for two rates: then the paper's equation has no answer."""
        rate = np.geomspace(*self.rates, _LOOKS)[:, None]
        mean = self.laws.truncated_mean(np.broadcast_to(rate, (_LOOKS, self.arms)), self.max_budget)
        rises = np.diff(mean, axis=0) > 1e-9 * mean[:-1]
        if rises.any():
            look, arm = (int(v) for v in np.argwhere(rises)[0])
            low, high = rate[look, 0], rate[look + 1, 0]
            raise UnsupportedError(
                f"the mean threshold below {self.max_budget:g} of arm {arm}, {self.laws.of_arm(arm)}, grows from "
                f"{mean[look, arm]:.6g} to {mean[look + 1, arm]:.6g} between rates {low:.3g} and {high:.3g}, so that "
                'it does not tell the rate: use estimator="likelihood", or a rate_range without them'
            )

    @cached_property
    def rates(self) -> RateRange:
        """The range of rates: `rate_range` or its default."""
        if self.rate_range is None:
            return self.default_range[0] / self.max_budget, self.default_range[1] / self.max_budget
        ends = checks.numbers("rate_range", self.rate_range, open_least=True)
        if ends.shape != (2,) or not ends[0] < ends[1]:
            raise ParameterError(f"rate_range must be (low, high) with low < high, got {self.rate_range!r}")
        return float(ends[0]), float(ends[1])

    def point_estimate(self, evidence: Evidence) -> tuple[Floats, Floats]:
        """Return lambda_hat, NaN before a first success, and p_hat: (..., K) each."""
        if self.estimator == "likelihood":
            estimate = likelihood(self.laws, evidence)
            return estimate.rate, estimate.activation
        rate = (paper_rate if self.estimator == "paper" else corrected_rate)(self.laws, evidence)
        return rate, paper_activation(self.laws, evidence, rate)


@dataclass(slots=True, eq=False)
class BoostingState(State):
    """What the paper's algorithm remembers of each arm, (..., K)."""

    bounds: Floats
    """Those of t', in the order of `Bounds`: (4, ..., K)."""
    last: Floats
    """The allocation of the arm's last update, for C_hat."""
    owed: NDArray[np.int64]
    """Rounds that boosted the arm, less those heard of."""
    poured: int
    """The arm that the round being poured boosts, or -1."""


class Boosting(PaperPolicy):
    """Optimism for one arm at a time: each round boosts arm i and makes the others pessimistic.

    The initial phase gives everything to each arm for floor(log T) rounds.
    """

    @property
    def width(self) -> float:
        """What both radii are multiplied by."""
        return 1.0

    def __post_init__(self) -> None:
        """Check."""
        super().__post_init__()
        vars(self).update(_radii=self._radii)  # raises here, if the law has none

    @cached_property
    def initial(self) -> int:
        """Rounds of the initial phase for each arm: floor(log T)."""
        return int(np.log(self.rounds))

    @cached_property
    def _radii(self) -> PaperRadii:
        return PaperRadii(self.laws, self.max_budget, self.rates, self.width)

    def start(self, evidence: Evidence | None = None) -> BoostingState:
        """Return the state before the initial phase."""
        each = (*self.batch, self.arms)
        last, owed = np.full(each, self.max_budget), np.zeros(each, dtype=np.int64)
        return BoostingState(self.evidence_or_none(evidence), 0, np.zeros((4, *each)), last, owed, -1)

    def arm_of(self, round_: int) -> int:
        """Return the arm that a round, counted from 0, explores or boosts."""
        start = self.initial * self.arms
        return round_ // self.initial if round_ < start else (round_ - start) % self.arms

    def curves(self, state: BoostingState) -> Curves:
        """(lambda, lambda', p) = (lambda-, lambda+, p+) for arm i, (lambda+, lambda-, p-) for the others.

        The paper's surrogate G~ is `law.boost(lambda, lambda')` times G(., lambda). All bounds are those at t', so they
        change once in K rounds.
        """
        arm, main = self.arm_of(state.round), state.round - self.initial * self.arms
        if main < 0:
            return self.everything_on(arm)
        if arm == 0:
            rate, activation = self.point_estimate(state.evidence)
            clock = main // self.arms + 1  # t' = 1, 2, ...
            thresholds = state.evidence.counts("seen").sum(axis=-1)
            self.look_at(state.evidence, clock)
            state.bounds = np.stack(self._radii(rate, activation, thresholds, state.last, clock))
        bounds = Bounds(*state.bounds)
        boosted = np.arange(self.arms) == arm
        rate = np.where(boosted, bounds.rate_low, bounds.rate_high)
        other = np.where(boosted, bounds.rate_high, bounds.rate_low)
        weight = np.where(boosted, bounds.activation_high, bounds.activation_low)
        return Curves(weight * self.laws.boost(rate, other), rate)

    def look_at(self, evidence: Evidence, clock: int) -> None:
        """Look at what has been seen by t' = `clock`; those who promise something warn here."""

    def split(self, state: BoostingState, ask: Ask) -> Floats:
        """Return the best allocation for the surrogate, and remember that it boosts an arm."""
        arm, x = self.arm_of(state.round), super().split(state, ask)
        served = x[..., arm] > 0.0
        state.owed[..., arm] += served
        state.last[..., arm] *= served  # C_hat = G(0) = 0: nothing is known of p
        state.poured = -1
        return x

    def decide_pour(
        self, state: BoostingState, ask: Ask, step: float | None = None, resolution: float | None = None
    ) -> tuple[Portions, Any]:
        """Pour along the surrogate's curves; see `ModelPolicy.decide_pour`."""
        arm = self.arm_of(state.round if ask.round is None else ask.round)
        portions, after = super().decide_pour(state, ask, step, resolution)
        state.owed[..., arm] += 1
        state.poured = arm  # whether it got anything is only known when the money is gone
        return portions, after

    def absorb(self, state: Any, x: ArrayLike, feedback: Feedback, features: Any = None) -> Any:
        """Update arm i only: the first result heard of an arm answers for the round that boosted it."""
        self._refuse_features(features)
        amount = self.played(x, feedback)
        counted = feedback.reported & (amount > 0.0) & (state.owed > 0)
        state.evidence.record(amount, feedback, counted)
        state.owed -= counted
        state.last = np.where(counted, amount, state.last)
        if state.poured >= 0 and amount[..., state.poured] <= 0.0:  # it did not reach the boosted arm
            state.owed[..., state.poured] -= 1
            state.last[..., state.poured] = 0.0
        state.poured = -1
        return state
