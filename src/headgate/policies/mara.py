"""MARA: allocation for arms that succeed with probability min(1, x / nu), after Dagan and Crammer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.evidence import Evidence
from headgate.feedback import Feedback
from headgate.laws import Floats
from headgate.policies.ask import Ask
from headgate.policies.base import Policy
from headgate.policies.state import State


@dataclass(slots=True, eq=False)
class ThresholdState(State):
    """What is known of each arm's nu, (..., K)."""

    trial: Floats
    """What the start gives next; nu is larger once `failed`."""
    failed: NDArray[np.bool_]
    """The start is over."""
    weighted: Floats
    """sum w success."""
    spent: Floats
    """sum w x."""
    heaviest: Floats
    """The largest w."""


@final
class MARA(Policy):
    """Optimism about the one number nu of each arm: cheap arms first, each as much as it surely can use.

    Theirs (Lattimore, Crammer and Szepesvari 2014; Dagan and Crammer 2018): the model, success with probability
    min(1, x / nu); the optimum, arms in order of nu, each nu, until the budget is gone; playing that for lower
    confidence bounds on nu; a start that halves an arm's amount while it succeeds, because a failure at x proves
    nu > x; and estimating 1/nu by sum(w success) / sum(w x) with w = 1 / (1 - x / upper bound of nu), because a success
    says most where it is almost certain, with a radius of Bernstein's kind in sum(w x) / nu and the largest w.

    Ours, because we do not reproduce their papers to the letter: all arms halve at once, from max_budget / K; the
    constants of the radius, log(1 / delta) = 3 log(t + 1); bounds that are not forced to be monotone, so that they can
    be discounted; `lower` and `upper`; values, arms in order of nu / value. The law is not used. On thresholds with
    p < 1 or a curved G the model is wrong and regret linear.

    Parameters
    ----------
    delta : float in (0, 1], default 1
        The bounds hold with log(1 / delta) more in their radius.
    """

    name = "mara"

    delta: float = 1.0

    def __post_init__(self) -> None:
        """Check."""
        super().__post_init__()
        vars(self).update(delta=float(checks.numbers("delta", self.delta, most=1.0, open_least=True)))

    def start(self, evidence: Evidence | None = None) -> ThresholdState:
        """Return the state before the start: every arm is to try max_budget / K."""
        each = (*self.batch, self.arms)
        trial, failed = np.full(each, self.max_budget / self.arms), np.zeros(each, dtype=np.bool_)
        return ThresholdState(
            self.evidence_or_none(evidence), 0, trial, failed, np.zeros(each), np.zeros(each), np.ones(each)
        )

    def bounds(self, state: ThresholdState) -> tuple[Floats, Floats]:
        """Return lower and upper confidence bounds on nu; infinite where nothing bounds it from above."""
        log = 3.0 * np.log(state.round + 2.0) - np.log(self.delta)
        # S = sum w success has mean m = sum w x / nu and, because of the weights, a variance of at most m. Bernstein:
        # |S - m| <= sqrt(2 m log) + heaviest log / 3, solved for m.
        half, jump = np.sqrt(log / 2.0), state.heaviest * log / 3.0
        most = np.square(half + np.sqrt(half**2 + state.weighted + jump))
        least = np.square(np.maximum(np.sqrt(np.maximum(half**2 + state.weighted - jump, 0.0)) - half, 0.0))
        low = state.spent / most
        high = np.where(least > 0.0, state.spent / np.maximum(least, 1e-300), np.inf)
        return np.where(state.failed, np.maximum(low, state.trial), state.trial), np.where(state.failed, high, np.inf)

    def split(self, state: ThresholdState, ask: Ask) -> Floats:
        """Return what the cheapest arms surely can use, one after the other."""
        limits, (nu, _) = ask.limits, self.bounds(state)
        order = np.argsort(nu if ask.value is None else nu / ask.value, axis=-1, kind="stable")
        want = np.minimum(np.where(self.whole, np.ceil(nu), nu), limits.upper)
        extra = np.take_along_axis(np.maximum(want - limits.lower, 0.0), order, axis=-1)
        rounding = 0.0 if self._any_whole else 2.3e-16 * self.arms  # what adding up may add
        spare = limits.budget[..., None] * (1.0 - rounding) - limits.lower.sum(axis=-1, keepdims=True)
        amounts = np.clip(spare - (np.cumsum(extra, axis=-1) - extra), 0.0, extra)
        amounts = np.where(self.whole[order], np.floor(amounts), amounts)
        x = np.empty_like(amounts)
        np.put_along_axis(x, order, amounts, axis=-1)
        return np.asarray(limits.lower + x)

    def absorb(self, state: Any, x: ArrayLike, feedback: Feedback, features: Any = None) -> Any:
        """Halve on success until the first failure; then add to the weighted sums."""
        super().absorb(state, x, feedback, features)
        amount = self.played(x, feedback)
        counted = feedback.reported & (amount > 0.0)
        _, high = self.bounds(state)
        weight = np.where(counted & state.failed, 1.0 / np.maximum(1.0 - amount / high, 1e-3), 0.0)
        state.weighted = state.weighted + weight * feedback.success
        state.spent = state.spent + weight * amount
        state.heaviest = np.maximum(state.heaviest, weight)
        starting = counted & ~state.failed
        less = np.minimum(state.trial, amount) / np.where(feedback.success, 2.0, 1.0)
        state.trial = np.where(starting, less, state.trial)
        state.failed = state.failed | (starting & ~feedback.success)
        return state

    def fade(self, state: ThresholdState, factor: float) -> None:
        """Let the sums fade as evidence does."""
        super().fade(state, factor)
        state.weighted, state.spent = state.weighted * factor, state.spent * factor
