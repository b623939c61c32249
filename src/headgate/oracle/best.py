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
from numpy.typing import ArrayLike

from headgate import checks
from headgate.errors import BudgetError, ShapeError, UnsupportedError
from headgate.laws import Exponential, Floats, Law, as_law
from headgate.laws.standard import Standard
from headgate.oracle.allocation import REWARDS, Allocation, Reward
from headgate.oracle.cascade import check_one_convex_stretch
from headgate.oracle.curves import maximise_points, points_of
from headgate.oracle.limits import Limits, check_batch, within
from headgate.oracle.search import maximise_mixed, maximise_standard
from headgate.oracle.terms import Terms

_ONE: Any = np.int64(1)  # an array of no axes, to all who read it


def solve(
    law: Law | Sequence[Law],
    weight: ArrayLike,
    rate: ArrayLike,
    budget: ArrayLike,
    *,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = np.inf,
    reward: Reward = "sum",
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
    terms = Terms.of(weights.shape[-1], budget, lower=lower, upper=upper, reward=reward, tol=tol, max_nodes=max_nodes)
    check_batch({"weight": weights.shape[:-1], "rate": rates.shape[:-1]}, terms.limits)
    return maximise(law, weights, rates, terms)


def path(
    law: Law | Sequence[Law],
    weight: ArrayLike,
    rate: ArrayLike,
    budgets: ArrayLike,
    *,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = np.inf,
    reward: Reward = "sum",
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
    return maximise(law, weights, rates, Terms(limits, reward, 0.0, max_nodes=0))


def _arms_of(
    law: Law | Sequence[Law], weight: ArrayLike, rate: ArrayLike, reward: Reward
) -> tuple[Law, Floats, Floats]:
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


def maximise(law: Law, weight: Floats, rate: Floats, terms: Terms, form: Standard | None = None) -> Allocation:
    """`solve` without validation: what it is given has been checked.

    `form` is the law's standard form if the caller has a better one: learned shapes, one per arm and batch row.
    """
    limits = terms.limits
    if terms.reward == "sum" and limits.free and isinstance(law, Exponential):
        from headgate.kernels.exponential import water_fill  # noqa: PLC0415  # machine code loads on first use

        with np.errstate(all="ignore"):  # the kernels count on infinities, and handle them
            x, value, bound, price = water_fill(weight, rate, limits.budget)
        nodes = np.ones_like(value, dtype=np.int64) if x.ndim > 1 else _ONE
        return Allocation(within(x, limits), value, bound, price, nodes, limits.budget)
    curves = points_of(law, weight, rate)
    if curves is not None:
        return maximise_points(*curves, terms)
    if terms.cascade and form is None:  # a learned shape is one of a closed base, which has one stretch
        check_one_convex_stretch(law)
    whole = law.whole_arms(weight.shape[-1])
    form = form or standard_form(law, weight.shape[-1])
    if whole.any() and not whole.all():
        return maximise_mixed(form, weight, rate, terms, whole)
    return maximise_standard(form, weight, rate, terms, integer=bool(whole.all()))
