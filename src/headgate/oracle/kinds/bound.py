"""An upper bound on the chance of at least one success in rounds of hidden kinds, proved by linear programming.

In a round of kind q, with S_i the chance that arm i fails, and any gamma within (0, 1],

    prod S_i >= (1 - u)_+^(1/gamma),   u = sum_i (1 - S_i^gamma),

because prod (1 - a_i) >= 1 - sum a_i. So the chance t_q of a success is at most g(u) = 1 - (1 - u)_+^(1/gamma), and g
is concave: gamma = 1 is the union bound, gamma -> 0 the bound by log-failures. Every tangent of every g is a line

    t_q <= alpha + beta sum_i (1 - S_iq(x_i)^gamma),

separable in the arms. With multipliers theta_c >= 0 on such lines that add up to pi_q in each kind, and a price nu,

    sum_c theta_c alpha_c + nu B + sum_i max_x [sum_c theta_c beta_c (1 - S_iq(x)^gamma_c) - nu x]

exceeds what any allocation within the budget earns. A linear programme finds good multipliers; the number above is then
computed from them, so it holds whatever the solver did. Curves are straight between their places and raised, so that
nothing between is missed (`headgate.oracle.kinds.curves`); there 1 - (1 - F)^gamma bends upwards, so that the largest
value less a linear cost is at a place.

Branch and bound splits the amounts of an arm that the programme mixes: within narrower intervals lines are tighter.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from headgate.laws import Floats

_GAMMAS = np.array([1.0, 0.4, 0.001])
# Values of g at which its tangents touch.
_TANGENTS = np.concatenate([np.linspace(0.0, 0.9, 37), 1.0 - np.geomspace(0.09, 1e-3, 16)])
_COLUMNS = 30  # amounts of each arm in a linear programme; its multipliers are then tried at all amounts
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The lines t_q <= alpha + beta sum_i (1 - S_iq^gamma) that hold in every kind."""

    gamma: Floats
    alpha: Floats
    beta: Floats

    @classmethod
    def tangents(cls) -> Lines:
        """Touch g of every gamma at the same heights; the union bound is one line."""
        rows = [(1.0, 0.0, 1.0)]
        for gamma in _GAMMAS[1:]:
            u = -np.expm1(gamma * np.log1p(-_TANGENTS))
            beta = (1.0 - u) ** (1.0 / gamma - 1.0) / gamma
            rows += zip(np.full(u.size, gamma), _TANGENTS - beta * u, beta, strict=True)
        return cls(*np.array(rows).T)


_LINES = Lines.tangents()


@dataclass(slots=True, eq=False)
class Raised:
    """Raised curves of all arms at their places: amounts (n,) and chances of failure (n, Q) of each."""

    share: Floats
    amounts: list[Floats]
    failure: list[Floats]
    budget: float

    def bound(self, box: tuple[tuple[int, int], ...]) -> tuple[float, Floats, Floats, float]:
        """Bound the chance in a box of places, [first, last] of each arm.

        Returns the bound, the mean amounts of the relaxation and their spread, (K,) each, and the price.
        """
        return _bound(self, box)

    @property
    def root(self) -> tuple[tuple[int, int], ...]:
        """All places."""
        return tuple((0, x.size - 1) for x in self.amounts)


