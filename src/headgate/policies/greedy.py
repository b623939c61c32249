"""Greedy: the paper's NO UCB, which trusts its point estimates."""

from __future__ import annotations

from typing import final

from headgate.policies.paper import Boosting


@final
class Greedy(Boosting):
    """RA-UCB without confidence bounds, both radii 0: the paper's baseline NO UCB.

    It has the initial phase and updates one arm a round. An arm that has not succeeded in the initial phase has
    p_hat = 0 and gets nothing more.
    """

    name = "greedy"

    @property
    def width(self) -> float:
        """No radii."""
        return 0.0
