"""RA-UCB does what the paper's extended pseudocode says, and pays what the paper's constants cost."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.bench.paper_reference import PaperRAUCB
from headgate.datasets.paper import saved_instance
from headgate.errors import ParameterError
from headgate.feedback import Feedback
from headgate.laws import Exponential, Floats
from headgate.policies import MGUCB, RAUCB, Greedy, Policy

B = 40.0
PROBLEM = saved_instance()


def regret(policy: Policy, rounds: int, seed: int = 0) -> Floats:
    """The expected regret of each run of a batch, round by round: (rounds, runs)."""
    rng, best = np.random.default_rng(seed), PROBLEM.solve(B).value
    lost = np.empty((rounds, *policy.batch))
    for t in range(rounds):
        x = policy.allocate(B)
        lost[t] = best - PROBLEM.expected_reward(x)
        policy.observe(x, PROBLEM.play(x, rng))
    return lost


@pytest.mark.parametrize(("scale", "tolerance"), [(1.0, 1e-6), (1e-6, 1e-4)])
def test_allocations_are_those_of_the_pseudocode(scale: float, tolerance: float) -> None:
    # Evidence is kept in bins an eighth of an octave wide and rounded to 2^-20 of their edge, so estimates differ by
    # up to 1e-4 of themselves; where radii clip to the whole range none of that is left.
    rng, rounds = np.random.default_rng(3), 300
    policy = RAUCB(Exponential(), arms=10, max_budget=B, rounds=rounds, scale=scale)
    paper = PaperRAUCB(rounds, 10, B, scale=scale)
    worst = 0.0
    for _ in range(rounds):
        x = policy.allocate(B)
        worst = max(worst, float(np.max(np.abs(x - paper.allocate()))))
        feedback = PROBLEM.play(x, rng)
        policy.observe(x, feedback)
        paper.observe(x.tolist(), feedback)
    assert worst <= tolerance * B, worst
    assert policy.evidence.successes.tolist() == paper.n


def test_the_initial_phase_gives_everything_to_each_arm_in_turn() -> None:
    policy = RAUCB(Exponential(), arms=3, max_budget=B, rounds=100)  # floor(log 100) = 4
    for t in range(12):
        x = policy.allocate(B)
        assert x.tolist() == [B if arm == t // 4 else 0.0 for arm in range(3)]
        policy.observe(x, Feedback([False] * 3, [np.nan] * 3))
    assert policy.evidence.trials.tolist() == [4.0, 4.0, 4.0]


def test_only_the_boosted_arm_is_updated() -> None:
    policy = RAUCB(Exponential(), arms=10, max_budget=B, rounds=1000, scale=1e-6)
    rng, initial = np.random.default_rng(1), 6 * 10
    for t in range(200):
        before = policy.evidence.trials.copy()
        x = policy.allocate(B)
        policy.observe(x, PROBLEM.play(x, rng))
        arm = t // 6 if t < initial else (t - initial) % 10
        changed = np.flatnonzero(policy.evidence.trials != before)
        assert changed.tolist() in ([arm], [])


def test_a_boost_is_counted_once_however_its_answer_arrives() -> None:
    policy = RAUCB(Exponential(), arms=10, max_budget=B, rounds=1000, scale=1e-6)
    rng, waiting = np.random.default_rng(1), []
    for _ in range(60 + 50):
        x = policy.allocate(B)
        waiting.append((x, PROBLEM.play(x, rng)))
    for late in rng.permutation(len(waiting)):
        policy.observe(*waiting[late])
    assert np.all(policy.evidence.trials <= 6 + 5)
    assert policy.evidence.trials.sum() + policy.state.owed.sum() <= 60 + 50
    assert np.all(policy.evidence.trials >= 6)


@pytest.mark.long
def test_as_written_regret_is_linear_and_with_small_radii_it_is_not() -> None:
    rounds, seeds = 2000, np.arange(15)
    written, small = (
        regret(RAUCB(Exponential(), arms=10, max_budget=B, rounds=rounds, scale=scale, seed=seeds), rounds)
        for scale in (1.0, 1e-6)
    )
    # Every interval is clipped to its full range, so the run does not depend on chance at all: about 3.49 a round.
    per_round = written[-1000:].mean()
    assert per_round == pytest.approx(3.49, abs=0.05)
    assert written[:1000].mean() == pytest.approx(per_round, abs=0.1)
    assert small.sum(axis=0).mean() < 0.1 * written.sum(axis=0).mean()
    assert small[-200:].mean() < 0.1  # a round; the standard error of these figures is below 3%


def test_greedy_has_no_radii() -> None:
    policy = Greedy(Exponential(), arms=10, max_budget=B, rounds=1000)
    regret(policy, 300)
    rate_low, rate_high, p_low, p_high = policy.state.bounds
    assert np.array_equal(rate_low, rate_high)
    assert np.array_equal(p_low, p_high)


@pytest.mark.parametrize("policy", [RAUCB, MGUCB, Greedy])
def test_the_horizon_is_asked_for(policy: type[Policy]) -> None:
    with pytest.raises(ParameterError, match=f"{policy.__name__} needs rounds: give rounds="):
        policy(Exponential(), arms=3, max_budget=B)
