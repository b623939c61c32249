"""The oracle on S-shaped curves, whole units and points: against the first release, and against what others use.

The first release is not installed beside this one. Its times were measured in turn with this one's, as multiples of a
fixed piece of SciPy's work (`_reference`) in the same process, and stand here as those multiples, with its values.
"""

from __future__ import annotations

import heapq
import math
import warnings
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse, special

import headgate as hg
from headgate.bench.harness import AtMost, Result, benchmark, side_by_side

Floats = NDArray[np.float64]
minimize: Any = optimize.minimize  # its types know fewer ways to call it
_AXIS = np.linspace(0.1, 5.0, 20_000)


def _reference() -> Floats:
    """Scalar work in C, like that of the kernels: NumPy's own loops gain more from a newer processor."""
    return np.asarray(special.gammainc(2.5, _AXIS))


def _measured(ours: Callable[[], Any], repeats: int = 7) -> tuple[float, float]:
    """CPU seconds of ours and of the reference, one thread each: bars in seconds should not depend on neighbours."""
    return side_by_side(ours, _reference, repeats=repeats, clock=process_time)


# The first release (commit 5d547f0): CPU seconds over those of `_reference`, each the least of 60 (batch: 12) in one
# process, and the value it found, in all.
_FIRST_RELEASE = {
    "weibull": (1.53, 167.29422619393966),
    "gamma": (3.08, 78.39318485960362),
    "log-normal": (0.91, 134.89517436815188),
    "batch": (64.9, 7060.584947559315),
}


def _arms(count: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(2024)
    return rng.random(count), rng.uniform(0.02, 2.0, count)


def _against_the_first_release(name: str, solve: Callable[[], hg.Allocation], required: float) -> Result:
    best, (multiple, value) = solve(), _FIRST_RELEASE[name]
    ours, unit = _measured(solve)
    same = math.isclose(float(best.value.sum()), value, rel_tol=1e-9)
    note = f"gap {best.gap.max():.1e}" + ("" if same else f", value {best.value.sum()}, then {value}")
    return Result(ours, unit * multiple, required, note, same and bool(best.gap.max() <= 1e-9))


def _single(name: str, law: hg.laws.Law, required: float) -> Callable[[], Result]:
    def run() -> Result:
        weight, rate = _arms(1_000)
        return _against_the_first_release(name, lambda: hg.solve(law, weight, rate, 250.0), required)

    return run


for _name, _law, _required in (
    ("weibull", hg.Weibull(1.6), 5.0),
    ("gamma", hg.Gamma(2.5), 5.0),
    ("log-normal", hg.LogNormal(0.8), 3.0),
):
    benchmark(f"K=1,000, {_name}, against the first release")(_single(_name, _law, _required))


@benchmark("batch of 1,000 x 20, Weibull 1.5, against the first release")
def batch() -> Result:
    rng = np.random.default_rng(1)
    weight, rate = rng.random((1_000, 20)), rng.uniform(0.1, 2.0, (1_000, 20))
    return _against_the_first_release("batch", lambda: hg.solve(hg.Weibull(1.5), weight, rate, 20.0), 4.0)


@benchmark("20 x 500 arms, Weibull 1.6: to a learner's 1e-6, against 1e-9")
def rounding() -> Result:
    rng = np.random.default_rng(5)
    weight, rate = rng.uniform(0.3, 0.95, (20, 500)), 1.0 / rng.uniform(0.3, 2.0, (20, 500))

    def solve(tol: float) -> hg.Allocation:
        return hg.solve(hg.Weibull(1.6), weight, rate, 250.0, tol=tol)

    ours, exact = side_by_side(lambda: solve(1e-6), lambda: solve(1e-9), clock=process_time)
    best, bound = solve(1e-6), solve(1e-9).bound
    lost = float(np.max(1.0 - best.value / bound))
    return Result(ours, exact, 1.3, f"{best.nodes.mean():.1f} nodes, at most {lost:.1e} lost", lost <= 1e-6)


def _near_equal(arms: int, most: float) -> None:
    @benchmark(f"near-equal arms, K={arms:,}, rates within 1e-6 to 1e-2: the longest, seconds")
    def run() -> AtMost:
        rng, law = np.random.default_rng(3), hg.Weibull(3.0)
        longest, unit, gap = 0.0, 0.0, 0.0
        for spread in (1e-6, 1e-4, 1e-2):
            rate = 1.0 + spread * rng.random(arms)
            for share in (0.13, 0.37, 0.61):

                def solve(rate: Floats = rate, budget: float = share * arms) -> hg.Allocation:
                    return hg.solve(law, np.ones(arms), rate, budget)

                ours, unit = _measured(solve, repeats=1)
                longest, gap = max(longest, ours), max(gap, float(solve().gap))
        return AtMost(longest, unit, most, f"gap {gap:.1e} at the most", gap <= 1e-9)


for _count, _most in ((20, 0.5), (1_000, 1.0), (10_000, 2.0)):
    _near_equal(_count, _most)


def _steep(arms: int) -> None:
    @benchmark(f"Weibull(50), K={arms:,}: seconds until all is spent")
    def run() -> AtMost:
        rng = np.random.default_rng(4)
        weight, rate, budget = rng.random(arms), rng.uniform(0.1, 2.0, arms), 0.4 * arms
        ours, unit = _measured(lambda: hg.solve(hg.Weibull(50.0), weight, rate, budget), repeats=1)
        best = hg.solve(hg.Weibull(50.0), weight, rate, budget)
        spent = bool(best.x.sum() >= budget * (1.0 - 1e-9))
        return AtMost(ours, unit, 10.0, f"gap {best.gap:.1e}", spent and bool(best.gap <= 1e-6))


_steep(1_000)
_steep(100_000)


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
        clock=process_time,
    )
    return Result(ours, reference, 10.0, holds=math.isclose(float(best.value), values[0], rel_tol=1e-12))


