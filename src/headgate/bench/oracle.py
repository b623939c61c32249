"""The oracle against cvxpy with Clarabel, a sort, scipy's trust-constr, and its own single calls."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

import headgate as hg
from headgate.bench.harness import Result, benchmark, side_by_side

Floats = NDArray[np.float64]
cp: Any = import_module("cvxpy")  # its types are incomplete
minimize: Any = optimize.minimize  # its types know fewer ways to call it


def _exponential(arms: int) -> tuple[Floats, Floats, float]:
    rng = np.random.default_rng(arms)
    return rng.random(arms), rng.uniform(0.02, 2.0, arms), arms / 4.0


def _modelled(weight: Floats, rate: Floats, budget: float) -> Any:
    """The problem as a modeller writes it."""
    x = cp.Variable(weight.size, nonneg=True)
    value = weight @ (1.0 - cp.exp(-cp.multiply(rate, x)))
    return cp.Problem(cp.Maximize(value), [cp.sum(x) <= budget])


def _against_clarabel(arms: int) -> Callable[[], Result]:
    """Both get a problem they have not seen. Building it is not part of the time: only `problem.solve` is."""

    def run() -> Result:
        weight, rate, budget = _exponential(arms)
        best = hg.solve(hg.Exponential(), weight, rate, budget)
        repeats = 3 if arms > 10_000 else 9
        fresh = [_modelled(weight, rate, budget) for _ in range(repeats + 2)]
        solved: list[float] = []

        def clarabel() -> None:
            solved.append(fresh[len(solved)].solve(solver=cp.CLARABEL))

        ours, reference = side_by_side(
            lambda: hg.solve(hg.Exponential(), weight, rate, budget), clarabel, repeats=repeats, least=(0.02, 0.0)
        )
        better = bool(best.value >= max(solved) * (1.0 - 1e-6))
        return Result(ours, reference, 200.0, "problem.solve(CLARABEL) of a new problem, built before", better)

    return run


for _arms in (20, 1_000, 100_000):
    benchmark(f"exponential, K={_arms:,}, against Clarabel")(_against_clarabel(_arms))


@benchmark("exponential, K=20, against Clarabel that knows the problem's structure")
def against_parameters() -> Result:
    """The best that cvxpy can do in a loop: the problem compiled once (DPP), only its numbers change."""
    weight, rate, budget = _exponential(20)
    x, left = cp.Variable(20, nonneg=True), cp.Variable(20)
    rates = cp.Parameter(20, nonneg=True, value=rate)
    within = [cp.sum(x) <= budget, cp.exp(-cp.multiply(rates, x)) <= left]
    problem = cp.Problem(cp.Minimize(weight @ left), within)

    def clarabel() -> None:
        rates.value = rate
        problem.solve(solver=cp.CLARABEL)

    ours, reference = side_by_side(lambda: hg.solve(hg.Exponential(), weight, rate, budget), clarabel)
    return Result(ours, reference, 50.0, "problem.solve(CLARABEL), compiled before")


@benchmark("exponential, K=100,000, against a sort")
def against_a_sort() -> Result:
    weight, rate, budget = _exponential(100_000)
    level, scale = np.log(weight * rate), 1.0 / rate

    def sort() -> None:
        order = np.argsort(level)
        np.cumsum(level[order])
        np.cumsum(scale[order])

    ours, reference = side_by_side(lambda: hg.solve(hg.Exponential(), weight, rate, budget), sort)
    return Result(ours, reference, 1.0 / 3.0, "argsort and two cumsum")


def _trust_constr(problem: hg.Problem, budget: float, seed: int, restarts: int = 5) -> float:
    """The best of some restarts of a local solver with gradients, as the published code does it."""
    rng, best = np.random.default_rng(seed), 0.0
    within = optimize.LinearConstraint(np.ones((1, problem.arms)), -np.inf, budget)
    for _ in range(restarts):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = minimize(
                lambda x: -float(problem.expected_reward(np.maximum(x, 0.0))),
                rng.dirichlet(np.ones(problem.arms)) * budget,
                jac=lambda x: -problem.marginal(np.maximum(x, 0.0)),
                method="trust-constr",
                bounds=optimize.Bounds(np.zeros(problem.arms), np.full(problem.arms, budget)),
                constraints=[within],
            )
        x = np.maximum(solution.x, 0.0)
        x *= min(1.0, budget / x.sum())
        best = max(best, float(problem.expected_reward(x)))
    return best


def _quiz(budget: float) -> Callable[[], Result]:
    def run() -> Result:
        quiz = hg.datasets.ednet_quiz("untrimmed")
        best = quiz.solve(budget)
        values: list[float] = []
        ours, reference = side_by_side(
            lambda: quiz.solve(budget),
            lambda: values.append(_trust_constr(quiz, budget, seed=len(values))),
            repeats=3,
        )
        holds = bool(best.gap <= 1e-9 and best.value >= max(values) * (1.0 - 1e-9))
        return Result(ours, reference, 1_000.0, f"value {best.value:.5f}, trust-constr {max(values):.5f}", holds)

    return run


for _budget in (694.86, 400.0, 200.0):
    benchmark(f"EdNet quiz, B={_budget:g}, certified, against trust-constr")(_quiz(_budget))


def _batch(law: hg.laws.Law, required: float) -> Callable[[], Result]:
    def run() -> Result:
        rng = np.random.default_rng(1)
        weight, rate = rng.random((1_000, 20)), rng.uniform(0.1, 2.0, (1_000, 20))
        rows = list(zip(weight, rate, strict=True))

        def singles() -> None:
            for w, r in rows:
                hg.solve(law, w, r, 20.0)

        ours, reference = side_by_side(lambda: hg.solve(law, weight, rate, 20.0), singles)
        return Result(ours, reference, required, "1,000 problems, K=20: one call against 1,000")

    return run


benchmark("batch, exponential")(_batch(hg.Exponential(), 20.0))
benchmark("batch, Weibull 1.5")(_batch(hg.Weibull(1.5), 1.0))
