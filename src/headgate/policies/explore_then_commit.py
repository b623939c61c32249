"""Explore, then commit: the paper's RA-ETC."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from headgate.errors import ParameterError
from headgate.evidence import Evidence
from headgate.laws import Floats
from headgate.policies.model import Curves
from headgate.policies.paper import PaperPolicy
from headgate.policies.state import State


@dataclass(slots=True, eq=False)
class CommittedState(State):
    """What has been committed to."""

    committed: bool
    rate_hat: Floats
    activation_hat: Floats


@final
class ExploreThenCommit(PaperPolicy):
    """For T^(2/3) rounds everything on one arm in turn; then the optimum for the estimates of that moment, for ever.

    An arm that has not succeeded by then gets nothing. Other budgets after the commit are solved anew with the same
    estimates, and feedback that arrives after it changes nothing but `estimate()`. The paper's RA-ETC.

    Parameters
    ----------
    per_arm : bool, default False
        True: T^(2/3) rounds for each arm, as in the paper's remark; False: T^(2/3) in all, as in its experiments.
    """

    name = "explore-then-commit"
    default_range = (1e-6, 1e6)

    per_arm: bool = False

    def __post_init__(self) -> None:
        """Check."""
        if not isinstance(self.per_arm, bool):
            raise ParameterError(f"per_arm must be true or false, got {self.per_arm!r}")
        super().__post_init__()

    @cached_property
    def exploration(self) -> int:
        """Rounds of exploration: T^(2/3), rounded, in all or for each arm."""
        count: int = round(self.rounds ** (2.0 / 3.0))
        return count * self.arms if self.per_arm else count

    def start(self, evidence: Evidence | None = None) -> CommittedState:
        """Return the state before the exploration."""
        rate, activation = np.zeros((2, *self.batch, self.arms))
        return CommittedState(self.evidence_or_none(evidence), 0, False, rate, activation)

    def curves(self, state: CommittedState) -> Curves:
        """Return curves that send everything to one arm in turn, then those committed to."""
        if state.round < self.exploration:
            return self.everything_on(state.round % self.arms)
        if not state.committed:
            rate, state.activation_hat = self.point_estimate(state.evidence)
            low, high = self.rates
            state.rate_hat = np.clip(np.where(np.isnan(rate), low, rate), low, high)
            state.committed = True
        return Curves(state.activation_hat, state.rate_hat)
