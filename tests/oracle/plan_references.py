"""Plans by plain NumPy, almost everything done differently: worths budget by budget, all orders, lattices."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

import headgate as hg
from headgate.laws import Floats

from .random_problems import own_law


def value_of(problem: hg.Problem, order: Any, amounts: Floats, budgets: Floats) -> float:
    """The worth of a plan, budget by budget: each arm gets what is left of its slot when the budget ends."""
    total = 0.0
    for budget in budgets.tolist():
        given, start = np.zeros(problem.arms), 0.0
        for arm in order:
            given[arm] = min(max(budget - start, 0.0), amounts[arm])
            start += amounts[arm]
        total += float(problem.expected_reward(given)) / budgets.size
    return total


def slot_worths(problem: hg.Problem, budgets: Floats, nodes: Floats) -> Floats:
    """E_i(a, b) for all pairs of nodes: (K, m, m), 0 below the diagonal."""
    lasted = np.minimum(budgets[:, None], nodes)[:, None, :] - nodes[None, :, None]  # (budget, a, b)
    worth = problem.law.cdf(np.maximum(lasted, 0.0)[..., None], problem.rate).mean(axis=0)
    return np.moveaxis(problem.activation * problem.value * worth, -1, 0)


def subset_programme(worth: Floats) -> float:
    """The best plan between nodes, by dynamic programming over subsets of arms and nodes."""
    arms, nodes, _ = worth.shape
    later = np.tril(np.ones((nodes, nodes), dtype=bool)).T
    best = {(1 << arms) - 1: np.zeros(nodes)}
    for done in range((1 << arms) - 2, -1, -1):
        rows = [
            np.max(np.where(later, worth[i] + best[done | 1 << i], -np.inf), axis=1)
            for i in range(arms)
            if not done >> i & 1
        ]
        best[done] = np.max(rows, axis=0)
    return float(best[0][0])


def best_found(problem: hg.Problem, budgets: Floats, cells: int = 12, levels: int = 5) -> float:
    """The best of all orders on a lattice of ends of slots that is refined around its best point, for each order."""
    top, reach = 0.0, float(budgets.max())
    whole = bool(problem.law.whole_arms(problem.arms).all())
    for order in permutations(range(problem.arms)):
        centre, step = np.full(problem.arms, 0.5 * reach), reach / cells
        spread = np.arange(-(cells // 2), cells // 2 + 1.0)
        for _ in range(levels):
            axes = [np.unique(np.clip(c + step * spread, 0.0, reach)) for c in centre]
            axes = [np.unique(np.floor(axis)) for axis in axes] if whole else axes
            ends = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, problem.arms)
            ends = ends[np.all(np.diff(ends, axis=1) >= 0.0, axis=1)]
            starts = np.concatenate([np.zeros((len(ends), 1)), ends[:, :-1]], axis=1)
            given = np.maximum(np.minimum(budgets[:, None, None], ends) - starts, 0.0)  # (budget, plan, place)
            by_arm = np.empty_like(given)
            by_arm[..., list(order)] = given
            worth = problem.expected_reward(by_arm).mean(axis=0)
            centre = ends[np.argmax(worth)]
            top = max(top, float(worth.max()))
            step /= 4.0
    return top


def random_problem(rng: np.random.Generator, arms: int, kind: str) -> tuple[hg.Problem, Floats]:
    """Arms of one law or of several, or in whole units, and some budgets."""
    if kind == "whole":
        law: Any = hg.DiscreteWeibull(float(np.exp(rng.normal(0.2, 0.4))))
    else:
        law = [own_law(rng) for _ in range(arms)] if kind == "mixed" else own_law(rng)
    rate = np.exp(rng.normal(0.0, 0.7, arms)) * (0.3 if kind == "whole" else 1.0)
    problem = hg.Problem(law, rng.random(arms), rate, value=rng.choice([1.0, 1.0, 3.0], arms))
    scale = float(np.sum(1.0 / rate)) * np.exp(rng.uniform(-1.5, 0.7))
    count = int(rng.choice([1, 2, 5, 30]))
    budgets = scale * rng.choice([rng.random(count), rng.gamma(2.0, 0.5, count), np.exp(rng.normal(0.0, 0.6, count))])
    return problem, np.minimum(budgets, 40.0) if kind == "whole" else budgets
