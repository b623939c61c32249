"""Explore, then commit: the paper's RA-ETC."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from headgate import checks
from headgate.evidence import Evidence
from headgate.laws import Floats, RateRange
from headgate.policies.boosting import checked_range
from headgate.policies.model import ESTIMATORS, Curves, Estimator, ModelPolicy, point_estimate
from headgate.policies.state import State

_WIDE = (1e-6, 1e6)  # rate * max_budget


@dataclass(slots=True, eq=False)
class CommittedState(State):
    """What has been committed to."""

    committed: bool
    rate_hat: Floats
    activation_hat: Floats


@final
class ExploreThenCommit(ModelPolicy):
    """For T^(2/3) rounds everything on one arm in turn; then the optimum for the estimates of that moment, for ever.

    An arm that has not succeeded by then gets nothing. Other budgets after the commit are solved anew with the same
    estimates, and feedback that arrives after it changes nothing but `estimate()`. The paper's RA-ETC (its remark has
    T^(2/3) rounds for each arm, its experiments T^(2/3) in all, as here).

    Parameters
    ----------
    rounds : int
        The horizon T.
    rate_range : (float, float), default (1e-6 / max_budget, 1e6 / max_budget)
        What estimated rates are clipped to.
    estimator : "paper", "corrected" or "likelihood", default "paper"
        How rates are estimated. Everything is on one arm, where the paper's estimator is consistent.
    """

    name = "explore-then-commit"

    rounds: int
    rate_range: RateRange | None = None
    estimator: Estimator = "paper"

    def __post_init__(self) -> None:
        """Check."""
        super().__post_init__()
        rates = checked_range(self.rate_range, _WIDE, self.max_budget)
        vars(self).update(rounds=checks.whole("rounds", self.rounds), rate_range=rates)
        checks.choice("estimator", self.estimator, ESTIMATORS)

    @cached_property
    def exploration(self) -> int:
        """Rounds of exploration: T^(2/3), rounded."""
        count: int = round(self.rounds ** (2.0 / 3.0))
        return count

    def start(self, evidence: Evidence | None = None) -> CommittedState:
        """Return the state before the exploration."""
        rate, activation = np.zeros((2, *self.batch, self.arms))
        return CommittedState(self.evidence_or_none(evidence), 0, False, rate, activation)

    def curves(self, state: CommittedState) -> Curves:
        """Return curves that send everything to one arm in turn, then those committed to."""
        if state.round < self.exploration:
            return self.everything_on(state.round % self.arms)
        if not state.committed:
            rate, state.activation_hat = point_estimate(self.laws, state.evidence, self.estimator)
            low, high = checked_range(self.rate_range, _WIDE, self.max_budget)
            state.rate_hat = np.clip(np.where(np.isnan(rate), low, rate), low, high)
            state.committed = True
        return Curves(state.activation_hat, state.rate_hat)
