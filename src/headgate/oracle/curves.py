"""Curves given by points: maximise their sum, whatever their shape, with the same certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headgate import checks
from headgate.errors import ParameterError, ShapeError, UnsupportedError
from headgate.laws import Law, Points
from headgate.oracle.allocation import REWARDS, Allocation, Reward
from headgate.oracle.cascade import chance_bound
from headgate.oracle.limits import check_batch, within
from headgate.oracle.terms import Terms

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from headgate.laws import Floats


def solve_curves(
    x: ArrayLike,
    y: ArrayLike,
    budget: ArrayLike,
    *,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = np.inf,
    reward: Reward = "sum",
    tol: float = 1e-9,
    max_nodes: int = 10_000,
) -> Allocation:
    """Split `budget` between arms whose curves are given by points, and prove how good the split is.

    A curve is straight between its points, and level before the first and after the last, as `numpy.interp` has it.
    It may have any shape that does not fall: measured curves, mixtures of laws, upper envelopes of confidence sets,
    averages over draws of a posterior (the expected reward is the sum of averaged curves).

    Parameters
    ----------
    x
        The amounts at which the curves are known, >= 0 and growing: (n,) for all arms, or (K, n).
    y
        What each arm returns for them, >= 0 and not falling: (..., K, n), leading axes a batch. For a cascade, the
        probability of success, at most 1.
    budget, lower, upper, reward, tol, max_nodes
        As in `headgate.solve`.

    Examples
    --------
    Two machines of 1 that need a whole unit before they start, and a budget for one and a half:

    >>> best = solve_curves([0.0, 1.0, 2.0], [[0.0, 0.0, 1.0], [0.0, 0.6, 0.6]], budget=2.5)
    >>> best.x.tolist(), best.value.item()
    ([2.0, 0.5], 1.3)
    """
    amounts, heights = check_points(x, y, reward)
    terms = Terms.of(heights.shape[-2], budget, lower=lower, upper=upper, reward=reward, tol=tol, max_nodes=max_nodes)
    check_batch({"y": heights.shape[:-2]}, terms.limits)
    return maximise_points(amounts, heights, terms)


def maximise_points(x: Floats, y: Floats, terms: Terms) -> Allocation:
    """`solve_curves` without validation."""
    from headgate.kernels.points import allocate_points  # noqa: PLC0415  # machine code loads on first use

    limits, cascade = terms.limits, terms.cascade
    with np.errstate(all="ignore"):  # the kernel counts on infinities, and handles them
        x, value, bound, price, nodes = allocate_points(
            x, y, limits.lower, limits.upper, limits.budget, float(cascade), terms.tol, max(terms.nodes, 1)
        )
    if cascade:
        value, bound, price = -np.expm1(-value), chance_bound(bound, x.shape[-1]), price * np.exp(-value)
    return Allocation(within(x, limits), value, bound, price, nodes, limits.budget, terms.reward)


def check_points(x: ArrayLike, y: ArrayLike, reward: Reward) -> tuple[Floats, Floats]:
    """Check the points: amounts (K, n) that grow, heights (..., K, n) that do not fall."""
    checks.choice("reward", reward, REWARDS)
    amounts = checks.numbers("x", x)
    heights = checks.numbers("y", y, most=1.0 if reward == "cascade" else np.inf)
    if heights.ndim < 2 or 0 in heights.shape:
        raise ShapeError(f"y must end in axes of arms and points, (..., K, n), got shape {heights.shape}")
    if amounts.shape not in {heights.shape[-1:], heights.shape[-2:]}:
        raise ShapeError(
            f"x must have {heights.shape[-1]} points, for all arms or for each of {heights.shape[-2]}, "
            f"got shape {amounts.shape}"
        )
    for rule, points, wrong in (
        ("x must grow from point to point", amounts, np.diff(amounts) <= 0.0),
        ("y must not fall", heights, np.diff(heights) < 0.0),
    ):
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise ParameterError(f"{rule}, got {points[at]:g} and then {points[(*at[:-1], at[-1] + 1)]:g} at {at}")
    return np.ascontiguousarray(np.broadcast_to(amounts, heights.shape[-2:])), heights


def points_of(law: Law, weight: Floats, rate: Floats) -> tuple[Floats, Floats] | None:
    """Return the curves w G(x, rate) by points (..., K, n) if the law is given by points; None if it is not.

    Arms with fewer points than others repeat the level of their last one beyond it.
    """
    members = law.members()
    by_points = [isinstance(member, Points) for member, _ in members]
    if not any(by_points):
        return None
    if not all(by_points):
        raise UnsupportedError(
            f"arms given by points cannot be mixed with arms of a law, got {law}: give all by points"
        )
    arms, most = rate.shape[-1], max(len(member.x) for member, _ in members)  # type: ignore[attr-defined]
    x, y = np.empty((arms, most)), np.empty((arms, most))
    for member, who in members:
        count, last = len(member.x), member.x[-1]  # type: ignore[attr-defined]
        x[who, :count], y[who, :count] = member.x, member.y  # type: ignore[attr-defined]
        x[who, count:], y[who, count:] = last * (2.0 + np.arange(most - count)), 1.0
    return x / rate[..., None], weight[..., None] * y
