"""Greedy: the paper's NO UCB, which trusts its point estimates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Unpack

from headgate.laws import Law
from headgate.policies.base import Common
from headgate.policies.model import Estimator
from headgate.policies.ra_ucb import RAUCB


class Greedy(RAUCB):
    """RA-UCB without confidence bounds: both radii are 0.

    `confidence="paper"` is the paper's baseline, with its initial phase and one arm updated a round: an arm that has
    not succeeded in the initial phase has p_hat = 0 and gets nothing more. `confidence="fisher"` acts on the maximum
    likelihood of all that was seen.
    """

    name = "greedy"

    def __init__(
        self,
        law: Law | Sequence[Law],
        arms: int,
        max_budget: float,
        *,
        confidence: Literal["paper", "fisher"] = "paper",
        estimator: Estimator = "paper",
        **common: Unpack[Common],
    ) -> None:
        super().__init__(law, arms, max_budget, confidence=confidence, estimator=estimator, scale=0.0, **common)
        del self._options["scale"]
