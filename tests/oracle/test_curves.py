"""Curves given by points: against dynamic programming, the smooth oracle and a mixed-integer programme's logic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headgate as hg
from headgate.errors import BudgetError, ParameterError, ShapeError, UnsupportedError
from headgate.laws import Floats


def random_curves(rng: np.random.Generator, arms: int, points: int) -> tuple[Floats, Floats]:
    """Amounts in whole numbers, and curves with flat, steep and jagged stretches."""
    x = np.append(0.0, np.cumsum(rng.integers(1, 4, points - 1))).astype(float)
    rise = rng.random((arms, points - 1)) ** rng.choice([1.0, 6.0], (arms, 1)) * (rng.random((arms, points - 1)) < 0.7)
    y = np.concatenate([np.zeros((arms, 1)), np.cumsum(rise, axis=1)], axis=1)
    return x, y / max(y.max(), 1.0)


def best_in_steps(x: Floats, y: Floats, budget: float, step: float, *, cascade: bool) -> float:
    """The best allocation in whole steps, by dynamic programming: what no bound may lie below."""
    cells = round(budget / step)
    grid = step * np.arange(cells + 1)
    best = np.zeros(cells + 1)
    for arm in range(len(y)):
        height = np.interp(grid, x if x.ndim == 1 else x[arm], y[arm])
        f = -np.log1p(-np.minimum(height, 1.0 - 1e-16)) if cascade else height
        best = np.array([np.max(best[: n + 1][::-1] + f[: n + 1]) for n in range(cells + 1)])
    return float(-np.expm1(-best[-1])) if cascade else float(best[-1])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), arms=st.integers(1, 5), points=st.integers(2, 9), cascade=st.booleans())
def test_no_allocation_in_steps_is_better(seed: int, arms: int, points: int, cascade: bool) -> None:
    rng = np.random.default_rng(seed)
    x, y = random_curves(rng, arms, points)
    budget = float(rng.integers(1, max(int(x[-1] * arms), 2)))
    best = hg.solve_curves(x, y, budget, reward="cascade" if cascade else "sum")
    assert best.x.sum() <= budget
    heights = np.array([np.interp(amount, x, curve) for amount, curve in zip(best.x, y, strict=True)])
    worth = 1.0 - np.prod(1.0 - heights) if cascade else heights.sum()
    assert worth == pytest.approx(float(best.value), rel=1e-12, abs=1e-14)
    assert best.gap <= 1e-9
    grid = best_in_steps(x, y, budget, 0.25, cascade=cascade)
    assert grid <= best.bound * (1.0 + 1e-12) + 1e-15


def test_limits_are_kept_and_count() -> None:
    rng = np.random.default_rng(4)
    x, y = random_curves(rng, 4, 8)
    lower, upper = np.array([1.0, 0.0, 0.5, 0.0]), np.array([2.0, 3.0, 9.0, 0.0])
    best = hg.solve_curves(x, y, 6.0, lower=lower, upper=upper)
    assert np.all(best.x >= lower)
    assert np.all(best.x <= upper)
    free = hg.solve_curves(x, y, 6.0)
    assert best.value <= free.value


def test_a_batch_is_its_rows() -> None:
    rng = np.random.default_rng(5)
    x = np.linspace(0.0, 10.0, 12)
    y = np.stack([random_curves(rng, 3, 12)[1] for _ in range(4)])
    budget = np.array([1.0, 5.0, 9.0, 40.0])
    batch = hg.solve_curves(x, y, budget)
    for row in range(4):
        single = hg.solve_curves(x, y[row], budget[row])
        assert single.x.tolist() == batch.x[row].tolist()
        assert single.bound == batch.bound[row]


def test_fine_points_come_close_to_the_smooth_oracle() -> None:
    rng = np.random.default_rng(6)
    problem = hg.Problem(hg.Weibull(2.0), rng.random(12), rng.uniform(0.3, 2.0, 12))
    x = np.linspace(0.0, 6.0, 601)
    y = problem.success_probability(np.repeat(x[:, None], 12, axis=1)).T
    smooth, pieces = problem.solve(6.0), hg.solve_curves(x, y, 6.0)
    assert pieces.gap <= 1e-9
    assert pieces.value == pytest.approx(float(smooth.value), rel=1e-4)
    assert problem.expected_reward(pieces.x) <= smooth.bound * (1.0 + 1e-12)


def test_an_average_over_draws_is_solved_in_one_call() -> None:
    """The allocation that is best for the posterior's average: as good as any for it, better than that of its mean."""
    rng = np.random.default_rng(7)
    draws, arms = 200, 8
    p, rate = rng.random((draws, arms)), np.exp(rng.normal(0.0, 0.8, (draws, arms)))
    x = np.linspace(0.0, 8.0, 201)
    y = np.mean(p[:, None] * hg.Weibull(2.0).cdf(x[None, :, None], rate[:, None]), axis=0).T
    best = hg.solve_curves(x, y, 8.0)
    mean = hg.solve(hg.Weibull(2.0), p.mean(axis=0), np.exp(np.log(rate).mean(axis=0)), 8.0)

    def worth(amounts: Floats) -> float:
        return float(np.mean(np.sum(p * hg.Weibull(2.0).cdf(amounts, rate), axis=-1)))

    assert best.gap <= 1e-9
    assert worth(best.x) > worth(mean.x)