def _whole(arms: int, budget: int, most: float) -> None:
    @benchmark(f"whole units, shape 1.5, K={arms}, B={budget:,}: seconds")
    def run() -> AtMost:
        rng = np.random.default_rng(6)
        weight, rate = rng.random(arms), rng.uniform(0.5, 2.0, arms) * arms / budget
        law = hg.DiscreteWeibull(1.5)
        ours, unit = _measured(lambda: hg.solve(law, weight, rate, float(budget)))
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
        ours, unit = _measured(lambda: hg.solve_curves(x, y, 1.5 * arms))
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

    ours, unit = _measured(solve, repeats=2)
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
            solution = minimize(
                lambda x: -float(problem.expected_reward(np.maximum(x, 0.0))),
                start,
                jac=lambda x: -problem.marginal(np.maximum(x, 1e-12)),
                method="SLSQP",
                bounds=[(0.0, budget)] * problem.arms,
                constraints=[{"type": "ineq", "fun": lambda x: budget - x.sum(), "jac": lambda x: -np.ones(x.size)}],
            )
        x = np.maximum(solution.x, 0.0)
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


def _highs(problem: hg.Problem, budget: float, points: int = 200) -> float:
    """A mixed-integer programme: each arm is at a mixture of two neighbouring points of its curve."""
    arms = problem.arms
    x = np.linspace(0.0, budget, points)
    y = problem.success_probability(np.repeat(x[:, None], arms, axis=1)).T
    count, pieces = arms * points, arms * (points - 1)
    share, piece = np.arange(count).reshape(arms, points), count + np.arange(pieces).reshape(arms, points - 1)
    rows: list[tuple[list[int], list[float], float, float]] = [
        (list(range(count)), np.tile(x, arms).tolist(), 0.0, budget)
    ]
    for arm in range(arms):
        rows.append((share[arm].tolist(), [1.0] * points, 1.0, 1.0))
        rows.append((piece[arm].tolist(), [1.0] * (points - 1), 1.0, 1.0))
        for k in range(points):  # a point counts only next to the piece that is chosen
            near = [int(piece[arm, j]) for j in (k - 1, k) if 0 <= j < points - 1]
            rows.append(([int(share[arm, k]), *near], [1.0] + [-1.0] * len(near), -np.inf, 0.0))
    starts = np.cumsum([0, *(len(row[0]) for row in rows)])
    columns = np.concatenate([row[0] for row in rows])
    matrix = sparse.csr_array((np.concatenate([row[1] for row in rows]), columns, starts), (len(rows), count + pieces))
    solved = optimize.milp(
        np.append(-y.ravel(), np.zeros(pieces)),
        constraints=optimize.LinearConstraint(matrix, [row[2] for row in rows], [row[3] for row in rows]),
        bounds=optimize.Bounds(0.0, 1.0),
        integrality=np.append(np.zeros(count), np.ones(pieces)),
        options={"time_limit": 60.0},
    )
    amounts = np.asarray(solved.x)[:count].reshape(arms, points) @ x
    return float(problem.expected_reward(amounts * min(1.0, budget / amounts.sum())))


_race("HiGHS on 200 points a curve", _highs)
