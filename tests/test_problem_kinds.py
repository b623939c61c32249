"""Problems with kinds of rounds: what they are, play, files, bad input, simulation."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import headgate as hg
from headgate.cli.app import app
from headgate.errors import ParameterError, ProblemFileError, ShapeError
from headgate.laws import Law
from headgate.problem import Reward

REWARDS: tuple[Reward, ...] = ("sum", "cascade")
LAWS: list[list[Law]] = [[hg.Weibull(2.0), hg.Exponential()], [hg.Weibull(2.0), hg.LogNormal(0.5)]]

P, RATE = np.array([[0.9, 0.8], [0.1, 0.2]]), np.array([[1.0, 2.0], [3.0, 0.5]])


def shared(**more: Any) -> hg.Problem:
    return hg.Problem(hg.Weibull(1.5), P, RATE, kinds=[0.6, 0.4], **more)


def test_played_rounds_share_their_kind() -> None:
    problem, x = shared(), np.array([1.0, 0.7])
    rng = np.random.default_rng(0)
    success = problem.play(np.tile(x, (200_000, 1)), rng).success
    # four standard errors of a share of 200,000 rounds are at most .0045
    np.testing.assert_allclose(success.mean(axis=0), problem.success_probability(x), atol=0.0045)
    assert abs(success.any(axis=1).mean() - problem.expected_reward(x, "cascade")) < 0.0045
    alone = 1.0 - np.prod(1.0 - problem.success_probability(x))
    assert abs(success.any(axis=1).mean() - alone) > 0.03  # independent arms would succeed more often


def test_marginals_are_slopes() -> None:
    problem, x, h = shared(value=1.0), np.array([0.8, 0.4]), 1e-6
    for reward in REWARDS:
        slopes = [
            (problem.expected_reward(x + h * e, reward) - problem.expected_reward(x - h * e, reward)) / (2 * h)
            for e in np.eye(2)
        ]
        np.testing.assert_allclose(problem.marginal(x, reward), slopes, rtol=1e-6)


@pytest.mark.parametrize(
    "problem",
    [
        shared(value=[1.0, 2.5], units="s", names=["a", "b"]),
        hg.Problem(LAWS, P, RATE, kinds=[0.6, 0.4]),
    ],
)
def test_a_file_loses_nothing(problem: hg.Problem, tmp_path: Path) -> None:
    text = problem.to_toml(tmp_path / "problem.toml")
    assert hg.Problem.from_toml(text) == problem
    assert hg.load_problem(tmp_path / "problem.toml") == problem


@pytest.mark.parametrize(
    ("kinds", "p", "error", "words"),
    [
        ([0.6, 0.5], P, ParameterError, "add up to 1"),
        ([1.2, -0.2], P, ParameterError, "within"),
        ([0.5, np.nan], P, ParameterError, "nan"),
        ([[0.6, 0.4]], P, ShapeError, r"\(Q,\)"),
        ([], P, ShapeError, r"\(Q,\)"),
        ([0.2, 0.3, 0.5], P, ShapeError, "3 kinds"),
        ([0.6, 0.4], P[0], ShapeError, "axes of kinds and arms"),
    ],
)
def test_bad_kinds_are_named(kinds: Any, p: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        hg.Problem(hg.Exponential(), p, 1.0, kinds=kinds)


def test_bad_files_are_named() -> None:
    text = shared().to_toml()
    for wrong, words in (
        (text.replace("0.6", "0.7", 1), "add up to 1"),
        ("kinds = 3\n" + text[text.index("law") :], "kinds must be a list"),
        (text.replace("    0.9,\n", ""), "one number for each of 2 kinds"),
    ):
        with pytest.raises((ProblemFileError, ParameterError), match=words):
            hg.Problem.from_toml(wrong)


def test_the_command_line_says_which_assumption_holds(tmp_path: Path) -> None:
    shared().to_toml(tmp_path / "p.toml")
    hg.Problem(hg.Weibull(1.5), P[0], RATE[0]).to_toml(tmp_path / "q.toml")
    run = CliRunner().invoke
    found = run(app, ["solve", str(tmp_path / "p.toml"), "--budget", "2", "--reward", "cascade", "--json"])
    data = json.loads(found.stdout)
    best = shared().solve(2.0, reward="cascade")
    assert data["value"] == float(best.value)
    assert data["assumes"] == "kinds"
    shown = run(app, ["solve", str(tmp_path / "p.toml"), "--budget", "2", "--reward", "cascade"]).stdout
    assert "arms share the round's kind" in shown
    shown = run(app, ["solve", str(tmp_path / "q.toml"), "--budget", "2", "--reward", "cascade"]).stdout
    assert "arms independent" in shown


def test_words() -> None:
    assert repr(shared()) == "Problem(Weibull(shape=1.5), arms=2, kinds=2)"
    assert "arms share the round's kind" in repr(shared().solve(1.0, reward="cascade"))
    assert shared() == shared()
    assert shared() != hg.Problem(hg.Weibull(1.5), P, RATE, kinds=[0.5, 0.5])
    assert shared() != hg.Problem(hg.Weibull(1.5), P, RATE)


def test_simulated_rounds_are_of_kinds_too() -> None:
    problem = shared()
    result = hg.simulate(
        problem, {"oracle": hg.Oracle, "uniform": hg.Uniform}, budget=2.0, rounds=2000, runs=2, seed=0, reward="cascade"
    )
    best = problem.solve(2.0, reward="cascade")
    even = problem.expected_reward([1.0, 1.0], "cascade")
    np.testing.assert_allclose(result.regret["oracle"][:, -1], 0.0, atol=1e-9)
    np.testing.assert_allclose(result.regret["uniform"][:, -1], 2000 * (best.value - even), rtol=1e-9)
    # rewards as drawn: 4,000 rounds, three standard errors are .024
    got = result.reward["oracle"][:, -1].mean() / 2000
    assert abs(got - best.value) < 0.024
    batch = hg.Problem(hg.Weibull(1.5), np.stack([P, P[::-1]]), np.stack([RATE, RATE]), kinds=[0.6, 0.4])
    found = hg.simulate(batch, {"oracle": hg.Oracle}, budget=2.0, rounds=50, runs=2, seed=0, reward="cascade")
    np.testing.assert_allclose(found.regret["oracle"], 0.0, atol=1e-9)
