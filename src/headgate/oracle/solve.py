"""maximise sum_i w_i G(x_i, rate_i) subject to sum x <= budget, lower <= x <= upper.

Concave laws are water-filled; S-shaped ones get the concave hull for the price and branch and bound for the rest;
whole-number thresholds greedy or dynamic programming. All of it runs in compiled kernels that broadcast
over a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import BudgetError, ShapeError, UnsupportedError
from headgate.laws import Exponential, Floats, Law, as_law
from headgate.laws.standard import TABLE_REACH, Base, Standard
from headgate.oracle.allocation import REWARDS, Allocation
from headgate.oracle.cascade import check_one_convex_stretch
from headgate.oracle.curves import maximise_points, points_of
from headgate.oracle.limits import Limits, check_batch, check_effort, within

_MOST_UNITS = 1e8
_CORE_AXES = (1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 0, 0, 0, 0)  # of the kernels' arguments; the axes before them are a batch
_TABLE_POSITION = 5
_ONE: Any = np.int64(1)  # an array of no axes, to all who read it


def solve(
    law: Law | Sequence[Law],
    weight: ArrayLike,
    rate: ArrayLike,
    budget: ArrayLike,
    *,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = np.inf,
    reward: str = "sum",
    tol: float = 1e-9,
    max_nodes: int = 10_000,
) -> Allocation:
    """Split `budget` between arms whose curves are known, and prove how good the split is.

    Parameters
    ----------
    law
        The law of the thresholds, or one per arm.
    weight, rate
        What a success of each arm is worth (its activation, for the number of successes) and its rate:
        (..., K), leading axes a batch. The paper's boosted surrogate P~ is this call with the weights
        `p * law.boost(rate, boosted_rate)`.
    budget
        One number, or one per row of the batch.
    lower, upper
        Limits on what each arm gets.
    reward
        "sum": the number of successes. "cascade": 1 if at least one arm succeeds; weights must be <= 1.
    tol, max_nodes
        Branch and bound stops when `gap <= tol`, or at `max_nodes`: then `gap` says how far it may be off.

    Examples
    --------
    >>> best = solve(Exponential(), weight=[0.9, 0.5], rate=[0.1, 1.0], budget=10.0)
    >>> best.x.round(3)
    array([7.532, 2.468])
    """
    law, weights, rates = _arms_of(law, weight, rate, reward)
    check_effort(tol, max_nodes)
    limits = Limits.of(budget, lower, upper, weights.shape[-1])
    check_batch({"weight": weights.shape[:-1], "rate": rates.shape[:-1]}, limits)
    return maximise(law, weights, rates, limits, reward, tol, max_nodes)


def path(
    law: Law | Sequence[Law],
    weight: ArrayLike,
    rate: ArrayLike,
    budgets: ArrayLike,
    *,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = np.inf,
    reward: str = "sum",
) -> Allocation:
    """The allocations x(B) along growing `budgets` (C,): an Allocation with a leading axis C.

    No arm's share ever shrinks as the budget grows, so it can be followed without knowing where it ends. For
    concave laws each point is the optimum. For S-shaped laws no such path of optima exists: this one is optimal
    on the concave hulls up to the largest budget, hence exactly so wherever no arm is on its way to its point of
    tangency; elsewhere `gap` says how far it is. Whole-number thresholds have one where marginals fall.
    """
    law, weights, rates = _arms_of(law, weight, rate, reward)
    amounts = checks.numbers("budgets", budgets, BudgetError)
    if amounts.ndim != 1 or amounts.size == 0 or np.any(np.diff(amounts) < 0.0):
        raise BudgetError(f"budgets must be a growing sequence of numbers, got {budgets!r}")
    amounts = amounts.reshape(-1, *(1,) * (max(weights.ndim, rates.ndim) - 1))
    limits = Limits.of(amounts, lower, upper, weights.shape[-1])
    check_batch({"weight": weights.shape[:-1], "rate": rates.shape[:-1]}, limits)
    integer = law.whole_arms(weights.shape[-1])
    if integer.any() and not (integer.all() and reward == "sum" and np.all(law.inflection(rates) <= 0.0)):
        raise UnsupportedError(f"there is no path of growing allocations for {law} with reward {reward!r}")
    reach = limits.lower + (amounts.max() - limits.lower.sum(axis=-1, keepdims=True))
    limits = Limits(limits.budget, limits.lower, np.minimum(limits.upper, reach), limits.free)
    return maximise(law, weights, rates, limits, reward, 0.0, max_nodes=0)


def _arms_of(law: Law | Sequence[Law], weight: ArrayLike, rate: ArrayLike, reward: str) -> tuple[Law, Floats, Floats]:
    """Check the arms: one law, and arrays that end in one axis of them."""
    law = as_law(law)
    checks.choice("reward", reward, REWARDS)
    most = 1.0 if reward == "cascade" else np.inf
    if not _are_sound(weight, rate, most):
        weight = checks.numbers("weight", weight, most=most)
        rate = checks.numbers("rate", rate, open_least=True)
    weights, rates = np.asarray(weight, dtype=np.float64), np.asarray(rate, dtype=np.float64)
    if weights.ndim == 0 or rates.ndim == 0 or weights.shape[-1] != rates.shape[-1]:
        raise ShapeError(f"weight and rate must end in one axis of arms, got shapes {weights.shape} and {rates.shape}")
    arms = weights.shape[-1]
    if arms == 0 or (not isinstance(law, Exponential) and law.arm_axis() not in ((), (arms,))):
        raise ShapeError(f"{law} does not fit {arms} arms")
    return law, weights, rates


def _are_sound(weight: ArrayLike, rate: ArrayLike, most: float) -> bool:
    """Whether these are the arrays of one valid problem: a single call should not pay for reporting errors."""
    if not (isinstance(weight, np.ndarray) and isinstance(rate, np.ndarray)):
        return False
    if not (weight.dtype == rate.dtype == np.float64 and weight.ndim == rate.ndim == 1 and weight.size == rate.size):
        return False
    from headgate.kernels.arguments import sound  # noqa: PLC0415  # machine code loads on first use

    return bool(sound(weight, rate, most))


@lru_cache(maxsize=256)
def standard_form(law: Law, arms: int) -> Standard:
    """The law's standard form, every column of it one number per arm."""
    form = law.standard()
    base = np.ascontiguousarray(np.broadcast_to(form.base, arms))
    a, b, shift, cap, error = (
        np.ascontiguousarray(np.broadcast_to(column, arms))
        for column in (form.a, form.b, form.shift, form.cap, form.error)
    )
    return Standard(base, a, b, shift, cap, form.table, error)


