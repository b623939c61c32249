"""The shipped problems: their numbers, and their known optima."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq

import headgate as hg

EDNET = Path(__file__).parents[2] / "shared" / "data" / "ednet_pseudo_users.csv"


def weibull_fit(times: NDArray[np.float64]) -> tuple[float, float]:
    """Shape and scale of largest likelihood: the root of the profile score."""
    logs = np.log(times)

    def score(k: float) -> float:
        power = times**k
        return float(power @ logs / power.sum() - 1.0 / k - logs.mean())

    shape = float(brentq(score, 0.05, 20.0, xtol=1e-14))
    return shape, float(np.mean(times**shape) ** (1.0 / shape))


@pytest.mark.skipif(not EDNET.exists(), reason=f"the EdNet sample {EDNET} is not here, and may not be shipped")
def test_the_quiz_is_what_the_data_says() -> None:
    times, right = defaultdict(list), defaultdict(list)
    with EDNET.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            times[row["question_id"]].append(float(row["response_time_ms"]) / 1000.0)
            right[row["question_id"]].append(float(row["is_correct"]))
    quiz = hg.datasets.ednet_quiz()
    assert set(quiz.names) == set(times)
    for arm, name in enumerate(quiz.names):
        shape, scale = weibull_fit(np.array(times[name]))
        assert quiz.activation[arm] == pytest.approx(np.mean(right[name]), abs=1e-12)
        assert quiz.law.shapes()["shape"][arm] == pytest.approx(shape, rel=1e-8)
        assert 1.0 / quiz.rate[arm] == pytest.approx(scale, rel=1e-8)


def on_a_grid(problem: hg.Problem, budget: float, steps: int) -> float:
    """The best allocation of whole grid steps, by dynamic programming: a lower bound of the optimum."""
    grid = np.linspace(0.0, budget, steps + 1)
    curves = problem.success_probability(np.repeat(grid[:, None], problem.arms, axis=1)).T
    best = np.zeros(steps + 1)
    for curve in curves:
        best = np.array([np.max(best[: j + 1] + curve[j::-1]) for j in range(steps + 1)])
    return float(best[-1])


@pytest.mark.parametrize(
    ("budget", "optimum"),
    # The 5.97993 is what a grid of 2,000 steps gives (5.979930); finer grids tend to 5.979945.
    [(694.86, 5.979945), (400.0, 3.841750), (200.0, 2.114214)],
)
def test_the_quiz_has_its_known_optima(budget: float, optimum: float) -> None:
    quiz = hg.datasets.ednet_quiz()
    best = quiz.solve(budget)
    assert float(best.value) == pytest.approx(optimum, abs=1e-6)
    grid = on_a_grid(quiz, budget, 1000)
    assert grid <= float(best.bound)
    assert grid == pytest.approx(float(best.value), abs=2e-4)


def test_the_saved_instance_has_its_published_optimum() -> None:
    published = [
        2.64135144, 1.9707727, 5.41511688, 8.95651665, 2.66086488,
        0.0, 11.70826517, 1.97114795, 2.74335391, 1.93261042,
    ]  # fmt: skip
    problem = hg.datasets.saved_instance()
    assert np.allclose(problem.solve(40.0).x, published, atol=2e-7)


def test_datasets_survive_a_file() -> None:
    for problem in (hg.datasets.ednet_quiz(), hg.datasets.saved_instance()):
        assert hg.Problem.from_toml(problem.to_toml()) == problem
