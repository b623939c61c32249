"""The shipped problems: their numbers, and their known optima."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize

import headgate as hg
from headgate.datasets.ednet import Fit

EDNET = Path(__file__).parents[2] / "shared" / "data" / "ednet_pseudo_users.csv"


def weibull_fit(times: NDArray[np.float64]) -> tuple[float, float]:
    """Shape and scale of largest likelihood: the root of the profile score."""
    logs = np.log(times)

    def score(k: float) -> float:
        power = times**k
        return float(power @ logs / power.sum() - 1.0 / k - logs.mean())

    shape = float(brentq(score, 0.05, 20.0, xtol=1e-14))
    return shape, float(np.mean(times**shape) ** (1.0 / shape))


def truncated_fit(times: NDArray[np.float64], low: float, high: float) -> tuple[float, float]:
    """Shape and scale of largest likelihood of a Weibull law that is truncated at both ends, by Nelder and Mead."""

    def loss(theta: NDArray[np.float64]) -> float:
        k, scale = np.exp(theta)
        within = np.exp(-((low / scale) ** k)) - np.exp(-((high / scale) ** k))
        density = np.log(k / scale) + (k - 1.0) * np.log(times / scale) - (times / scale) ** k
        return float(np.log(within) - density.mean())

    start = np.log([1.8, times.mean()])
    found = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14, "maxiter": 4000})
    return float(np.exp(found.x[0])), float(np.exp(found.x[1]))


@pytest.fixture(scope="module")
def answers() -> dict[str, tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    if not EDNET.exists():
        pytest.skip(f"the EdNet sample {EDNET} is not here, and may not be shipped")
    rows = defaultdict(list)
    with EDNET.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows[row["question_id"]].append((float(row["response_time_ms"]) / 1000.0, float(row["is_correct"]) == 1.0))
    return {name: tuple(map(np.array, zip(*own, strict=True))) for name, own in rows.items()}  # type: ignore[misc]  # two columns


@pytest.mark.parametrize("fit", ["trimmed", "untrimmed", "correct"])
def test_the_quiz_is_what_the_data_says(
    answers: dict[str, tuple[NDArray[np.float64], NDArray[np.bool_]]], fit: Fit
) -> None:
    quiz = hg.datasets.ednet_quiz(fit)
    assert set(quiz.names) == set(answers)
    for arm, name in enumerate(quiz.names):
        times, right = answers[name]
        if fit == "trimmed":
            low, high = np.quantile(times, [0.025, 0.975])
            kept = (times >= low) & (times <= high)
            (shape, scale), right = truncated_fit(times[kept], low, high), right[kept]
        else:
            shape, scale = weibull_fit(times[right] if fit == "correct" else times)
        assert quiz.activation[arm] == pytest.approx(np.mean(right), abs=1e-8)
        assert quiz.law.shapes()["shape"][arm] == pytest.approx(shape, rel=3e-6 if fit == "trimmed" else 3e-7)
        assert 1.0 / quiz.rate[arm] == pytest.approx(scale, rel=3e-6 if fit == "trimmed" else 3e-7)


@pytest.mark.parametrize(("fit", "earned"), [("trimmed", 6.767), ("untrimmed", 6.752), ("correct", 6.813)])
def test_what_each_fit_s_optimum_earns_on_the_real_answers(
    answers: dict[str, tuple[NDArray[np.float64], NDArray[np.bool_]]], fit: Fit, earned: float
) -> None:
    quiz = hg.datasets.ednet_quiz(fit)
    x = quiz.solve(700.0).x
    won = sum(np.mean((times <= x[quiz.arm(name)]) & right) for name, (times, right) in answers.items())
    assert won == pytest.approx(earned, abs=1e-3)


def test_a_fit_that_does_not_exist_is_refused() -> None:
    with pytest.raises(hg.errors.ParameterError, match=r"fit must be .*trimmed.*, got 'trim'"):
        hg.datasets.ednet_quiz("trim")  # type: ignore[arg-type]


def on_a_grid(problem: hg.Problem, budget: float, steps: int) -> float:
    """The best allocation of whole grid steps, by dynamic programming: a lower bound of the optimum."""
    grid = np.linspace(0.0, budget, steps + 1)
    curves = problem.success_probability(np.repeat(grid[:, None], problem.arms, axis=1)).T
    best = np.zeros(steps + 1)
    for curve in curves:
        best = np.array([np.max(best[: j + 1] + curve[j::-1]) for j in range(steps + 1)])
    return float(best[-1])


@pytest.mark.parametrize(
    ("fit", "budget", "optimum"),
    # The 5.97993 is what a grid of 2,000 steps gives (5.979930); finer grids tend to 5.979945.
    [
        ("untrimmed", 694.86, 5.979945), ("untrimmed", 400.0, 3.841750), ("untrimmed", 200.0, 2.114214),
        ("trimmed", 694.86, 6.521631), ("trimmed", 200.0, 2.299144), ("correct", 400.0, 4.099861),
    ],
)  # fmt: skip
def test_the_quiz_has_its_known_optima(fit: Fit, budget: float, optimum: float) -> None:
    quiz = hg.datasets.ednet_quiz(fit)
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
