"""What an allocation is asked for, as one record that `solve`, `solve_curves`, prices and kinds hand on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from headgate import checks
from headgate.errors import ParameterError
from headgate.oracle.allocation import REWARDS, Reward
from headgate.oracle.limits import Limits

NODES = 10_000
"""Nodes that branch and bound solves at the most where nothing else is said."""


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Limits, reward and effort. A kernel is handed these as they are: `of` checks them."""

    limits: Limits
    """The budget of each batch row, and the least and most that each arm may get."""
    reward: Reward = "sum"
    """"sum": the successes, each worth its value; "cascade": 1 if there is at least one."""
    tol: float = 1e-9
    """Branch and bound stops when the gap is at most this."""
    max_nodes: int | None = None
    """Or after so many nodes; None: as many as suit the search, `NODES` for curves."""

    @classmethod
    def of(
        cls,
        arms: int,
        budget: ArrayLike,
        *,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        reward: Reward = "sum",
        tol: float = 1e-9,
        max_nodes: int | None = None,
    ) -> Self:
        """Check what somebody asks for `arms` arms."""
        checks.choice("reward", reward, REWARDS)
        _check_effort(tol, max_nodes)
        return cls(Limits.of(budget, lower, upper, arms), reward, tol, max_nodes)

    @property
    def nodes(self) -> int:
        """Nodes at the most, for curves."""
        return NODES if self.max_nodes is None else self.max_nodes

    @property
    def cascade(self) -> bool:
        """Whether the reward is that of a cascade."""
        return self.reward == "cascade"

    def within(self, limits: Limits) -> Self:
        """The same for other limits."""
        return replace(self, limits=limits)


def _check_effort(tol: object, max_nodes: object) -> None:
    """Check when branch and bound is to stop."""
    if not (isinstance(tol, float | int) and 0.0 <= tol < np.inf):
        raise ParameterError(f"tol must be finite and >= 0, got {tol!r}")
    if max_nodes is not None and not (isinstance(max_nodes, int | np.integer) and max_nodes >= 1):
        raise ParameterError(f"max_nodes must be a whole number and at least 1, got {max_nodes!r}")
