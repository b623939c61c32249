"""What defines each baseline: the phases of RA-ETC, the optimism of CUCB, the thresholds of MARA, the even split."""

from __future__ import annotations

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


# -- MARA ----------------------------------------------------------------------------------------------------------


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
    mixed = Uniform([DiscreteWeibull(0.8), Exponential()], arms=2, max_budget=20.0)
    assert mixed.allocate(5.0).tolist() == [2.0, 2.5]


def test_the_oracle_plays_the_optimum_and_must_be_told_the_truth() -> None:
    law = Weibull(1.6)
    policy = Oracle(law, arms=10, max_budget=B, activation=PROBLEM.activation, rate=PROBLEM.rate)
    best = Problem(law, PROBLEM.activation, PROBLEM.rate).solve(17.0)
    assert np.array_equal(policy.allocate(17.0), best.x)
    with pytest.raises(ParameterError, match="Oracle needs activation, rate"):
        Oracle(law, arms=10, max_budget=B)  # type: ignore[call-arg]  # on purpose
