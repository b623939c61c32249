"""Slow and obviously right: brute force, dynamic programming on a grid, local search, the sorted closed form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

import headgate as hg
from headgate.laws import Floats, Law, PerArm, as_law
from tests.laws.every import every_law, label

EVERY: dict[str, Law] = {label(law): law for law in every_law(0.5, 1.0, 1.5, 5.0, end=2.0, whole=False)} | {
    "scipy_expon": hg.from_scipy("expon"),
    "scipy_lomax": hg.from_scipy("lomax", 1.5),
    "scipy_invgauss": hg.from_scipy("invgauss", 0.8),
}
CONCAVE = {name: law for name, law in EVERY.items() if bool(law.is_concave(np.inf, 1.7))}
# A law whose bend is far below anything an arm could get, as a log-normal with sigma 5, is neither.
S_SHAPED = {name: law for name, law in EVERY.items() if law.inflection(1.0) > 1e-6 * law.quantile(0.5, 1.0)}


@dataclass(frozen=True)
class Instance:
    """One problem for the oracle."""

    law: Law
    weight: Floats
    rate: Floats
    budget: float
    lower: Floats
    upper: Floats

    def value(self, x: Floats) -> Floats:
        """The objective, from the law itself."""
        return np.asarray(np.sum(self.weight * self.law.cdf(x, self.rate), axis=-1))

    def marginal(self, x: Floats) -> Floats:
        return np.asarray(self.weight * self.law.pdf(np.maximum(x, 1e-300), self.rate))

    def solve(self, **options: object) -> hg.Allocation:
        return hg.solve(
            self.law,
            self.weight,
            self.rate,
            self.budget,
            lower=self.lower,
            upper=self.upper,
            **options,  # type: ignore[arg-type]
        )

    def random_allocation(self, rng: np.random.Generator) -> Floats:
        """Any allocation within the budget and the limits: sparse or dense, all of the budget or less."""
        spare = (self.budget - self.lower.sum()) * (1.0 if rng.random() < 0.8 else rng.random())
        share = rng.dirichlet(np.full(self.lower.size, rng.choice([0.1, 1.0, 10.0])))
        return np.asarray(np.minimum(self.lower + spare * share, self.upper))


def instance(law: Law, arms: int, seed: int, *, limits: bool, spread: float = 1.0) -> Instance:
    """A random problem, its budget between too little and more than enough."""
    rng = np.random.default_rng(seed)
    weight = rng.random(arms) ** rng.choice([0.3, 1.0, 4.0])
    rate = np.exp(rng.normal(0.0, spread, arms))
    if isinstance(law, hg.Beta):
        rate = 1.0 + rate
    budget = float(np.exp(rng.uniform(-2.0, 1.5)) * np.sum(1.0 / rate))
    lower, upper = np.zeros(arms), np.full(arms, np.inf)
    if limits:
        share = budget / arms
        lower = np.where(rng.random(arms) < 0.4, rng.random(arms) * share, 0.0)
        upper = np.where(rng.random(arms) < 0.4, lower + rng.random(arms) * 3.0 * share, np.inf)
    return Instance(law, weight, rate, budget, lower, upper)


def dynamic_program(problem: Instance, cells: int) -> tuple[float, Floats]:
    """The best allocation in whole cells of the budget above `lower`: never better than the optimum."""
    spare = problem.budget - problem.lower.sum()
    grid = np.arange(cells + 1) * (spare / cells)
    best, choices = np.zeros(cells + 1), []
    arms = problem.weight.size
    x = np.minimum(problem.lower + grid[:, None], problem.upper)
    curves = problem.weight * problem.law.cdf(x, problem.rate)
    for i in range(arms):
        left = np.subtract.outer(np.arange(cells + 1), np.arange(cells + 1))  # [n, j]: n - j
        total = np.where(left >= 0, best[np.maximum(left, 0)] + curves[None, :, i], -np.inf)
        choices.append(np.argmax(total, axis=1))
        best = np.max(total, axis=1)
    n, taken = cells, np.zeros(arms, dtype=int)
    for i in range(arms - 1, -1, -1):
        taken[i] = choices[i][n]
        n -= taken[i]
    found = np.minimum(problem.lower + grid[taken], problem.upper)
    return float(best[-1]), found


def projected_ascent(problem: Instance, x: Floats, steps: int = 60) -> float:
    """Local search: move a little from one arm to another while that helps, with a shrinking step."""
    value, step = float(problem.value(x)), problem.budget / 4.0
    arms = x.size
    pairs = [(i, j) for i in range(arms) for j in range(arms)]  # i = j: stay
    for _ in range(steps):
        moves = np.repeat(x[None], len(pairs), axis=0)
        for k, (i, j) in enumerate(pairs):
            amount = min(step, x[i] - problem.lower[i], problem.upper[j] - x[j])
            moves[k, i] -= amount
            moves[k, j] += amount
        values = problem.value(moves)
        top = int(np.argmax(values))
        if values[top] > value:
            x, value = moves[top], float(values[top])
        else:
            step *= 0.5
    return value


def sorted_water_filling(weight: Floats, rate: Floats, budget: float) -> Floats:
    """The exponential law in closed form: sort by marginal at 0, take the arms whose price stays below it."""
    level = np.log(weight * rate)
    order = np.argsort(-level)
    scale = 1.0 / rate[order]
    prices = (np.cumsum(level[order] * scale) - budget) / np.cumsum(scale)
    count = int(np.flatnonzero(level[order] > prices)[-1]) + 1
    x = np.zeros(weight.size)
    x[order[:count]] = (level[order[:count]] - prices[count - 1]) * scale[:count]
    return x


def whole_allocations(budget: int, lower: NDArray[np.int64], upper: NDArray[np.int64]) -> Iterator[Floats]:
    """Every allocation in whole numbers."""
    for x in product(*(range(a, min(b, budget) + 1) for a, b in zip(lower, upper, strict=True))):
        if sum(x) <= budget:
            yield np.array(x, dtype=float)


def per_arm(*laws: Law) -> PerArm:
    """Arms with different laws."""
    law = as_law(laws)
    if not isinstance(law, PerArm):
        raise TypeError(law)
    return law
