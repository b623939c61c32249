"""MARA: allocation for arms that succeed with probability min(1, x / nu), after Dagan and Crammer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike

from headgate import checks
from headgate.feedback import Feedback
from headgate.laws import Floats, Law
from headgate.oracle import Limits
from headgate.policies.base import Common, Policy


class MARA(Policy):
    """Optimism about the one number nu of each arm: cheap arms first, each as much as it surely can use.

    Theirs (Lattimore, Crammer and Szepesvari 2014; Dagan and Crammer 2018): the model, success with probability
    min(1, x / nu); the optimum, arms in order of nu, each nu, until the budget is gone; playing that for lower
    confidence bounds on nu; a start that halves an arm's amount while it succeeds, because a failure at x proves
    nu > x; and estimating 1/nu by sum(w success) / sum(w x) with w = 1 / (1 - x / upper bound of nu), because a success
    says most where it is almost certain, with a radius of Bernstein's kind in sum(w x) / nu and the largest w.

    Ours, because we do not reproduce their papers to the letter: all arms halve at once, from max_budget / K; the
    constants of the radius, log(1 / delta) = 3 log(t + 1); bounds that are not forced to be monotone, so that they can
    be discounted; `lower` and `upper`. The law is not used. On thresholds with p < 1 or a curved G the model is wrong
    and regret linear.
    """

    name = "mara"
    state_names: ClassVar[tuple[str, ...]] = ("trial", "failed", "weighted", "spent", "heaviest")

    def __init__(
        self, law: Law | Sequence[Law], arms: int, max_budget: float, *, delta: float = 1.0, **common: Unpack[Common]
    ) -> None:
        super().__init__(law, arms, max_budget, options={"delta": delta}, **common)
        self.delta = float(checks.numbers("delta", delta, most=1.0, open_least=True))
        each = (*self.batch, arms)
        self.trial = np.full(each, self.max_budget / arms)  # what the start gives next; nu is larger once `failed`
        self.failed = np.zeros(each, dtype=np.bool_)
        self.weighted, self.spent = np.zeros((2, *each))  # sum w success, sum w x
        self.heaviest = np.ones(each)  # the largest w

    def _bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper confidence bounds on nu; infinite where nothing bounds it from above."""
        log = 3.0 * np.log(self.round + 2.0) - np.log(self.delta)
        # S = sum w success has mean m = sum w x / nu and, because of the weights, a variance of at most m. Bernstein:
        # |S - m| <= sqrt(2 m log) + heaviest log / 3, solved for m.
        half, jump = np.sqrt(log / 2.0), self.heaviest * log / 3.0
        most = np.square(half + np.sqrt(half**2 + self.weighted + jump))
        least = np.square(np.maximum(np.sqrt(np.maximum(half**2 + self.weighted - jump, 0.0)) - half, 0.0))
        low = self.spent / most
        high = np.where(least > 0.0, self.spent / np.maximum(least, 1e-300), np.inf)
        return np.where(self.failed, np.maximum(low, self.trial), self.trial), np.where(self.failed, high, np.inf)

    def _allocate(self, limits: Limits) -> Floats:
        nu, _ = self._bounds()
        order = np.argsort(nu, axis=-1, kind="stable")
        want = np.minimum(np.where(self.whole, np.ceil(nu), nu), limits.upper)
        extra = np.take_along_axis(np.maximum(want - limits.lower, 0.0), order, axis=-1)
        budget = limits.budget[..., None] * (
            1.0 - (0.0 if self._any_whole else 2.3e-16 * self.arms)
        )  # less what rounding adds
        spare = budget - limits.lower.sum(axis=-1, keepdims=True)
        given = np.clip(spare - (np.cumsum(extra, axis=-1) - extra), 0.0, extra)
        given = np.where(
            np.take_along_axis(np.broadcast_to(self.whole, order.shape), order, -1), np.floor(given), given
        )
        x = np.empty_like(given)
        np.put_along_axis(x, order, given, axis=-1)
        return np.asarray(limits.lower + x)

    def observe(self, x: ArrayLike, feedback: Feedback) -> None:
        """Halve on success until the first failure; then add to the weighted sums."""
        super().observe(x, feedback)
        amount = self._played(x, feedback)
        told = feedback.reported & (amount > 0.0)
        _, high = self._bounds()
        weight = np.where(told & self.failed, 1.0 / np.maximum(1.0 - amount / high, 1e-3), 0.0)
        self.weighted = self.weighted + weight * feedback.success
        self.spent = self.spent + weight * amount
        self.heaviest = np.maximum(self.heaviest, weight)
        starting = told & ~self.failed
        self.trial = np.where(
            starting, np.minimum(self.trial, amount) / np.where(feedback.success, 2.0, 1.0), self.trial
        )
        self.failed = self.failed | (starting & ~feedback.success)

    def _forget(self, factor: float) -> None:
        super()._forget(factor)
        self.weighted, self.spent = self.weighted * factor, self.spent * factor
