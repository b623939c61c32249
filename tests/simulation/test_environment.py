"""Worlds: drawn as `Problem.play` draws, or replayed from a log."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import headgate as hg
from headgate.errors import FeedbackError, InputError, ShapeError
from headgate.policies import Oracle, Thompson, Uniform
from headgate.simulation import Draws, Replay, simulate
from headgate.simulation.streams import block_length

from .references import slow_run


def test_draws_follow_the_laws(three: hg.Problem) -> None:
    world, x = Draws(three), np.array([1.0, 2.0, 3.0])
    drawn = np.concatenate([world.thresholds(three, 3, run, block) for run in range(5) for block in range(4)])
    won = (drawn <= x).mean(axis=0)
    expected = three.success_probability(x)
    # 20,480 rounds, three arms, within 4.5 standard errors: fails by chance with probability 2e-5.
    assert np.all(np.abs(won - expected) < 4.5 * np.sqrt(expected * (1.0 - expected) / len(drawn)))
    never = np.isinf(drawn).mean(axis=0)
    p = three.activation
    assert np.all(np.abs(never - (1.0 - p)) < 4.5 * np.sqrt(p * (1.0 - p) / len(drawn)))
    assert np.all(drawn > 0.0)


def test_every_place_has_its_own_draws(three: hg.Problem) -> None:
    world = Draws(three)
    blocks = [world.thresholds(three, *place) for place in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))]
    assert len({block.tobytes() for block in blocks}) == 4
    np.testing.assert_array_equal(blocks[3], world.thresholds(three, 0, 0, 1))


def log_of(problem: hg.Problem, rows: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    rng = np.random.default_rng(7)
    thresholds = problem.law.sample(problem.rate, rng, (rows, problem.arms))
    return thresholds, rng.random((rows, problem.arms)) < problem.activation


def test_a_replay_in_order_is_the_log(three: hg.Problem) -> None:
    thresholds, success = log_of(three, 40)
    replay = Replay(thresholds, success, three, shuffle=False)
    result = simulate(
        replay, {"even": Uniform, "best": Oracle}, budget=6.0, rounds=90, runs=2, checkpoints=range(1, 91)
    )
    rows = np.arange(90) % 40  # and again from the start
    for name, x in (("even", np.full(3, 2.0)), ("best", three.solve(6.0).x)):
        got = np.sum(success[rows] & (thresholds[rows] <= x), axis=1)
        np.testing.assert_array_equal(result.reward[name][1], np.cumsum(got))
    expected = three.solve(6.0).value - three.expected_reward(np.full(3, 2.0))
    np.testing.assert_allclose(result.regret["even"][0], np.arange(1, 91) * expected, rtol=1e-9)


def test_a_shuffled_replay_plays_every_row_once(three: hg.Problem) -> None:
    rows = 1500  # more than a block: orders must hang together across blocks
    thresholds = np.arange(1.0, rows + 1.0)[:, None] * np.ones(3)
    replay = Replay(thresholds, np.ones((rows, 3), dtype=bool), three)
    length = block_length(3)
    for run in range(2):
        played = np.concatenate([replay.thresholds(three, 0, run, block)[:, 0] for block in range(3)])
        assert len(played) == 3 * length
        np.testing.assert_array_equal(np.sort(played[:rows]), thresholds[:, 0])
        np.testing.assert_array_equal(np.sort(played[rows : 2 * rows]), thresholds[:, 0])
        assert not np.array_equal(played[:rows], played[rows : 2 * rows])
    first, second = (replay.thresholds(three, 0, run, 0) for run in range(2))
    assert not np.array_equal(first, second)


def test_a_replay_agrees_with_the_plain_loop(three: hg.Problem) -> None:
    replay = Replay(*log_of(three, 50), three)
    result = simulate(replay, {"thompson": Thompson}, budget=6.0, rounds=60, runs=2, checkpoints=range(1, 61))
    for run in range(2):
        expected = slow_run(replay, Thompson, lambda _: 6.0, 6.0, 60, 0, run)
        np.testing.assert_allclose(result.regret["thompson"][run], expected["regret"], rtol=1e-10)
        np.testing.assert_array_equal(result.reward["thompson"][run], expected["reward"])


def test_each_run_may_have_its_own_log_and_rows_their_budgets(three: hg.Problem) -> None:
    thresholds, success = log_of(three, 60)
    logs = thresholds.reshape(2, 30, 3), success.reshape(2, 30, 3)
    budgets = np.linspace(1.0, 9.0, 60).reshape(2, 30)
    replay = Replay(*logs, three, shuffle=False, budgets=budgets)
    result = simulate(replay, {"even": Uniform}, rounds=30, runs=2, checkpoints=range(1, 31))
    got = np.sum(logs[1] & (logs[0] <= budgets[..., None] / 3.0), axis=-1)
    np.testing.assert_array_equal(result.reward["even"], np.cumsum(got, axis=1))
    best = three.solve(budgets).value
    np.testing.assert_allclose(result.optimum["even"], np.cumsum(best, axis=1), rtol=1e-9)


def test_a_draw_of_zero_needs_something() -> None:
    """So small a shape often draws what underflows to 0: an arm that gets nothing does not succeed even then."""
    often = hg.Problem(hg.Weibull(0.003), np.ones(3), np.ones(3))
    assert np.any(often.law.sample(often.rate, np.random.default_rng(0), (1000, 3)) == 0.0)
    assert np.all(Draws(often).thresholds(often, 0, 0, 0) > 0.0)
    rng = np.random.default_rng(0)
    assert not any(often.play(np.zeros(3), rng).success.any() for _ in range(1000))


def test_a_threshold_of_zero_needs_something(three: hg.Problem) -> None:
    replay = Replay(np.zeros((5, 3)), np.ones((5, 3)).astype(int), three)
    reach = replay.thresholds(three, 0, 0, 0)
    assert np.all(reach > 0.0)
    assert np.all(reach < 1e-300)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"success": np.full((4, 3), 2)}, FeedbackError, "true or false"),
        ({"success": np.ones((4, 2), dtype=bool)}, ShapeError, "rows of 3 arms"),
        ({"thresholds": np.full((4, 3), np.nan)}, FeedbackError, "threshold of a success"),
        ({"budgets": [1.0, 2.0]}, ShapeError, "one budget for each row"),
    ],
)
def test_bad_logs_are_refused(three: hg.Problem, change: dict[str, Any], error: type[InputError], words: str) -> None:
    good: dict[str, Any] = {"thresholds": np.ones((4, 3)), "success": np.ones((4, 3), dtype=bool), "problem": three}
    with pytest.raises(error, match=words):
        Replay(**(good | change))
