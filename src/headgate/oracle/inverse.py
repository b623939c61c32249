"""The other way round: what is worth a price, and what a target costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from headgate import checks
from headgate.errors import BudgetError, ShapeError
from headgate.laws import Floats, Law, as_law
from headgate.oracle.allocation import Allocation
from headgate.oracle.curves import points_of
from headgate.oracle.limits import Limits

_DIGITS = 1e-9  # the precision of the budget that a target costs, relative to it
_ROUNDING = 1e-13  # of the worth and the cost of a few arms: what a law's own distribution function may be off by


def solve_at_price(
    law: Law | Sequence[Law],
    weight: Floats,
    rate: Floats,
    price: float,
    *,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = np.inf,
) -> Allocation:
    """Give every arm what maximises w_i G_i(x) - price x, within its limits.

    The curve bends upwards before its inflection and downwards after: the maximum is at the lower limit, or where the
    marginal has fallen to the price. By weak duality nothing that spends as little is worth more: `bound` is `value`,
    and what rounding may have lost.
    """
    law = as_law(law)
    if checks.numbers("price", price, BudgetError, open_least=True).ndim > 0:
        raise ShapeError(f"price must be one number, got {price!r}")
    shape = np.broadcast_shapes(weight.shape, rate.shape)
    limits = Limits.of(0.0, 0.0, upper, shape[-1])
    low = np.broadcast_to(checks.numbers("lower", lower, BudgetError), shape)
    # More than w / price beyond the lower limit cannot pay, whatever the curve.
    high = np.minimum(np.broadcast_to(limits.upper, shape), low + weight / price)
    if np.any(low > np.broadcast_to(limits.upper, shape)):
        raise BudgetError(f"lower must not exceed upper, got {lower!r} and {upper!r}")
    curves = points_of(law, weight, rate)
    whole = law.whole_arms(shape[-1])
    if curves is None:
        x = _best_amount(law, weight, rate, price, low, high)
        x = np.where(whole, np.floor(x), x)
        candidates = [np.where(whole, np.ceil(low), low), x, np.where(whole, np.minimum(x + 1.0, np.floor(high)), x)]
    else:
        amounts, _ = curves
        candidates = [low, high, *(np.clip(column, low, high) for column in np.moveaxis(amounts, -1, 0))]
    choices = np.stack([np.clip(c, low, np.maximum(high, low)) for c in candidates])
    worth = weight * law.cdf(choices, rate)
    best = np.argmax(worth - price * choices, axis=0)[None]
    x = np.take_along_axis(choices, best, axis=0)[0]
    value = np.sum(np.take_along_axis(worth, best, axis=0)[0], axis=-1)
    spent = x.sum(axis=-1)
    bound = value + _ROUNDING * (1.0 + 0.01 * shape[-1]) * (value + price * spent)
    return Allocation(x, value, bound, np.full(spent.shape, price), np.ones(spent.shape, np.int64), spent)


def _best_amount(law: Law, weight: Floats, rate: Floats, price: float, low: Floats, high: Floats) -> Floats:
    """Where the marginal, or that of the next whole unit, falls to the price beyond the inflection: by bisection."""
    whole = law.whole_arms(rate.shape[-1])
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        left = np.log(np.maximum(np.minimum(np.maximum(law.inflection(rate), low), high), 1e-300))
        right = np.log(np.maximum(high, 1e-300))
        for _ in range(100):
            middle = 0.5 * (left + right)
            at = np.exp(middle)
            above = weight * law.pdf(np.where(whole, np.floor(at) + 1.0, at), rate) > price
            left, right = np.where(above, middle, left), np.where(above, right, middle)
    return np.clip(np.exp(left), low, np.maximum(high, low))


def budget_for(solve: Callable[[float], Allocation], target: float, scale: float, *, whole: bool) -> Allocation:
    """Return the allocation of the least budget whose optimum is worth `target`, by bisection on budgets.

    `scale` is a first guess of the budget. The bound at a budget just below proves that less is not enough.
    """
    goal = float(checks.numbers("target", target, BudgetError))
    low, high, best = 0.0, 0.0, solve(0.0) if goal == 0.0 else None
    amount = max(scale, 1.0 if whole else 1e-300)
    most = 0.0
    while best is None:  # the first of doubled budgets that suffices
        high = float(np.ceil(amount)) if whole else amount
        answer = solve(high)
        if answer.value >= goal:
            best = answer
        elif amount > 1e9 * max(scale, 1.0) or (answer.price == 0.0 and float(answer.value) <= most):
            raise BudgetError(
                f"no budget buys an expected reward of {goal!r}: the most found is {float(answer.value)!r}"
            )
        else:
            low, amount, most = high, 2.0 * amount, float(answer.value)
    for _ in range(200):
        if high - low <= (1.0 if whole else _DIGITS * high):
            break
        middle = float(np.floor(0.5 * (low + high))) if whole else 0.5 * (low + high)
        slope = float(best.price)
        near = high - (float(best.value) - goal) / slope if slope > 0.0 else middle  # Newton: the price is the slope
        if not whole and low < near < high and _ % 2 == 0:
            middle = max(near * (1.0 - 0.4 * _DIGITS), low + 0.1 * _DIGITS * high)
        answer = solve(middle)
        if answer.value >= goal:
            best, high = answer, middle
        else:
            low = middle
    return best
