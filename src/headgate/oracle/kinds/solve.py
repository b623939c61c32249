"""maximise over x: sum x <= budget, lower <= x <= upper, where every round is of a hidden kind q, of probability pi_q.

"sum": sum_i v_i sum_q pi_q F_iq(x_i), separable: mixtures of curves, solved as curves by points.
"cascade": sum_q pi_q (1 - prod_i (1 - F_iq(x_i))): arms are independent in rounds of one kind and share its fate. The
search exchanges amounts between two arms, from the best single arm, the even split, the greedy one and the
relaxation's; the bound is proved apart from it (`headgate.oracle.kinds.bound`), and what is left between is `gap`.
"""

from __future__ import annotations

import numpy as np

from headgate.laws import Floats, Law
from headgate.oracle.allocation import Allocation, Reward
from headgate.oracle.best import maximise
from headgate.oracle.curves import maximise_points
from headgate.oracle.kinds.bound import Raised, branch_and_bound
from headgate.oracle.kinds.curves import KindCurves
from headgate.oracle.limits import Limits, within
from headgate.oracle.terms import Terms

_NODES = 33
"""Linear programmes that a search with `max_nodes` left at its default solves: each takes 10 to 100 ms."""
_TABLE = 1025  # places of each arm that exchanges look at


def maximise_kinds(
    law: Law,
    share: Floats,
    activation: Floats,
    rate: Floats,
    value: Floats,
    terms: Terms,
) -> Allocation:
    """Return the best allocation found for kinds of rounds, with its certificate: everything given has been checked.

    `activation` and `rate` are (..., Q, K), `share` is (Q,), `value` (..., K); leading axes broadcast with the limits'.
    """
    arms, limits = rate.shape[-1], terms.limits
    batch = np.broadcast_shapes(
        rate.shape[:-2], value.shape[:-1], limits.budget.shape, limits.lower.shape[:-1], limits.upper.shape[:-1]
    )
    p, lam = (np.broadcast_to(v, (*batch, *rate.shape[-2:])) for v in (activation, rate))
    worth, low, high = (np.broadcast_to(v, (*batch, arms)) for v in (value, limits.lower, limits.upper))
    budget = np.broadcast_to(limits.budget, batch)
    x, numbers = np.empty((*batch, arms)), np.empty((4, *batch))
    for at in np.ndindex(*batch):
        own = Limits(np.asarray(budget[at]), low[at], high[at], limits.free)
        best = _one(KindCurves.of(law, share, p[at], lam[at], own), worth[at], terms.within(own))
        x[at] = best.x
        numbers[(slice(None), *at)] = best.value, best.bound, best.price, best.nodes
    total, bound, price, nodes = numbers
    nodes = np.asarray(nodes, dtype=np.int64)
    return Allocation(x, total, bound, price, nodes, limits.budget, terms.reward, "kinds")


def _one(curves: KindCurves, value: Floats, terms: Terms) -> Allocation:
    """Solve one problem."""
    limits, reward = terms.limits, terms.reward
    if curves.share.size == 1:  # rounds are alike, and arms independent
        weight = curves.activation[0] * value
        return maximise(curves.law, weight, curves.rate[0], terms)
    amounts, heights, raised = zip(*(curves.places(arm) for arm in range(curves.arms)), strict=True)
    table = Tables.of(amounts, heights)
    starts, price, nodes, bound = [even(curves)], 0.0, 1, np.inf
    if reward == "sum":
        mixed = [value[i] * (curves.share @ h) for i, h in enumerate(heights)]
        over = [value[i] * (curves.share @ h) for i, h in enumerate(raised)]
        own = Limits(limits.budget, curves.lower, curves.upper, free=False)
        best = maximise_points(*_stacked(amounts, mixed), terms.within(own))
        above = maximise_points(*_stacked(amounts, over), terms.within(own))
        starts, bound = [np.where(curves.whole, np.floor(best.x + 1e-9), best.x)], float(above.bound)
        price, nodes = float(best.price), int(best.nodes)
        if not curves.whole.any():
            x = within(np.clip(starts[0], curves.lower, curves.upper), own)
            return _answer(curves, x, value, reward, bound, price, nodes, limits)
    else:
        starts += [*singles(curves), greedy(curves, table)]
    x = best_exchange(curves, table, value, reward, starts)
    if reward == "cascade":
        worth = _worth(curves, x, value, reward)
        relaxed = Raised(curves.share, list(amounts), [1.0 - h.T for h in raised], curves.budget)
        bound, nodes, mean, price = branch_and_bound(
            relaxed, worth, terms.tol, _NODES if terms.max_nodes is None else terms.max_nodes
        )
        more = best_exchange(curves, table, value, reward, [within_limits(curves, mean)])
        x = more if _worth(curves, more, value, reward) > worth else x
    return _answer(curves, x, value, reward, bound, price, nodes, limits)


def _answer(
    curves: KindCurves, x: Floats, value: Floats, reward: Reward, bound: float, price: float, nodes: int, limits: Limits
) -> Allocation:
    worth = np.asarray(_worth(curves, x, value, reward))
    top, slope = np.asarray(max(bound, float(worth))), np.asarray(price)
    return Allocation(x, worth, top, slope, np.asarray(nodes), limits.budget, reward, "kinds")


def _worth(curves: KindCurves, x: Floats, value: Floats, reward: Reward) -> float:
    success = curves.success(x)
    if reward == "sum":
        return float(curves.share @ (success @ value))
    return float(curves.share @ (1.0 - np.prod(1.0 - success, axis=-1)))


