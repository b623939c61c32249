"""What a live round is played by, checked: its budget, the limits of its arms, and the way of playing."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import BudgetError, ParameterError, ShapeError, UnsupportedError
from headgate.laws import Floats
from headgate.oracle.allocation import REWARDS
from headgate.oracle.limits import Limits

UNKNOWN = 1e300
"""In place of a budget that nobody knows, where limits are checked against one."""


def checked_budget(budget: ArrayLike) -> Floats:
    """Return one number >= 0, or several that it may be."""
    amounts = checks.numbers("budget", budget, BudgetError)
    if amounts.ndim > 1 or amounts.size == 0:
        raise ShapeError(f"budget must be one number, or several that it may be, got shape {amounts.shape}")
    return amounts


def in_units(limits: Limits, whole: NDArray[np.bool_]) -> Limits:
    """Return limits that arms in whole units can keep."""
    if limits.free or not whole.any():
        return limits
    lower = np.where(whole, np.ceil(limits.lower), limits.lower)
    upper = np.where(whole, np.floor(limits.upper), limits.upper)
    if np.any(lower > upper) or lower.sum() > limits.budget * (1.0 + 1e-12):
        raise BudgetError(
            f"lower must not exceed upper, nor its sum the budget {limits.budget:g}, in whole units, got {limits.lower}"
        )
    return Limits(limits.budget, lower, upper, free=False)


def check_way(budget: Floats | None, limits: Limits, reward: str, switching: object, lookahead: object) -> None:
    """Check in which way a round is to be played."""
    checks.choice("reward", reward, REWARDS)
    for name, value in (("switching", switching), ("lookahead", lookahead)):
        if not isinstance(value, bool | np.bool_):
            raise ParameterError(f"{name} must be true or false, got {value!r}")
    known = budget is not None and budget.ndim == 0
    if not switching and (not known or lookahead or reward != "sum" or limits.lower.any()):
        raise UnsupportedError(
            "switching=False needs a budget that is known, reward 'sum', no lookahead, and no lower limits, which "
            "come first and would leave an arm"
        )


class Horizon(NamedTuple):
    """H, the chance that the budget lasts until t."""

    times: Floats
    """Points of H, straight between them and 0 after the last; none where H is 1 as far as the budget goes."""
    chances: Floats
    most: float
    """The most that the budget can be; infinite if nobody knows."""

    @classmethod
    def of(cls, budget: Floats | None) -> Self:
        """Return H of a checked budget; of several, P(budget >= t): steps, two points each.

        >>> Horizon.of(np.array([2.0, 5.0]))
        Horizon(times=array([0., 2., 2., 5.]), chances=array([1. , 1. , 0.5, 0.5]), most=5.0)
        """
        none = np.empty(0)
        if budget is None:
            return cls(none, none, np.inf)
        if budget.ndim == 0:
            return cls(none, none, float(budget))
        budgets, counts = np.unique(budget, return_counts=True)
        last_until = 1.0 - np.append(0, np.cumsum(counts)[:-1]) / budget.size
        return cls(np.append(0.0, np.repeat(budgets, 2)[:-1]), np.repeat(last_until, 2), float(budgets[-1]))