def _gain(S: Floats, gamma: float) -> Floats:
    """1 - S^gamma, without cancellation."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(gamma * np.log(S)))


def _columns(first: int, last: int, least: int) -> np.typing.NDArray[np.int64]:
    return np.unique(np.round(np.linspace(first, last, min(least, last - first + 1))).astype(np.int64))


def _bound(curves: Raised, box: tuple[tuple[int, int], ...]) -> tuple[float, Floats, Floats, float]:
    from scipy.optimize import linprog  # noqa: PLC0415  # not light

    share, kinds, arms = curves.share, curves.share.size, len(curves.amounts)
    few = [_columns(first, last, _COLUMNS) for first, last in box]
    cost = np.concatenate([x[c] for x, c in zip(curves.amounts, few, strict=True)])
    if sum(float(x[c[0]]) for x, c in zip(curves.amounts, few, strict=True)) > curves.budget * (1.0 + 1e-12):
        return -np.inf, np.zeros(arms), np.zeros(arms), 0.0
    owner = np.repeat(np.arange(arms), [c.size for c in few])
    failing = np.concatenate([f[c] for f, c in zip(curves.failure, few, strict=True)])  # (columns, Q)
    gains = np.stack([_gain(failing, gamma) for gamma in _GAMMAS])  # (gammas, columns, Q)
    # Variables: a weight for each column, u of each gamma and kind, t of each kind.
    n, g = cost.size, _GAMMAS.size
    which = np.searchsorted(-_GAMMAS, -_LINES.gamma)
    lines = _LINES.alpha.size
    equal: Any = sparse.hstack([
        sparse.vstack([
            sparse.csr_matrix((np.ones(n), (owner, np.arange(n))), shape=(arms, n)),
            sparse.csr_matrix(-gains.transpose(0, 2, 1).reshape(g * kinds, n)),
        ]),
        sparse.vstack([sparse.csr_matrix((arms, g * kinds)), sparse.eye(g * kinds)]),
        sparse.csr_matrix((arms + g * kinds, kinds)),
    ])  # fmt: skip
    rows = np.arange(lines * kinds)
    line, kind = rows // kinds, rows % kinds
    cuts: Any = sparse.hstack([
        sparse.csr_matrix((rows.size, n)),
        sparse.csr_matrix((-_LINES.beta[line], (rows, which[line] * kinds + kind)), shape=(rows.size, g * kinds)),
        sparse.csr_matrix((np.ones(rows.size), (rows, kind)), shape=(rows.size, kinds)),
    ])  # fmt: skip
    spend: Any = sparse.csr_matrix(np.concatenate([cost, np.zeros((g + 1) * kinds)])[None])
    solver: Any = linprog
    solution = solver(
        -np.concatenate([np.zeros(n + g * kinds), share]),
        A_ub=sparse.vstack([cuts, spend]).tocsr(),
        b_ub=np.append(_LINES.alpha[line], curves.budget),
        A_eq=equal,
        b_eq=np.concatenate([np.ones(arms), np.zeros(g * kinds)]),
        bounds=[(0.0, None)] * n + [(None, None)] * (g * kinds) + [(None, 1.0)] * kinds,
        method="highs",
    )
    if solution.x is None or solution.ineqlin is None:  # the solver gave up: nothing is proved but that a chance is one
        return 1.0, np.zeros(arms), np.zeros(arms), 0.0
    theta = np.maximum(-solution.ineqlin.marginals[:-1], 0.0).reshape(lines, kinds)
    price = max(-float(solution.ineqlin.marginals[-1]), 0.0)
    bound = _proved(curves, box, theta, price)
    weight = np.maximum(solution.x[:n], 0.0)
    mean = np.asarray(np.bincount(owner, weight * cost, arms), dtype=np.float64)
    spread = np.asarray(np.bincount(owner, weight * np.abs(cost - mean[owner]), arms), dtype=np.float64)
    return bound, mean, spread, price


def _proved(curves: Raised, box: tuple[tuple[int, int], ...], theta: Floats, price: float) -> float:
    """The bound that these multipliers and this price prove; what is missing of pi_q goes to the line t <= 1.

    Nor is a chance larger than with all that the box holds of every arm, whatever that costs.
    """
    total = theta.sum(axis=0)
    theta = theta * np.minimum(1.0, curves.share / np.where(total > 0.0, total, 1.0))
    rest = np.maximum(curves.share - theta.sum(axis=0), 0.0)
    bound = rest.sum() + float((theta * _LINES.alpha[:, None]).sum()) + price * curves.budget
    size = rest.sum() + price * curves.budget
    weight = [(theta * _LINES.beta[:, None])[_LINES.gamma == gamma].sum(axis=0) for gamma in _GAMMAS]
    for x, failure, (first, last) in zip(curves.amounts, curves.failure, box, strict=True):
        S, at = failure[first : last + 1], x[first : last + 1]
        gain = sum(_gain(S, gamma) @ w for gamma, w in zip(_GAMMAS, weight, strict=True)) - price * at
        bound += float(np.max(gain))
        size += float(np.max(np.abs(gain)))
    largest = [failure[last] for failure, (_, last) in zip(curves.failure, box, strict=True)]
    most = float(curves.share @ (1.0 - np.prod(largest, axis=0)))
    return float(min(bound + _ROUNDING * (1.0 + size), most * (1.0 + _ROUNDING)))


def branch_and_bound(curves: Raised, value: float, tol: float, max_nodes: int) -> tuple[float, int, Floats, float]:
    """Bound the chance: the bound, how many programmes it took, the first one's mean amounts, and its price."""
    bound, mean, spread, price = curves.bound(curves.root)
    first = mean, price
    heap = [(-bound, 0, curves.root, mean, spread)]
    nodes, closed = 1, -np.inf
    while heap and nodes + 2 <= max_nodes:
        top = -heap[0][0]
        if top - value <= tol * top:
            break
        _, _, box, mean, spread = heapq.heappop(heap)
        arm = _widest(curves, box, spread)
        if arm is None:
            closed = max(closed, top)
            continue
        begin, end = box[arm]
        cut = int(np.clip(np.searchsorted(curves.amounts[arm], mean[arm]), begin + 1, end - 1))
        for side in ((begin, cut), (cut, end)):
            child = (*box[:arm], side, *box[arm + 1 :])
            limit, mean, spread, _ = curves.bound(child)
            nodes += 1
            limit = min(limit, top)
            if limit > value:
                heapq.heappush(heap, (-limit, nodes, child, mean, spread))
    bound = max([closed, value] + [-entry[0] for entry in heap])
    return bound, nodes, *first


def _widest(curves: Raised, box: tuple[tuple[int, int], ...], spread: Floats) -> int | None:
    """The arm to split: the one that the relaxation spreads most, of those that have a place inside."""
    del curves
    inside = np.array([last - first >= 2 for first, last in box])
    if not inside.any():
        return None
    return int(np.argmax(np.where(inside, spread, -1.0)))
