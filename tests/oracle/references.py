"""Slow and obviously right: brute force, dynamic programming on a grid, local search, the sorted closed form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

import headgate as hg
from headgate.laws import Floats, Law, PerArm, as_law

CONCAVE: dict[str, Law] = {
    "exponential": hg.Exponential(),
    "weibull_0.6": hg.Weibull(0.6),
    "weibull_1": hg.Weibull(1.0),
    "gamma_0.4": hg.Gamma(0.4),
    "gamma_1": hg.Gamma(1.0),
    "half_normal": hg.HalfNormal(),
    "nakagami_0.3": hg.Nakagami(0.3),
    "nakagami_0.5": hg.Nakagami(0.5),
    "lomax_2.5": hg.Lomax(2.5),
    "log_logistic_0.7": hg.LogLogistic(0.7),
    "log_logistic_1": hg.LogLogistic(1.0),
    "beta": hg.Beta(2.0),
    "scipy_expon": hg.from_scipy("expon"),
    "scipy_lomax": hg.from_scipy("lomax", 1.5),
}
S_SHAPED: dict[str, Law] = {
    "weibull_1.5": hg.Weibull(1.5),
    "weibull_5": hg.Weibull(5.0),
    "gamma_2": hg.Gamma(2.0),
    "gamma_9": hg.Gamma(9.0),
    "nakagami_1.7": hg.Nakagami(1.7),
    "rayleigh": hg.Rayleigh(),
    "maxwell": hg.Maxwell(),
    "log_normal_0.4": hg.LogNormal(0.4),
    "log_normal_1.2": hg.LogNormal(1.2),
    "log_logistic_1.5": hg.LogLogistic(1.5),
    "log_logistic_4": hg.LogLogistic(4.0),
    "invgauss": hg.from_scipy("invgauss", 0.8),
}
EVERY: dict[str, Law] = CONCAVE | S_SHAPED


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