def maximise(
    law: Law,
    weight: Floats,
    rate: Floats,
    limits: Limits,
    reward: str = "sum",
    tol: float = 1e-9,
    max_nodes: int = 10_000,
    form: Standard | None = None,
) -> Allocation:
    """`solve` without validation: what it is given has been checked.

    `form` is the law's standard form if the caller has a better one: learned shapes, one per arm and batch row.
    """
    if reward == "sum" and limits.free and isinstance(law, Exponential):
        from headgate.kernels.exponential import water_fill  # noqa: PLC0415  # machine code loads on first use

        with np.errstate(all="ignore"):  # the kernels count on infinities, and handle them
            x, value, bound, price = water_fill(weight, rate, limits.budget)
        nodes = np.ones_like(value, dtype=np.int64) if x.ndim > 1 else _ONE
        return Allocation(within(x, limits), value, bound, price, nodes, limits.budget)
    curves = points_of(law, weight, rate)
    if curves is not None:
        return maximise_points(*curves, limits, reward, tol, max(max_nodes, 1))
    if reward == "cascade" and form is None:  # a learned shape is one of a closed base, which has one stretch
        check_one_convex_stretch(law)
    whole = law.whole_arms(weight.shape[-1])
    form = form or standard_form(law, weight.shape[-1])
    if whole.any() and not whole.all():
        return _mixed(form, weight, rate, limits, reward, tol, max_nodes, whole)
    return _standard(form, weight, rate, limits, reward, tol, max_nodes, integer=bool(whole.all()))


def _standard(
    form: Standard,
    weight: Floats,
    rate: Floats,
    limits: Limits,
    reward: str,
    tol: float,
    max_nodes: int,
    *,
    integer: bool,
) -> Allocation:
    """Hand a problem whose arms are all continuous, or all integer, to its kernel."""
    if integer:
        from headgate.kernels.integer import allocate_integer as kernel  # noqa: PLC0415  # machine code loads on first use

        limits = _useful(limits.whole(), form, rate)
    else:
        from headgate.kernels.allocate import allocate as kernel  # noqa: PLC0415  # machine code loads on first use
    cascade = float(reward == "cascade")
    arguments = (
        form.base, form.a, form.b, form.shift, form.cap, form.table, weight, rate,
        limits.lower, limits.upper, limits.budget, cascade, tol, max_nodes,
    )  # fmt: skip
    with np.errstate(all="ignore"):  # the kernels count on infinities, and handle them
        x, value, bound, price, nodes = kernel(*arguments)
        if not integer and max_nodes > 1:
            x, value, bound, price, nodes = _branched(arguments, (x, value, bound, price, nodes), cascade, tol)
    if cascade:
        value, bound, price = -np.expm1(-value), -np.expm1(-bound), price * np.exp(-value)
    if form.error.any():  # a tabulated law may be off by so much, and no reward is steeper than 1 in w G
        doubt = np.sum(np.where(_begins(form, rate, limits), form.error * weight, 0.0), axis=-1)
        value, bound = np.maximum(value - doubt, 0.0), bound + doubt
    return Allocation(within(x, limits), value, bound, price, nodes, limits.budget, reward)


