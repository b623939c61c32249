"""What defines each baseline: the phases of RA-ETC, the optimism of CUCB, the thresholds of MARA, the even split."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from headgate.datasets.paper import saved_instance
from headgate.errors import BudgetError, ParameterError
from headgate.feedback import Feedback
from headgate.kernels.cells import best_cells
from headgate.laws import DiscreteWeibull, Exponential, Weibull
from headgate.oracle import Limits, solve
from headgate.policies import CUCB, MARA, ExploreThenCommit, Oracle, Uniform
from headgate.policies.mara import ThresholdState
from headgate.policies.uniform import _level
from headgate.problem import Problem

B = 40.0
PROBLEM = saved_instance()


# -- explore then commit -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["paper", "corrected", "likelihood"])
def test_it_explores_in_turn_then_commits_for_ever(estimator: str) -> None:
    policy = ExploreThenCommit(Exponential(), arms=10, max_budget=B, rounds=1000, estimator=estimator)  # type: ignore[arg-type]  # a Literal
    rng = np.random.default_rng(0)
    for t in range(100):  # 1000^(2/3)
        x = policy.allocate(B)
        assert x.tolist() == [B if arm == t % 10 else 0.0 for arm in range(10)]
        policy.observe(x, PROBLEM.play(x, rng))
    committed = policy.allocate(B)
    for _ in range(30):
        policy.observe(committed, PROBLEM.play(committed, rng))
        assert np.array_equal(policy.allocate(B), committed)
    # Another budget: the optimum for the same estimates.
    frozen = solve(Exponential(), policy.state.activation_hat, policy.state.rate_hat, 0.5 * B).x
    assert policy.allocate(0.5 * B) == pytest.approx(frozen)
    # Everything was on one arm, where the paper's estimator is consistent: about 9 plays, most of them successes.
    lost = PROBLEM.solve(B).value - PROBLEM.expected_reward(committed)
    assert lost < 0.5 * (PROBLEM.solve(B).value - PROBLEM.expected_reward(np.full(10, B / 10.0)))


# -- CUCB ----------------------------------------------------------------------------------------------------------


@given(
    worth=hnp.arrays(np.float64, (3, 5), elements=st.floats(0.0, 1.0)),
    most=hnp.arrays(np.int64, 3, elements=st.integers(0, 4)),
    budget=st.integers(0, 8),
)
def test_the_best_cells_are_those_that_enumeration_finds(worth: np.ndarray, most: np.ndarray, budget: int) -> None:
    cells = best_cells(worth, most, budget)
    ways = (c for c in product(*(range(m + 1) for m in most)) if sum(c) <= budget)
    best = max(sum(worth[i, c[i]] for i in range(3)) for c in ways)
    assert np.all(cells <= most)
    assert cells.sum() <= budget
    assert sum(worth[i, cells[i]] for i in range(3)) == pytest.approx(best)


def test_unplayed_cells_are_taken_for_sure_and_bounds_hold() -> None:
    problem = Problem(Exponential(), [0.8, 0.5, 0.3], [0.5, 0.2, 1.0])
    policy, rng = CUCB(Exponential(), arms=3, max_budget=10.0, rounds=1000), np.random.default_rng(0)
    assert policy.width == pytest.approx(1.0)
    assert policy.allocate(10.0) == pytest.approx([1.0, 1.0, 1.0])  # the cheapest cells: each is believed to be worth 1
    wrong, lost, best = 0, [], problem.solve(10.0).value
    truth = problem.activation[:, None] * problem.law.cdf(np.arange(11.0), problem.rate[:, None])
    for _ in range(3000):
        x = policy.allocate(10.0)
        lost.append(best - problem.expected_reward(x))
        policy.observe(x, problem.play(x, rng))
        wrong += int(np.any(policy.upper_bounds(policy.state)[:, 1:] < truth[:, 1:] - 1e-9))
    # mean + sqrt(3 ln t / 2n) fails with probability t^-3 for each cell.
    assert wrong <= 6
    assert policy.state.played.sum() == 3 * 3000
    assert np.mean(lost[-500:]) < 0.6 * np.mean(lost[:500])


def test_cucb_says_what_it_needs() -> None:
    with pytest.raises(ParameterError, match="CUCB needs the horizon or the width"):
        CUCB(Exponential(), arms=3, max_budget=10.0)
    assert CUCB(DiscreteWeibull(0.8), arms=3, max_budget=10.0).width == 1.0
    assert CUCB(Exponential(), arms=3, max_budget=10.0, step=2.5).start().played.shape == (3, 5)
    with pytest.raises(BudgetError, match="step must be whole"):
        CUCB(DiscreteWeibull(0.8), arms=3, max_budget=10.0, step=1.5)


def test_bounds_on_a_cell_by_hand() -> None:
    """mean + sqrt(3 ln t / 2n) in round t = 61: 10 of 50, 3 of 20, 1 of 2 (more than 1 is 1), and no play."""
    policy = CUCB(Exponential(), arms=1, max_budget=4.0, step=1.0)
    state = replace(policy.start(), round=60)
    state.played[0], state.succeeded[0] = [0.0, 50.0, 20.0, 2.0, 0.0], [0.0, 10.0, 3.0, 1.0, 0.0]
    bounds = policy.upper_bounds(state)[0]
    assert bounds == pytest.approx([1.0, 0.551178324965, 0.705261685886, 1.0, 1.0], abs=1e-12)


def test_cells_are_counted_where_they_are_and_fade() -> None:
    policy = CUCB(Exponential(), arms=2, max_budget=4.0, step=1.0, discount=0.5, lower=[0.5, 0.0])
    state = policy.absorb(policy.start(), [2.4, 1.6], Feedback([True, False], [1.0, np.nan]))
    assert state.played.tolist() == [[0.0, 0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0]]
    assert state.succeeded.tolist() == [[0.0, 0.0, 1.0, 0.0, 0.0], [0.0] * 5]
    _, state = policy.decide(state, policy.ask(4.0))
    assert state.played[:, 2].tolist() == [0.5, 0.5]
    assert state.succeeded[:, 2].tolist() == [0.5, 0.0]
    assert state.evidence.trials.tolist() == [0.5, 0.5]


def test_cells_of_a_round_begin_at_its_lower_limits() -> None:
    """The bound of a cell is that of its amount, wherever this round's cells begin."""
    policy = CUCB(Exponential(), arms=2, max_budget=4.0, step=1.0)
    state = replace(policy.start(), round=60)
    state.played[...] = 1e9
    state.succeeded[...] = 1e9 * np.array([[0.0, 0.1, 0.2, 0.9, 0.9], [0.0, 0.3, 0.35, 0.4, 0.4]])
    assert policy.decide(state.copy(), policy.ask(3.0))[0].tolist() == [3.0, 0.0]
    assert policy.decide(state.copy(), policy.ask(3.0, lower=[0.0, 1.0]))[0].tolist() == [2.0, 1.0]
    assert policy.decide(state.copy(), policy.ask(4.0, lower=[0.0, 1.0]))[0].tolist() == [3.0, 1.0]
    assert policy.decide(state.copy(), policy.ask(3.0, value=[0.1, 1.0]))[0].tolist() == [0.0, 3.0]


