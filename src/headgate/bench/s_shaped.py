"""The oracle on S-shaped curves, whole units and points: against the first release, and against what others use.

The first release is not installed beside this one. Its times were measured as multiples of a fixed piece of NumPy work
(`_reference`) in the same run, and stand here as those multiples.
"""

from __future__ import annotations

import heapq
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

import headgate as hg
from headgate.bench.harness import AtMost, Result, benchmark, side_by_side

Floats = NDArray[np.float64]
minimize: Any = optimize.minimize  # its types know fewer ways to call it
_AXIS = np.linspace(0.1, 5.0, 200_000)


def _reference() -> Floats:
    return np.exp(-_AXIS) * np.log(_AXIS)


# CPU seconds of the first release (commit 5d547f0) over those of `_reference`, each the least of many in one process.
_FIRST_RELEASE = {"weibull": 0.88, "gamma": 1.61, "log-normal": 0.57, "batch": 32.5}


def _arms(count: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(2024)
    return rng.random(count), rng.uniform(0.02, 2.0, count)


def _against_the_first_release(name: str, law: hg.laws.Law, required: float) -> Callable[[], Result]:
    def run() -> Result:
        weight, rate = _arms(1_000)
        best = hg.solve(law, weight, rate, 250.0)
        ours, unit = side_by_side(lambda: hg.solve(law, weight, rate, 250.0), _reference)
        return Result(ours, unit * _FIRST_RELEASE[name], required, f"gap {best.gap:.1e}", bool(best.gap <= 1e-9))

    return run


for _name, _law, _required in (
    ("weibull", hg.Weibull(1.6), 5.0),
    ("gamma", hg.Gamma(2.5), 5.0),
    ("log-normal", hg.LogNormal(0.8), 3.0),
):
    benchmark(f"K=1,000, {_name}, against the first release")(_against_the_first_release(_name, _law, _required))


@benchmark("batch of 1,000 x 20, Weibull 1.5, against the first release")
def batch() -> Result:
    rng = np.random.default_rng(1)
    weight, rate = rng.random((1_000, 20)), rng.uniform(0.1, 2.0, (1_000, 20))
    ours, unit = side_by_side(lambda: hg.solve(hg.Weibull(1.5), weight, rate, 20.0), _reference)
    return Result(ours, unit * _FIRST_RELEASE["batch"], 4.0)


@benchmark("near-equal arms, K=10,000: seconds until the gap is closed")
def near_equal() -> AtMost:
    rng = np.random.default_rng(3)
    rate = 1.0 + 1e-4 * rng.random(10_000)
    ours, unit = side_by_side(lambda: hg.solve(hg.Weibull(3.0), np.ones(10_000), rate, 3_700.0), _reference, repeats=3)
    gap = float(hg.solve(hg.Weibull(3.0), np.ones(10_000), rate, 3_700.0).gap)
    return AtMost(ours, unit, 2.0, f"gap {gap:.1e}", gap <= 1e-9)


@benchmark("Weibull(50), K=100,000: seconds until all is spent")
def steep() -> AtMost:
    rng = np.random.default_rng(4)
    weight, rate = rng.random(100_000), rng.uniform(0.1, 2.0, 100_000)
    ours, unit = side_by_side(lambda: hg.solve(hg.Weibull(50.0), weight, rate, 40_000.0), _reference, repeats=1)
    best = hg.solve(hg.Weibull(50.0), weight, rate, 40_000.0)
    spent = bool(best.x.sum() >= 40_000.0 * (1.0 - 1e-9))
    return AtMost(ours, unit, 10.0, f"gap {best.gap:.1e}", spent and bool(best.gap <= 1e-6))


def _heap(weight: Floats, rate: Floats, shape: float, budget: int) -> float:
    """Whole units by a heap, as one writes it in Python."""
    w: list[float] = weight.tolist()
    r: list[float] = rate.tolist()

    def gain(arm: int, n: int) -> float:
        return w[arm] * (math.exp(-((r[arm] * n) ** shape)) - math.exp(-((r[arm] * (n + 1)) ** shape)))

    heap = [(-gain(arm, 0), arm, 0) for arm in range(len(w))]
    heapq.heapify(heap)
    total = 0.0
    for _ in range(budget):
        worth, arm, n = heap[0]
        total -= worth
        heapq.heapreplace(heap, (-gain(arm, n + 1), arm, n + 1))
    return total


@benchmark("whole units, K=10,000, B=40,000, against a heap in Python")
def whole_falling() -> Result:
    rng = np.random.default_rng(5)
    weight, rate = rng.random(10_000), rng.uniform(0.05, 0.5, 10_000)
    law, values = hg.DiscreteWeibull(0.8), []
    best = hg.solve(law, weight, rate, 40_000.0)
    ours, reference = side_by_side(
        lambda: hg.solve(law, weight, rate, 40_000.0),
        lambda: values.append(_heap(weight, rate, 0.8, 40_000)),
        repeats=2,
    )
    return Result(ours, reference, 10.0, holds=math.isclose(float(best.value), values[0], rel_tol=1e-12))


def _whole(arms: int, budget: int, most: float) -> None:
    @benchmark(f"whole units, shape 1.5, K={arms}, B={budget:,}: seconds")
    def run() -> AtMost:
        rng = np.random.default_rng(6)
        weight, rate = rng.random(arms), rng.uniform(0.5, 2.0, arms) * arms / budget
        law = hg.DiscreteWeibull(1.5)
        ours, unit = side_by_side(lambda: hg.solve(law, weight, rate, float(budget)), _reference)
        gap = float(hg.solve(law, weight, rate, float(budget)).gap)
        return AtMost(ours, unit, most, f"gap {gap:.1e}", gap <= 1e-12)


_whole(5, 1_000_000, 0.1)
_whole(50, 20_000, 0.02)


def _points(arms: int, most: float) -> None:
    @benchmark(f"{arms:,} curves of 200 points: seconds")
    def run() -> AtMost:
        rng = np.random.default_rng(7)
        x = np.linspace(0.0, 8.0, 200)
        steep, middle = rng.uniform(1.0, 6.0, (arms, 1)), rng.uniform(0.5, 4.0, (arms, 1))
        y = rng.random((arms, 1)) * x**steep / (x**steep + middle**steep)
        ours, unit = side_by_side(lambda: hg.solve_curves(x, y, 1.5 * arms), _reference)
        gap = float(hg.solve_curves(x, y, 1.5 * arms).gap)
        return AtMost(ours, unit, most, f"gap {gap:.1e}", gap <= 1e-9)


_points(20, 1e-3)
_points(1_000, 20e-3)


@benchmark("an average over 1,000 draws, K=50: seconds")
def averaged() -> AtMost:
    rng = np.random.default_rng(8)
    p, rate = rng.random((1_000, 50)), np.exp(rng.normal(0.0, 0.7, (1_000, 50)))
    x = np.linspace(0.0, 20.0, 200)

    def solve() -> hg.Allocation:
        y = np.zeros((50, 200))
        for draw in range(1_000):
            y += p[draw][:, None] * -np.expm1(-((rate[draw][:, None] * x) ** 1.6))
        return hg.solve_curves(x, y / 1_000.0, 30.0)

    ours, unit = side_by_side(solve, _reference, repeats=2)
    return AtMost(ours, unit, 1.0, f"gap {solve().gap:.1e}")


# Races: twenty channels with Hill curves, as media-mix tools have them.


def _hill() -> tuple[hg.Problem, float]:
    rng = np.random.default_rng(9)
    return hg.Problem(hg.LogLogistic(2.5), rng.random(20), rng.uniform(0.2, 2.0, 20)), 12.0


def _slsqp(problem: hg.Problem, budget: float, starts: list[Floats]) -> float:
    best = 0.0
    for start in starts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = minimize(
                lambda x: -float(problem.expected_reward(np.maximum(x, 0.0))),
                start,
                jac=lambda x: -problem.marginal(np.maximum(x, 1e-12)),
                method="SLSQP",
                bounds=[(0.0, budget)] * problem.arms,
                constraints=[{"type": "ineq", "fun": lambda x: budget - x.sum(), "jac": lambda x: -np.ones(x.size)}],
            )
        x = np.maximum(found.x, 0.0)
        x *= min(1.0, budget / max(x.sum(), 1e-300))
        best = max(best, float(problem.expected_reward(x)))
    return best


def _greedy(problem: hg.Problem, budget: float, steps: int = 1_000) -> float:
    """The rule of many spreadsheets: the next of equal portions to the arm that gains most by it."""
    x, step = np.zeros(problem.arms), budget / steps
    for _ in range(steps):
        gain = problem.success_probability(x + step) - problem.success_probability(x)
        x[np.argmax(gain)] += step
    return float(problem.expected_reward(x))


def _race(name: str, rival: Callable[[hg.Problem, float], float]) -> None:
    @benchmark(f"Hill curves, K=20, against {name}")
    def run() -> Result:
        problem, budget = _hill()
        best, values = problem.solve(budget), list[float]()
        ours, reference = side_by_side(
            lambda: problem.solve(budget), lambda: values.append(rival(problem, budget)), repeats=2
        )
        note = f"value {best.value:.5f}, theirs {max(values):.5f}"
        return Result(ours, reference, 1.0, note, bool(best.value >= max(values) * (1.0 - 1e-9)))


_race("SLSQP from an even start", lambda p, b: _slsqp(p, b, [np.full(p.arms, b / p.arms)]))
_race(
    "SLSQP with 20 restarts",
    lambda p, b: _slsqp(p, b, list(np.random.default_rng(0).dirichlet(np.ones(p.arms), 20) * b)),
)
_race("a greedy rule on 1,000 portions", _greedy)