def _begins(form: Standard, rate: Floats, limits: Limits) -> NDArray[np.bool_]:
    """Whether the budget takes an arm to where the support of its law begins: before, its curve is 0 for certain."""
    first = form.table[np.where(form.base == Base.TABLE, form.a, 0.0).astype(int), 0, 0]
    spare = np.asarray(limits.budget - limits.lower.sum(axis=-1))[..., None]
    with np.errstate(divide="ignore"):
        reach = np.log(rate * np.minimum(limits.upper, limits.lower + spare))
    return np.asarray((reach > first) | (first <= -TABLE_REACH))


def _branched(arguments: tuple[Any, ...], answer: tuple[Any, ...], cascade: float, tol: float) -> tuple[Any, ...]:
    """Go on with branch and bound where the concave hulls leave a gap."""
    _, value, bound, _, _ = answer
    missing, reward = (np.exp(-value) - np.exp(-bound), -np.expm1(-bound)) if cascade else (bound - value, bound)
    wide = missing > tol * reward
    if not np.any(wide):
        return answer
    from headgate.kernels.branch import branch  # noqa: PLC0415  # machine code loads on first use

    if np.all(wide):
        return tuple(branch(*arguments))
    rows = np.nonzero(wide)
    batch = wide.shape
    chosen = []
    for position, argument in enumerate(arguments):
        array, core = np.asarray(argument), _CORE_AXES[position]
        if array.ndim > core and position != _TABLE_POSITION:
            array = np.broadcast_to(array, (*batch, *array.shape[array.ndim - core :]))[rows]
        chosen.append(array)
    for part, better in zip(answer, branch(*chosen), strict=True):
        part[rows] = better
    return answer


def _useful(limits: Limits, form: Standard, rate: Floats) -> Limits:
    """Cut whole-unit limits to what can matter: beyond a survival of exp(-40) another unit adds nothing."""
    enough = np.maximum(np.ceil(40.0 ** (1.0 / form.b) / rate), limits.lower)
    upper = np.minimum(limits.upper, enough)
    budget = np.minimum(limits.budget, upper.sum(axis=-1))
    if np.any(budget > _MOST_UNITS):
        raise BudgetError(f"a budget of whole units must be at most {_MOST_UNITS:.0e}, got {np.max(budget):g}")
    return Limits(budget, np.broadcast_to(limits.lower, upper.shape), upper, limits.free)


def _mixed(
    form: Standard, weight: Floats, rate: Floats, limits: Limits, reward: str, tol: float, max_nodes: int,
    whole: NDArray[np.bool_],
) -> Allocation:  # fmt: skip
    """Arms of both kinds: try every whole amount for the integer arms together, the rest for the others."""
    batch = np.broadcast_shapes(weight.shape[:-1], rate.shape[:-1], limits.budget.shape, limits.lower.shape[:-1])
    least = np.ceil(limits.lower[..., whole]).sum(axis=-1)
    most = np.floor(limits.budget - limits.lower[..., ~whole].sum(axis=-1))
    least, most = np.broadcast_to(least, batch), np.broadcast_to(most, batch)
    if np.any(least > most):
        raise BudgetError("no allocation of whole numbers to the integer arms lies within the limits and the budget")
    steps = np.arange(int(np.max(most - least)) + 1).reshape(-1, *(1,) * len(batch))
    amounts = np.minimum(least + steps, most)
    parts = []
    for who, share in ((whole, amounts), (~whole, limits.budget - amounts)):
        part = Limits(share, limits.lower[..., who], limits.upper[..., who], limits.free)
        parts.append(
            _standard(
                form.only(who),
                weight[..., who],
                rate[..., who],
                part,
                reward,
                tol,
                max_nodes,
                integer=who is whole,
            )
        )
    join = _either if reward == "cascade" else np.add
    value, bound = join(parts[0].value, parts[1].value), join(parts[0].bound, parts[1].bound)
    best = np.argmax(value, axis=0)[None]

    def at_best(values: NDArray[Any]) -> NDArray[Any]:
        chosen: NDArray[Any] = np.take_along_axis(values, best, axis=0)[0]
        return chosen

    x = np.empty((*batch, weight.shape[-1]))
    for who, solved in zip((whole, ~whole), parts, strict=True):
        x[..., who] = np.take_along_axis(solved.x, best[..., None], axis=0)[0]
    price = at_best(parts[1].price) * ((1.0 - at_best(parts[0].value)) if reward == "cascade" else 1.0)
    nodes = np.sum(parts[1].nodes, axis=0)
    x = within(x, limits, ~whole)
    return Allocation(x, at_best(value), np.max(bound, axis=0), price, nodes, limits.budget, reward)


def _either(first: Floats, second: Floats) -> Floats:
    """The chance of at least one success in either part."""
    return first + second - first * second
