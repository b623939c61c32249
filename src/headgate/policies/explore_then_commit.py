"""Explore, then commit: the paper's RA-ETC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Unpack

import numpy as np

from headgate import checks
from headgate.laws import Law
from headgate.policies.base import Common
from headgate.policies.model import ESTIMATORS, Curves, Estimator, ModelPolicy, point_estimate

_WIDE = (1e-6, 1e6)  # rate * max_budget, where no rate_range is given


class ExploreThenCommit(ModelPolicy):
    """For T^(2/3) rounds everything on one arm in turn; then the optimum for the estimates of that moment, for ever.

    An arm that has not succeeded by then gets nothing. Other budgets after the commit are solved anew with the same
    estimates, and feedback that arrives after it changes nothing but `estimate()`.
    """

    name = "explore-then-commit"
    needs_rounds = True
    state_names: ClassVar[tuple[str, ...]] = ("committed", "rate_hat", "activation_hat")

    def __init__(
        self,
        law: Law | Sequence[Law],
        arms: int,
        max_budget: float,
        *,
        estimator: Estimator = "paper",
        **common: Unpack[Common],
    ) -> None:
        super().__init__(law, arms, max_budget, options={"estimator": estimator}, **common)
        self.estimator = checks.choice("estimator", estimator, ESTIMATORS)
        self.exploration = round((self.rounds or 1) ** (2.0 / 3.0))
        self.committed = False
        self.rate_hat, self.activation_hat = np.zeros((2, *self.batch, arms))
        if common.get("rate_range") is None:
            self.rate_range = _WIDE[0] / self.max_budget, _WIDE[1] / self.max_budget

    def _curves(self) -> Curves:
        if self.round < self.exploration:
            return self._everything_on(self.round % self.arms)
        if not self.committed:
            rate, self.activation_hat = point_estimate(self.law, self.evidence, self.estimator)
            low, high = self.rate_range
            self.rate_hat = np.clip(np.where(np.isnan(rate), low, rate), low, high)
            self.committed = True
        return Curves(self.activation_hat, self.rate_hat)
