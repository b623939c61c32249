"""Portfolio: learns that arms share their rounds' fate, and notices where they do not."""

from typing import Any

import numpy as np
import pytest

import headgate as hg
from headgate.policies import portfolio
from headgate.rounds import hazards


def _played(problem: hg.Problem, rounds: int, seed: int) -> tuple[hg.Portfolio, float]:
    policy = hg.Portfolio(hg.Exponential(), problem.arms, 2.0, seed=seed, reward="cascade", memory=400, kinds=4)
    rng, won = np.random.default_rng(seed), 0.0
    for t in range(rounds):
        x = policy.allocate(2.0)
        feedback = problem.play(x, rng)
        policy.observe(x, feedback)
        won += float(problem.expected_reward(x, "cascade")) if t >= rounds // 2 else 0.0
    return policy, won / (rounds - rounds // 2)


def test_two_arms_of_a_kind_are_not_tried_twice() -> None:
    # Two twins that succeed in the same rounds, and one arm that is worse by itself but helps in the others.
    shared = hg.Problem(hg.Weibull(3.0), [[1.0, 1.0, 0.0], [0.0, 0.0, 0.9]], 2.0, kinds=[0.6, 0.4])
    best = float(shared.solve(2.0, reward="cascade").value)
    share = [_played(shared, 300, seed)[1] / best for seed in range(3)]
    assert np.mean(share) > 0.93
    alone = hg.Problem(hg.Weibull(3.0), [0.6, 0.6, 0.36], 2.0)  # what multiplied failures would make of it
    assert np.mean(share) * best > float(shared.expected_reward(alone.solve(2.0, reward="cascade").x, "cascade"))


def test_independent_arms_are_learned_too() -> None:
    alone = hg.Problem(hg.Exponential(), [0.9, 0.5, 0.3], [2.0, 2.0, 2.0])
    best = float(alone.solve(2.0, reward="cascade").value)
    assert np.mean([_played(alone, 300, seed)[1] / best for seed in range(2)]) > 0.93


def test_the_oldest_rounds_go() -> None:
    problem = hg.Problem(hg.Exponential(), [0.9, 0.5], 1.0)
    policy = hg.Portfolio(hg.Exponential(), 2, 2.0, reward="cascade", memory=5, kinds=2)
    rng = np.random.default_rng(0)
    given = []
    for _ in range(8):
        x = policy.allocate(2.0)
        policy.observe(x, problem.play(x, rng))
        given.append(x)
    np.testing.assert_array_equal(policy.state.amount, [*given[5:8], *given[3:5]])


def _twins(seed: int = 0) -> hg.Portfolio:
    shared = hg.Problem(hg.Weibull(3.0), [[1.0, 1.0, 0.0], [0.0, 0.0, 0.9]], 2.0, kinds=[0.6, 0.4])
    return _played(shared, 60, seed)[0]


@pytest.mark.parametrize(("scores", "kinds"), [([0.0, -1.0], 4), ([-1.0, 0.0], 1)])
def test_kinds_are_used_while_they_foretell_better(
    monkeypatch: pytest.MonkeyPatch, scores: list[float], kinds: int
) -> None:
    """Else what is missing is drawn from one kind: as if arms were independent."""
    policy, used = _twins(), []
    assert policy.state.score[0] > policy.state.score[1]  # they do, of twins

    def completed(reach: Any, given: Any, found: Any, weights: Any, *rest: Any) -> Any:
        used.append(weights.shape[1])
        return hazards.completed(reach, given, found, weights, *rest)

    monkeypatch.setattr(portfolio, "completed", completed)
    state = policy.state.copy()
    state.score[:], state.look = scores, np.asarray(-1.0)
    policy.decide(state, policy.ask(2.0))
    assert used == [kinds]


def test_the_plan_follows_what_is_seen() -> None:
    policy = hg.Portfolio(hg.Exponential(), 2, 2.0, reward="cascade", memory=50, kinds=2)
    np.testing.assert_allclose(policy.allocate(2.0), [1.0, 1.0])
    for _ in range(30):
        x = policy.allocate(2.0)
        won = np.array([x[0] > 0.3, False])
        policy.observe(x, hg.Feedback(won, np.where(won, 0.3, np.nan)))
    assert policy.allocate(2.0)[1] != 1.0


@pytest.mark.parametrize("whole", [False, True])
def test_what_is_optimised_is_smoothed_but_for_whole_units(monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    law = hg.DiscreteWeibull() if whole else hg.Exponential()
    policy, seen = hg.Portfolio(law, 2, 8.0, reward="cascade", memory=50, kinds=2), []
    for _ in range(40):
        x = policy.allocate(8.0)
        won = x >= 2.0
        policy.observe(x, hg.Feedback(won, np.where(won, 2.0, np.nan)))

    def first_start(rows: Any, *rest: Any) -> Any:
        seen.append(rows)
        return rest[-1][0]

    monkeypatch.setattr(portfolio, "exchanged", first_start)
    policy.state.look = np.asarray(-1.0)
    policy.allocate(8.0)
    (rows,) = seen
    assert len(rows) == 8 * 40
    known = np.repeat(np.isfinite(policy.state.reach[:40]), len(rows) // 40, axis=0)
    off = np.log(rows[known] / 2.0)
    assert off.std() == pytest.approx(0.0 if whole else 0.3, rel=0.15)  # of 300 copies and more: three standard errors
    if whole:
        np.testing.assert_array_equal(rows[np.isfinite(rows)] % 1.0, 0.0)


def test_parts_of_a_round_are_one_round() -> None:
    policy = hg.Portfolio(hg.Exponential(), 2, 2.0, reward="cascade", memory=5, kinds=2)
    x = policy.allocate(2.0)
    policy.observe(x, hg.Feedback([True, False], [0.5, np.nan], [True, False]))
    assert policy.state.reported[0].tolist() == [True, False]
    policy.observe(x, hg.Feedback([False, True], [np.nan, np.nan], [False, True]))
    assert np.count_nonzero(policy.state.weight) == 1
    assert policy.state.reported[0].all()
    np.testing.assert_allclose(policy.state.reach[0], [0.5, x[1]])  # a success that does not tell: at what it got


def test_rounds_fade() -> None:
    policy = hg.Portfolio(hg.Exponential(), 2, 2.0, reward="cascade", memory=5, kinds=2, discount=0.5)
    for _ in range(3):
        x = policy.allocate(2.0)
        policy.observe(x, hg.Feedback([False, False], [np.nan, np.nan]))
    weights = np.sort(policy.state.weight[policy.state.weight > 0.0])
    np.testing.assert_allclose(weights[1:] / weights[:-1], 2.0)