# -- MARA ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_on_its_own_model_mara_finds_the_thresholds() -> None:
    nu, budget, runs = np.array([1.0, 2.0, 3.0, 5.0, 8.0]), 7.0, 10
    policy = MARA(Exponential(), arms=5, max_budget=budget, seed=np.arange(runs))
    rng, best = np.random.default_rng(0), 3.0 + 1.0 / 5.0
    lost, held = [], []
    for _ in range(6000):
        x = policy.allocate(budget)
        chance = np.minimum(1.0, x / nu)
        lost.append(best - chance.sum(axis=-1))
        success = rng.random(x.shape) < chance
        policy.observe(x, Feedback(success, np.where(success, 0.5 * x, np.nan)))
        low, high = policy.bounds(policy.state)
        held.append(np.mean((low <= nu) & (nu <= high)))
    per_round = [float(np.mean(part)) for part in np.split(np.array(lost), [100, 1000, 3000])]
    assert per_round[1] < 0.5 * per_round[0]
    assert per_round[2] < 0.5 * per_round[1]
    assert per_round[3] < 0.6 * per_round[2]
    assert np.mean(held) > 0.99
    # Cheapest first, the fourth gets the rest, the fifth nothing.
    assert np.mean(x, axis=0) == pytest.approx([1.0, 2.0, 3.0, 1.0, 0.0], abs=0.35)


def learned(policy: MARA) -> ThresholdState:
    """An arm past its start, in round 18, with sum w success = 30, sum w x = 60 and w of at most 2."""
    state = replace(policy.start(), round=18)
    state.failed[:], state.trial[:], state.weighted[:], state.spent[:], state.heaviest[:] = True, 0.5, 30.0, 60.0, 2.0
    return state


def test_bounds_on_nu_by_hand() -> None:
    """log = 3 ln 20 - ln .5 = 9.6803; Bernstein solved for the mean: 60 / 74.41 and 60 / 9.784."""
    policy = MARA(Exponential(), arms=1, max_budget=10.0, delta=0.5)
    low, high = policy.bounds(learned(policy))
    assert low.item() == pytest.approx(0.80635517953, abs=1e-11)
    assert high.item() == pytest.approx(6.13273241641, abs=1e-11)
    start = policy.start()  # nothing is known but what the start may try
    assert [float(b[0]) for b in policy.bounds(start)] == [10.0, np.inf]


