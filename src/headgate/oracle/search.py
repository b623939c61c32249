"""Problems in standard form, handed to the compiled kernels: continuous arms, whole units, or both kinds together."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headgate.errors import BudgetError
from headgate.laws import Floats
from headgate.laws.standard import TABLE_REACH, Base, Standard
from headgate.oracle.allocation import Allocation
from headgate.oracle.cascade import chance_bound
from headgate.oracle.limits import Limits, within
from headgate.oracle.terms import Terms

_MOST_UNITS = 1e8
# How many axes each of a kernel's arguments has; those before them are a batch.
_CORE_AXES = (1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 0, 0, 0, 0)
_TABLE_POSITION, _WEIGHT_POSITION = 5, 6
_NODES_POSITION = 4  # where the number of nodes stands in what a kernel returns
_NODES, _WORK = 12, 2_000  # branch and bound is given 12 nodes, and 2,000 arms more, before arms are counted


def maximise_standard(
    form: Standard,
    weight: Floats,
    rate: Floats,
    terms: Terms,
    *,
    integer: bool,
) -> Allocation:
    """Hand a problem whose arms are all continuous, or all integer, to its kernels."""
    limits, cascade = terms.limits, terms.cascade
    if integer:
        limits = _useful(limits.whole(), form, rate)
    arguments = (
        form.base, form.a, form.b, form.shift, form.cap, form.table, weight, rate,
        limits.lower, limits.upper, limits.budget, float(cascade), terms.tol, terms.nodes,
    )  # fmt: skip
    with np.errstate(all="ignore"):  # the kernels count on infinities, and handle them
        x, value, bound, price, nodes = _integer(arguments) if integer else _continuous(arguments)
    if cascade:
        value, bound, price = -np.expm1(-value), chance_bound(bound, weight.shape[-1]), price * np.exp(-value)
    if form.error.any():  # a tabulated law may be off by so much, and no reward is steeper than 1 in w G
        with np.errstate(divide="ignore"):  # log(rate x) has fewer digits where its parts are large
            digits = 0.25 * (np.abs(np.log(rate)) + np.abs(np.log(np.maximum(limits.budget, 1e-300)))[..., None])
        error = form.error + digits * np.minimum(form.error, 1e-13)
        doubt = np.sum(np.where(_begins(form, rate, limits), error * weight, 0.0), axis=-1)
        value, bound = np.maximum(value - doubt, 0.0), bound + doubt
        bound = np.minimum(bound, 1.0) if cascade else bound
    if (form.cap < np.inf).any():  # the last digits of an arm at its cap may be worth much: take them from others
        limits = Limits(limits.budget, limits.lower, np.minimum(limits.upper, form.cap), free=False)
    return Allocation(within(x, limits), value, bound, price, nodes, limits.budget, terms.reward)


def _integer(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    from headgate.kernels.integer import allocate_integer  # noqa: PLC0415  # machine code loads on first use

    return tuple(allocate_integer(*arguments))


def _continuous(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The concave hulls; branch and bound where they leave a gap; counting where that does not soon close it.

    Each is compiled when it is first needed. Branch and bound begins with the hulls: where it is loaded, it is where to
    begin. What counting leaves open after half of the nodes goes to branch and bound again, for as many as are left.
    """
    *most, max_nodes = arguments
    soon = min(_NODES + _WORK // arguments[_WEIGHT_POSITION].shape[-1], max_nodes)
    if max_nodes > 1 and "headgate.kernels.branch" in sys.modules:
        answer = tuple(_branch()(*most, soon))
    else:
        answer = tuple(_allocate()(*arguments))
        if max_nodes <= 1 or not (gaps := _open(answer, arguments)).any():
            return answer
        answer = _again(answer, _branch(), (*most, soon), gaps, afresh=True)
    if soon == max_nodes or answer[_NODES_POSITION].max() + 2 <= soon:  # no search was stopped
        return answer
    for kernel, share in ((_counted(), 2), (_branch(), 1)):
        spare = max_nodes - answer[_NODES_POSITION]
        gaps = _open(answer, arguments) & (spare <= max_nodes - soon + 1) & (spare > 1)
        if gaps.any():
            answer = _again(answer, kernel, (*most, spare // share), gaps)
    return answer


def _open(answer: tuple[Any, ...], arguments: tuple[Any, ...]) -> NDArray[np.bool_]:
    """Which problems have a gap beyond the tolerance."""
    *_, cascade, tol, _ = arguments
    _, value, bound, _, _ = answer
    missing, reward = (np.exp(-value) - np.exp(-bound), -np.expm1(-bound)) if cascade else (bound - value, bound)
    return np.asarray(missing > tol * reward)


def _again(
    answer: tuple[Any, ...], kernel: Any, arguments: tuple[Any, ...], gaps: NDArray[np.bool_], *, afresh: bool = False
) -> tuple[Any, ...]:
    """Give the problems in `gaps` to another kernel too: of both answers the better value and the lower bound.

    `afresh`: what the kernel says stands, because it has done again what was done before.
    """
    rows: Any = ... if gaps.all() else np.nonzero(gaps)
    before = tuple(np.array(part) for part in answer)
    after = kernel(*(arguments if rows is ... else _rows_of(arguments, rows, gaps.shape)))
    x, value, bound, price, nodes = before
    better = np.asarray((after[1] > value[rows]) | afresh)
    x[rows] = np.where(better[..., None], after[0], x[rows])
    price[rows] = np.where(better, after[3], price[rows])
    value[rows] = np.where(better, after[1], value[rows])
    bound[rows] = after[2] if afresh else np.minimum(after[2], bound[rows])
    nodes[rows] = after[4] if afresh else nodes[rows] + after[4]
    return before


@cache
def _allocate() -> Any:
    from headgate.kernels.allocate import allocate  # noqa: PLC0415  # machine code loads on first use

    return allocate


@cache
def _branch() -> Any:
    from headgate.kernels.branch import branch  # noqa: PLC0415  # machine code loads on first use

    return branch


@cache
def _counted() -> Any:
    from headgate.kernels.counted import counted  # noqa: PLC0415  # machine code loads on first use

    return counted


def _rows_of(arguments: tuple[Any, ...], rows: tuple[Any, ...], batch: tuple[int, ...]) -> list[Any]:
    """The arguments of some rows of a batch."""
    chosen = []
    for position, argument in enumerate(arguments):
        array, core = np.asarray(argument), _CORE_AXES[position]
        if array.ndim > core and position != _TABLE_POSITION:
            array = np.broadcast_to(array, (*batch, *array.shape[array.ndim - core :]))[rows]
        chosen.append(array)
    return chosen


def _begins(form: Standard, rate: Floats, limits: Limits) -> NDArray[np.bool_]:
    """Whether the budget takes an arm to where the support of its law begins: before, its curve is 0 for certain."""
    first = form.table[np.where(form.base == Base.TABLE, form.a, 0.0).astype(int), 0, 0]
    spare = np.asarray(limits.budget - limits.lower.sum(axis=-1))[..., None]
    with np.errstate(divide="ignore"):
        reach = np.log(rate * np.minimum(limits.upper, limits.lower + spare))
    return np.asarray((reach > first) | (first <= -TABLE_REACH))


def _useful(limits: Limits, form: Standard, rate: Floats) -> Limits:
    """Cut whole-unit limits to what can matter: beyond a survival of exp(-40) another unit adds nothing."""
    enough = np.maximum(np.ceil(40.0 ** (1.0 / form.b) / rate), limits.lower)
    upper = np.minimum(limits.upper, enough)
    budget = np.minimum(limits.budget, upper.sum(axis=-1))
    if np.any(budget > _MOST_UNITS):
        raise BudgetError(f"a budget of whole units must be at most {_MOST_UNITS:.0e}, got {np.max(budget):g}")
    return Limits(budget, np.broadcast_to(limits.lower, upper.shape), upper, limits.free)


def maximise_mixed(form: Standard, weight: Floats, rate: Floats, terms: Terms, whole: NDArray[np.bool_]) -> Allocation:
    """Arms of both kinds: try every whole amount for the integer arms together, the rest for the others."""
    limits, cascade = terms.limits, terms.cascade
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
        own = form.only(who), weight[..., who], rate[..., who], terms.within(part)
        parts.append(maximise_standard(*own, integer=who is whole))
    join = _either if cascade else np.add
    value, bound = join(parts[0].value, parts[1].value), join(parts[0].bound, parts[1].bound)
    bound = np.max(bound, axis=0) * (1.0 + 1e-15)  # rounding of the join
    bound = np.minimum(bound, 1.0) if cascade else bound
    best = np.argmax(value, axis=0)[None]

    def at_best(values: NDArray[Any]) -> NDArray[Any]:
        chosen: NDArray[Any] = np.take_along_axis(values, best, axis=0)[0]
        return chosen

    x = np.empty((*batch, weight.shape[-1]))
    for who, solved in zip((whole, ~whole), parts, strict=True):
        x[..., who] = np.take_along_axis(solved.x, best[..., None], axis=0)[0]
    price = at_best(parts[1].price) * ((1.0 - at_best(parts[0].value)) if cascade else 1.0)
    nodes = np.sum(parts[1].nodes, axis=0)
    x = within(x, limits, ~whole)
    return Allocation(x, at_best(value), bound, price, nodes, limits.budget, terms.reward)


def _either(first: Floats, second: Floats) -> Floats:
    """The chance of at least one success in either part."""
    return first + second - first * second