class Tables:
    """The arms' curves as tables for the exchanges: amounts (K, n) padded with infinity, failures (K, n, Q)."""

    def __init__(self, x: Floats, failure: Floats) -> None:
        self.x, self.failure = x, failure

    @classmethod
    def of(cls, amounts: tuple[Floats, ...], heights: tuple[Floats, ...]) -> Tables:
        """Take heights (Q, n) at each arm's amounts; of many places some."""
        size = min(max(a.size for a in amounts), _TABLE)
        x = np.full((len(amounts), size), np.inf)
        failure = np.ones((len(amounts), size, heights[0].shape[0]))
        for i, (a, h) in enumerate(zip(amounts, heights, strict=True)):
            some = np.unique(np.round(np.linspace(0, a.size - 1, min(size, a.size))).astype(np.int64))
            x[i, : some.size], failure[i, : some.size] = a[some], 1.0 - h[:, some].T
            failure[i, some.size :] = failure[i, some.size - 1]
        return cls(x, failure)


def _stacked(amounts: tuple[Floats, ...], heights: list[Floats]) -> tuple[Floats, Floats]:
    """Curves of different length as one array, (K, n) each: level beyond their ends."""
    size = max(a.size for a in amounts)
    x, y = np.empty((len(amounts), size)), np.empty((len(amounts), size))
    for i, (a, h) in enumerate(zip(amounts, heights, strict=True)):
        x[i, : a.size], y[i, : a.size] = a, h
        x[i, a.size :], y[i, a.size :] = (a[-1] + 1.0) * (2.0 + np.arange(size - a.size)), h[-1]
    return x, y


def best_exchange(curves: KindCurves, table: Tables, value: Floats, reward: Reward, starts: list[Floats]) -> Floats:
    """Return the best of what exchanges make of each start, by the curves themselves; no worse than any start."""
    from headgate.kernels.kinds import exchange_kinds  # noqa: PLC0415  # machine code loads on first use

    with np.errstate(all="ignore"):
        ends = exchange_kinds(
            table.x, table.failure, curves.share, value, curves.whole, reward == "cascade", curves.lower, curves.upper,
            curves.budget, np.array(starts),
        )  # fmt: skip
    own = Limits(np.asarray(curves.budget), curves.lower, curves.upper, free=False)
    able = [within(np.clip(x, curves.lower, curves.upper), own, ~curves.whole) for x in (*ends, *starts)]
    return able[int(np.argmax([_worth(curves, x, value, reward) for x in able]))]


def within_limits(curves: KindCurves, x: Floats) -> Floats:
    """Return an allocation that keeps to limits, whole units and budget, near one that nearly does."""
    x = np.clip(x, curves.lower, curves.upper)
    x = np.where(curves.whole, np.maximum(np.floor(x + 1e-9), curves.lower), x)
    over = x.sum() - curves.budget
    for arm in np.argsort(curves.lower - x):
        if over <= 0.0:
            break
        less = min(over, x[arm] - curves.lower[arm])
        x[arm] -= np.ceil(less) if curves.whole[arm] else less
        over -= less
    return np.asarray(x)


def even(curves: KindCurves) -> Floats:
    """Return the even split, as near to it as limits allow."""
    level, low, high = 0.0, 0.0, curves.budget
    for _ in range(60):
        level = 0.5 * (low + high)
        spent = np.clip(level, curves.lower, curves.upper).sum()
        low, high = (level, high) if spent <= curves.budget else (low, level)
    return within_limits(curves, np.clip(np.full(curves.arms, low), curves.lower, curves.upper))


def singles(curves: KindCurves) -> list[Floats]:
    """Return, for each arm, the allocation that gives it all it may get."""
    starts = []
    for arm in range(curves.arms):
        x = curves.lower.copy()
        x[arm] = curves.upper[arm]
        starts.append(x)
    return starts


def greedy(curves: KindCurves, table: Tables) -> Floats:
    """Return the greedy allocation: again and again the step of an arm that gains most for what it costs."""
    x, failing = curves.lower.copy(), curves.share.copy()
    place = np.zeros(curves.arms, dtype=np.int64)
    for arm in range(curves.arms):
        failing = failing * table.failure[arm, 0]
    for _ in range(4 * curves.arms):
        rest, best = curves.budget - x.sum(), (0.0, -1, 0)
        for arm in range(curves.arms):
            at = place[arm]
            cost = table.x[arm, at + 1 :] - x[arm]
            able = np.flatnonzero(cost <= rest * (1.0 + 1e-12))
            if able.size == 0:
                continue
            now = table.failure[arm, at]
            kept = np.where(now > 0.0, table.failure[arm, at + 1 :][able] / np.where(now > 0.0, now, 1.0), 1.0)
            ratio = ((1.0 - kept) @ failing) / np.maximum(cost[able], 1e-300)
            k = int(np.argmax(ratio))
            if ratio[k] > best[0]:
                best = (float(ratio[k]), arm, at + 1 + int(able[k]))
        _, arm, to = best
        if arm < 0:
            break
        now = table.failure[arm, place[arm]]
        failing = failing * np.where(now > 0.0, table.failure[arm, to] / np.where(now > 0.0, now, 1.0), 1.0)
        x[arm], place[arm] = table.x[arm, to], to
    return within_limits(curves, x)
