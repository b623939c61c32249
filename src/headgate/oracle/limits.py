"""Budgets and the limits on arms: validation, and sums that keep to them to the last digit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import BudgetError, ShapeError


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """A budget for each batch row, and the least and most each arm may get."""

    budget: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    free: bool
    """No arm is limited: lower is 0 and upper infinite."""

    @classmethod
    def of(cls, budget: ArrayLike, lower: ArrayLike, upper: ArrayLike, arms: int) -> Self:
        """Check that the limits fit the arms and the budget."""
        if isinstance(budget, float) and 0.0 <= budget < np.inf:
            amount = np.asarray(budget)
        else:
            amount = checks.numbers("budget", budget, BudgetError)
        if _is_default(lower, 0.0) and _is_default(upper, np.inf):
            return cls(amount, *_no_limits(arms), free=True)
        low = _per_arm("lower", checks.numbers("lower", lower, BudgetError), arms)
        high = _per_arm("upper", checks.numbers("upper", upper, BudgetError, infinite=True), arms)
        try:
            np.broadcast_shapes(amount.shape, low.shape[:-1], high.shape[:-1])
        except ValueError as cause:
            raise ShapeError(
                "the batch axes of budget, lower and upper must broadcast, got "
                f"{amount.shape}, {low.shape[:-1]} and {high.shape[:-1]}"
            ) from cause
        if np.any(low > high):
            arm = int(np.argwhere(low > high)[0][-1])
            raise BudgetError(
                f"lower must not exceed upper, got lower {low[..., arm].max():g} > "
                f"upper {high[..., arm].min():g} for arm {arm}"
            )
        needed = low.sum(axis=-1)
        if np.any(needed > amount * (1.0 + 1e-12)):
            raise BudgetError(f"the lower limits need {np.max(needed):g}, more than the budget {np.min(amount):g}")
        return cls(amount, low, high, free=False)

    def whole(self) -> Self:
        """Round to whole units: what an arm must get up, what it may get and the budget down."""
        lower, upper = np.ceil(self.lower), np.floor(self.upper)
        budget = np.floor(self.budget)
        if np.any(lower > upper) or np.any(lower.sum(axis=-1) > budget):
            raise BudgetError("no whole-number allocation lies within the limits and the budget")
        return type(self)(budget, lower, upper, self.free)


@lru_cache(maxsize=64)
def _no_limits(arms: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    none = np.zeros(arms), np.full(arms, np.inf)
    for limit in none:
        limit.flags.writeable = False
    return none


def _is_default(value: ArrayLike, default: float) -> bool:
    return isinstance(value, float | int) and value == default


def _per_arm(name: str, values: NDArray[np.float64], arms: int) -> NDArray[np.float64]:
    if values.ndim == 0:
        return np.full(arms, values)
    if values.shape[-1] != arms:
        raise ShapeError(f"{name} must be one number or one for each of {arms} arms, got shape {values.shape}")
    return values


def check_batch(shapes: dict[str, tuple[int, ...]], limits: Limits) -> None:
    """Check that the leading axes of these arrays, and of the limits, broadcast."""
    budget, lower, upper = limits.budget.shape, limits.lower.shape[:-1], limits.upper.shape[:-1]
    if not (budget or lower or upper or any(shapes.values())):
        return
    shapes = shapes | {"budget": budget, "lower": lower, "upper": upper}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError as cause:
        *names, last = shapes
        text = ", ".join(str(shape) for shape in shapes.values())
        raise ShapeError(f"the batch axes of {', '.join(names)} and {last} must broadcast, got {text}") from cause


def within(x: NDArray[np.float64], limits: Limits, some: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
    """Take off, in place, the last digits by which rounding exceeded the budget: from an arm in `some`, or any."""
    over = x.sum(axis=-1) > limits.budget
    if not np.any(over):
        return x
    if x.ndim == 1 and limits.free and some is None:
        _trim(x, float(limits.budget))
        return x
    arms = x.shape[-1]
    rows = np.flatnonzero(over)
    amounts, budget = x.reshape(-1, arms)[rows], np.broadcast_to(limits.budget, over.shape).reshape(-1)[rows]
    if limits.free and some is None:
        arm, floor = np.argmax(amounts, axis=-1), np.zeros(rows.size)
    else:
        least, most = (
            np.broadcast_to(limit, x.shape).reshape(-1, arms)[rows] for limit in (limits.lower, limits.upper)
        )
        able = (amounts > least) & (True if some is None else some)
        inside = able & (amounts < most)  # rather than an arm that has all it may have
        able = np.where(inside.any(axis=-1, keepdims=True), inside, able)
        arm = np.argmax(np.where(able, amounts - least, -np.inf), axis=-1)
        floor = least[np.arange(rows.size), arm]  # lower limits may exceed the budget by a digit themselves
    place = np.arange(rows.size), arm
    for _ in range(64):
        excess, one = amounts.sum(axis=-1) - budget, amounts[place]
        less = np.where(excess > 0.0, np.maximum(np.minimum(one - excess, np.nextafter(one, 0.0)), floor), one)
        if np.array_equal(less, one):
            break
        amounts[place] = less
    x.reshape(-1, arms)[rows] = amounts
    return x


def _trim(x: NDArray[np.float64], budget: float) -> None:
    """The same for one allocation without limits, by the same steps in fewer of NumPy's calls."""
    arm = int(x.argmax())
    while (excess := float(x.sum()) - budget) > 0.0:
        one = float(x[arm])
        x[arm] = max(min(one - excess, math.nextafter(one, 0.0)), 0.0)