@pytest.mark.parametrize(
    ("x", "y", "error", "words"),
    [
        ([0.0, 1.0], [[0.5, 0.4]], ParameterError, "must not fall, got 0.5 and then 0.4"),
        ([1.0, 1.0], [[0.1, 0.4]], ParameterError, "x must grow"),
        ([0.0, np.nan], [[0.1, 0.4]], ParameterError, "x must be finite"),
        ([0.0, 1.0], [[0.1, np.nan]], ParameterError, "y must be"),
        ([0.0, 1.0, 2.0], [[0.1, 0.4]], ShapeError, "x must have 2 points"),
        ([0.0, 1.0], [0.1, 0.4], ShapeError, "arms and points"),
    ],
)
def test_points_that_are_no_curve(x: object, y: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        hg.solve_curves(x, y, 1.0)  # type: ignore[arg-type]


def test_a_problem_of_curves_plays_solves_and_is_written(tmp_path: object) -> None:
    rng = np.random.default_rng(8)
    x, y = (
        np.array([0.0, 1.0, 2.0, 5.0]),
        np.array([[0.0, 0.05, 0.6, 0.9], [0.0, 0.3, 0.4, 0.45], [0.0, 0.0, 0.0, 0.0]]),
    )
    problem = hg.Problem.from_curves(x, y, ["a", "b", "c"], units="hours")
    np.testing.assert_allclose(problem.success_probability([1.5, 0.5, 9.0]), [0.325, 0.15, 0.0])
    best = problem.solve(3.0)
    assert best.gap <= 1e-9
    assert best.value == pytest.approx(float(hg.solve_curves(x, y, 3.0).value))
    wins = np.mean([problem.play([1.5, 0.5, 9.0], rng).success for _ in range(4000)], axis=0)
    np.testing.assert_allclose(wins, [0.325, 0.15, 0.0], atol=4.5 * 0.5 / np.sqrt(4000))  # 1 in 10^5
    again = hg.Problem.from_toml(problem.to_toml())
    assert again == problem
    assert again.solve(3.0).x.tolist() == best.x.tolist()
    result = hg.simulate(problem, {"oracle": hg.Oracle, "even": hg.Uniform}, budget=3.0, rounds=20, runs=2, seed=0)
    assert np.all(result.regret["even"][:, -1] > 0.0)
    with pytest.raises(UnsupportedError, match="points"):
        hg.Thompson(problem.law, arms=3, max_budget=3.0)
    with pytest.raises(ParameterError, match="begin at"):
        hg.Problem.from_curves([0.0, 1.0], [[0.1, 0.2]])


def test_curves_of_amounts_have_values() -> None:
    problem = hg.Problem.from_curves([0.0, 10.0, 20.0], [[0.0, 500.0, 600.0], [0.0, 10.0, 700.0]])
    assert problem.value.tolist() == [600.0, 700.0]
    assert problem.solve(30.0).value == pytest.approx(1200.0)
    with pytest.raises(BudgetError, match="budget"):
        problem.solve(-1.0)
