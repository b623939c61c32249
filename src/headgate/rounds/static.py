"""The best allocation of a budget for rounds as they were, or smoothed, with a bound that holds for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from headgate.laws import Floats
from headgate.oracle.allocation import Allocation, Reward
from headgate.oracle.curves import maximise_points
from headgate.oracle.limits import Limits, within
from headgate.oracle.terms import Terms

_LARGEST = 40_000  # thresholds up to the budget that a linear programme proves a bound from; it takes seconds
_ROUNDING = 1e-9


def worth(thresholds: Floats, weight: Floats, x: Floats, reward: Reward = "cascade") -> float:
    """What an allocation brings a round: the chance of a success, or their mean number."""
    won = (thresholds <= x) & (x > 0.0)
    return float(weight @ (won.any(axis=1) if reward == "cascade" else won.sum(axis=1)) / weight.sum())


def jittered(thresholds: Floats, weight: Floats, smooth: float, copies: int, seed: int) -> tuple[Floats, Floats]:
    """Return copies of rounds whose thresholds are off by a log-normal factor: rounds to come are near, not equal."""
    if smooth <= 0.0:
        return thresholds, weight
    noise = np.random.default_rng(seed).standard_normal((copies, *thresholds.shape))
    return (thresholds * np.exp(smooth * noise)).reshape(-1, thresholds.shape[1]), np.tile(weight, copies)


def greedy(thresholds: Floats, weight: Floats, lower: Floats, upper: Floats, budget: float) -> Floats:
    """Again and again the step of an arm that adds most weight for what it costs."""
    x, open_ = lower.copy(), ~(thresholds <= lower).any(axis=1)
    while True:
        rest, best = budget - x.sum(), (0.0, -1, 0.0)
        for arm in range(x.size):
            cost = thresholds[open_, arm] - x[arm]
            able = (cost <= rest) & (thresholds[open_, arm] <= upper[arm])
            order = np.argsort(cost[able], kind="stable")
            steps = cost[able][order]
            ratio = np.cumsum(weight[open_][able][order]) / np.maximum(steps, 1e-300)
            if ratio.size and (k := int(np.argmax(ratio))) >= 0 and ratio[k] > best[0]:
                best = float(ratio[k]), arm, float(steps[k])
        _, arm, cost_of = best
        if arm < 0:
            return x
        x[arm] += cost_of
        open_ &= ~(thresholds[:, arm] <= x[arm])


def exchanged(
    thresholds: Floats, weight: Floats, lower: Floats, upper: Floats, budget: float, starts: list[Floats]
) -> Floats:
    """Return the best of what exchanges make of each start."""
    from headgate.kernels.cover import exchange  # noqa: PLC0415  # machine code loads on first use

    with np.errstate(all="ignore"):
        x, values = exchange(thresholds, weight, lower, upper, budget, np.array(starts))
    return np.asarray(x[int(np.argmax(values))])


def first_guesses(thresholds: Floats, weight: Floats, lower: Floats, upper: Floats, budget: float) -> list[Floats]:
    """Return where exchanges begin: the greedy allocation, the best single arms, the even split."""
    spare, arms = budget - lower.sum(), lower.size
    most = np.minimum(upper, lower + spare)
    single = [np.where(np.arange(arms) == arm, most, lower) for arm in range(arms)]
    single.sort(key=lambda x: -worth(thresholds, weight, x))
    even = np.clip(budget / arms, lower, most)
    over = even.sum() - budget
    even = even - (even - lower) * (max(over, 0.0) / max((even - lower).sum(), 1e-300))
    return [greedy(thresholds, weight, lower, upper, budget), *single[:2], even]


def best_rows(
    thresholds: Floats, weight: Floats, limits: Limits, reward: Reward, *, smooth: float = 0.0, seed: int = 0,
    prove: bool = True, value: Floats | None = None,
) -> Allocation:  # fmt: skip
    """Return the best allocation found for rounds (N, K), thresholds infinite where no amount is enough."""
    budget = float(limits.budget)
    lower, upper = (np.array(v, dtype=np.float64) for v in (limits.lower, limits.upper))
    upper = np.minimum(upper, lower + max(budget - lower.sum(), 0.0))
    if reward == "sum":
        each = np.ones(lower.size) if value is None else value
        x, bound, price = _separable(thresholds, weight, each, Limits(limits.budget, lower, upper, free=False))
    else:
        rows, counts = jittered(thresholds, weight, smooth, 8, seed)
        x = exchanged(rows, counts, lower, upper, budget, first_guesses(rows, counts, lower, upper, budget))
        bound, price = cover_bound(thresholds, weight, lower, upper, budget) if prove else (np.inf, 0.0)
        alone = (thresholds <= upper).any(axis=1) @ weight / weight.sum()
        bound = min(bound, float(alone))
    x = within(x, Limits(limits.budget, lower, upper, free=False))
    reached = worth(thresholds, weight, x, reward)
    if reward == "sum" and value is not None:
        reached = float(weight @ (((thresholds <= x) & (x > 0.0)) @ value) / weight.sum())
    numbers = (np.asarray(v, dtype=np.float64) for v in (reached, max(bound, reached), price))
    total, top, slope = numbers
    return Allocation(x, total, top, slope, np.asarray(1), limits.budget, reward, "rows")


def _separable(thresholds: Floats, weight: Floats, value: Floats, limits: Limits) -> tuple[Floats, float, float]:
    """The largest number of successes: steps at the thresholds, nearly upright."""
    curves = []
    for arm in range(thresholds.shape[1]):
        t = thresholds[:, arm]
        use = np.isfinite(t) & (t <= limits.upper[arm])
        at, which = np.unique(t[use], return_inverse=True)
        height = value[arm] * np.cumsum(np.bincount(which, weight[use], at.size)) if at.size else np.empty(0)
        at = np.maximum(at, np.finfo(np.float64).tiny)
        before = np.nextafter(at, 0.0)
        x = np.concatenate([[0.0], np.column_stack([before, at]).ravel()])
        y = np.concatenate([[0.0], np.column_stack([np.append(0.0, height[:-1]), height]).ravel() if at.size else []])
        x, keep = np.unique(x, return_index=True)
        last = np.append(keep[1:] - 1, y.size - 1)  # of equal amounts the height of the last
        curves.append((x, y[last]))
    size = max(x.size for x, _ in curves) + 1
    xs, ys = np.empty((len(curves), size)), np.empty((len(curves), size))
    for row, (x, y) in enumerate(curves):
        xs[row, : x.size], ys[row, : x.size] = x, y
        xs[row, x.size :], ys[row, x.size :] = (x[-1] + 1.0) * (2.0 + np.arange(size - x.size)), y[-1]
    best = maximise_points(xs, ys / weight.sum(), Terms(limits, max_nodes=2_000))
    levels = [(x, y / weight.sum()) for x, y in curves]
    return _paired(levels, np.array(best.x), limits), float(best.bound), float(best.price)


def _paired(levels: list[tuple[Floats, Floats]], x: Floats, limits: Limits) -> Floats:
    """Settle on thresholds themselves: as long as two arms gain by sharing what they have and what nobody has."""
    arms, budget = len(levels), float(limits.budget)

    def place(arm: int, at: Any) -> Any:
        return np.maximum(np.searchsorted(levels[arm][0], at, side="right") - 1, 0)

    def settled(arm: int, at: float) -> float:
        return max(float(levels[arm][0][place(arm, at)]), float(limits.lower[arm]))

    def height(arm: int, at: Any) -> Any:
        return levels[arm][1][place(arm, at)]

    x = np.array([settled(arm, at * (1.0 + 1e-12)) for arm, at in enumerate(x.tolist())])
    for _ in range(100):
        moved = False
        for i in range(arms):
            for j in range(arms):
                both = budget - (x.sum() - x[i] - x[j])
                able = np.append(levels[i][0], limits.lower[i])
                able = able[(able >= limits.lower[i]) & (able <= min(limits.upper[i], both - limits.lower[j]))]
                if i == j or able.size == 0:
                    continue
                worths = height(i, able) + height(j, np.minimum(both - able, limits.upper[j]))
                k = int(np.argmax(worths))
                if worths[k] > height(i, x[i]) + height(j, x[j]) + 1e-15:
                    x[i], x[j], moved = able[k], settled(j, min(both - able[k], float(limits.upper[j]))), True
        if not moved:
            break
    return x


def cover_bound(thresholds: Floats, weight: Floats, lower: Floats, upper: Floats, budget: float) -> tuple[float, float]:
    """Bound the share of rounds with a success that any allocation has, and return the price with it.

    A round has at most one success that counts, and at most as many as arms reach it: for any theta_r within [0, 1] and
    any price nu, sum_r w_r (1 - theta_r) + nu B + sum_i max_x [sum_r w_r theta_r 1(t_ri <= x) - nu x] is a bound. The
    relaxed maximum cover, a linear programme, finds good ones; the number is computed from them.
    """
    total = float(weight.sum())
    if int(np.count_nonzero(thresholds <= upper)) > _LARGEST:
        return np.inf, 0.0
    theta, price = _multipliers(thresholds, weight, upper, budget)
    bound = float(weight @ (1.0 - theta)) + price * budget
    for arm in range(thresholds.shape[1]):
        t = thresholds[:, arm]
        order = np.argsort(t, kind="stable")
        at, gain = np.maximum(t[order], lower[arm]), np.cumsum((weight * theta)[order])
        able = at <= upper[arm]
        bound += max(float(np.max(gain[able] - price * at[able], initial=-np.inf)), -price * lower[arm])
    return bound / total * (1.0 + _ROUNDING), price / total


def _multipliers(thresholds: Floats, weight: Floats, upper: Floats, budget: float) -> tuple[Floats, float]:
    """Solve the relaxation: z_ij, how much of arm i is served up to its j-th level, falls along the levels."""
    from scipy.optimize import linprog  # noqa: PLC0415  # not light

    solver: Any = linprog
    rounds, arms = thresholds.shape
    cost, who, column, chain, size = [], [], [], [], 0
    for arm in range(arms):
        use = np.flatnonzero(thresholds[:, arm] <= upper[arm])
        levels, place = np.unique(thresholds[use, arm], return_inverse=True)
        cost.append(np.diff(levels, prepend=0.0))
        who.append(use)
        column.append(size + place)
        chain.append(size + np.arange(1, levels.size))
        size += levels.size
    if size == 0:
        return np.zeros(rounds), 0.0
    rows, columns, links = np.concatenate(who), np.concatenate(column), np.concatenate(chain)
    cover = sparse.csr_matrix((-np.ones(rows.size), (rows, columns)), shape=(rounds, size))
    each = np.arange(links.size)
    falls = sparse.csr_matrix(
        (np.repeat([1.0, -1.0], links.size), (np.tile(each, 2), np.concatenate([links, links - 1]))),
        shape=(links.size, size),
    )
    spend = sparse.csr_matrix(np.concatenate(cost)[None])
    above: Any = sparse.vstack([
        sparse.hstack([cover, sparse.eye(rounds)]),
        sparse.hstack([falls, sparse.csr_matrix((links.size, rounds))]),
        sparse.hstack([spend, sparse.csr_matrix((1, rounds))]),
    ])  # fmt: skip
    solution = solver(
        -np.concatenate([np.zeros(size), weight]), A_ub=above.tocsr(),
        b_ub=np.concatenate([np.zeros(rounds + links.size), [budget]]), bounds=(0.0, 1.0), method="highs",
    )  # fmt: skip
    if solution.x is None:
        return np.zeros(rounds), 0.0
    prices = -solution.ineqlin.marginals
    return np.clip(prices[:rounds] / np.maximum(weight, 1e-300), 0.0, 1.0), max(float(prices[-1]), 0.0)