def test_a_round_weighs_what_it_proves_and_fades() -> None:
    """At x = 2 and nu <= 6.1327 a round weighs 1 / (1 - 2 / 6.1327) = 1.4839."""
    policy = MARA(Exponential(), arms=1, max_budget=10.0, delta=0.5, discount=0.5)
    state = policy.absorb(learned(policy), [2.0], Feedback([True], [1.0]))
    assert state.weighted.item() == pytest.approx(30.0 + 1.48394132464, abs=1e-10)
    assert state.spent.item() == pytest.approx(60.0 + 2.0 * 1.48394132464, abs=1e-10)
    assert state.heaviest.item() == 2.0
    _, after = policy.decide(state.copy(), policy.ask(10.0))
    assert after.weighted.item() == pytest.approx(state.weighted.item() / 2.0)
    assert after.spent.item() == pytest.approx(state.spent.item() / 2.0)
    assert after.evidence.trials.item() == 0.5


def test_the_start_halves_until_it_fails() -> None:
    policy = MARA(Exponential(), arms=2, max_budget=8.0)
    state = policy.start()
    x, state = policy.decide(state, policy.ask(8.0))
    assert x == pytest.approx([4.0, 4.0])
    state = policy.absorb(state, [4.0, 4.0], Feedback([True, False], [1.0, np.nan]))
    assert state.trial.tolist() == [2.0, 4.0]
    assert state.failed.tolist() == [False, True]
    assert not state.spent.any()  # the start is for the trial alone


def test_the_dearest_are_served_first() -> None:
    """In order of nu / value: nu 1, 2, 3 at values 1, 1, 6."""
    policy = MARA(Exponential(), arms=3, max_budget=4.0)
    state = policy.start()
    state.trial[:] = [1.0, 2.0, 3.0]
    assert policy.decide(state.copy(), policy.ask(4.0))[0] == pytest.approx([1.0, 2.0, 1.0])
    assert policy.decide(state.copy(), policy.ask(4.0, value=[1.0, 1.0, 6.0]))[0] == pytest.approx([1.0, 0.0, 3.0])


# -- the even split and the truth ----------------------------------------------------------------------------------


@given(
    lower=hnp.arrays(np.float64, (2, 5), elements=st.floats(0.0, 2.0)),
    width=hnp.arrays(np.float64, (2, 5), elements=st.floats(0.0, 9.0)),
    extra=hnp.arrays(np.float64, 2, elements=st.floats(0.0, 30.0)),
)
@settings(deadline=None)
def test_one_level_spends_the_budget(lower: np.ndarray, width: np.ndarray, extra: np.ndarray) -> None:
    budget, upper = lower.sum(axis=-1) + extra, lower + width
    x = np.clip(_level(Limits(budget, lower, upper, free=False))[..., None], lower, upper)
    assert x.sum(axis=-1) == pytest.approx(np.minimum(budget, upper.sum(axis=-1)))


def test_whole_units_are_split_as_evenly_as_they_can() -> None:
    policy = Uniform(DiscreteWeibull(0.8), arms=4, max_budget=20.0)
    assert policy.allocate(10.5).tolist() == [3.0, 3.0, 2.0, 2.0]
    assert policy.allocate(3.0).tolist() == [1.0, 1.0, 1.0, 0.0]
    assert policy.allocate(9.5, lower=[2.0, 0.0, 0.0, 0.0], upper=[2.0, 9.0, 9.0, 3.0]).tolist() == [2.0, 3.0, 2.0, 2.0]
    assert policy.allocate(11.0, eligible=[True, False, True, True]).tolist() == [4.0, 0.0, 4.0, 3.0]
    mixed = Uniform([DiscreteWeibull(0.8), Exponential()], arms=2, max_budget=20.0)
    assert mixed.allocate(5.0).tolist() == [2.0, 2.5]


def test_the_oracle_plays_the_optimum_and_must_be_told_the_truth() -> None:
    law = Weibull(1.6)
    policy = Oracle(law, arms=10, max_budget=B, activation=PROBLEM.activation, rate=PROBLEM.rate)
    best = Problem(law, PROBLEM.activation, PROBLEM.rate).solve(17.0)
    assert np.array_equal(policy.allocate(17.0), best.x)
    with pytest.raises(ParameterError, match="Oracle needs activation, rate"):
        Oracle(law, arms=10, max_budget=B)  # type: ignore[call-arg]  # on purpose


def test_the_remarks_exploration_is_that_long_for_each_arm() -> None:
    policy = ExploreThenCommit(Exponential(), arms=3, max_budget=40.0, rounds=1000, per_arm=True)
    assert policy.exploration == 300
    assert ExploreThenCommit(Exponential(), arms=3, max_budget=40.0, rounds=1000).exploration == 100
    x = np.stack([policy.allocate(40.0) for _ in range(300)])
    assert np.array_equal(x.sum(axis=0), [4000.0] * 3)
    with pytest.raises(ParameterError, match="per_arm"):
        ExploreThenCommit(Exponential(), arms=3, max_budget=40.0, rounds=1000, per_arm=2)  # type: ignore[arg-type]  # that is the point
