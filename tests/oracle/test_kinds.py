"""Rounds of hidden kinds: the search against brute force, the bound against everything."""

import itertools

import numpy as np
import pytest

import headgate as hg
from headgate.errors import UnsupportedError
from headgate.laws import Floats, Law
from headgate.problem import Reward

REWARDS: tuple[Reward, ...] = ("sum", "cascade")

LAWS: tuple[Law, ...] = (
    hg.Exponential(), hg.Weibull(3.0), hg.Weibull(0.6), hg.LogNormal(1.0), hg.Gamma(2.5), hg.Lomax(1.5),
    hg.LogLogistic(3.0), hg.Beta(0.5), hg.DiscreteWeibull(1.3),
)  # fmt: skip


def drawn(seed: int) -> tuple[hg.Problem, float]:
    """A problem of two or three kinds and arms; in a third of them arms that are never or always active."""
    rng = np.random.default_rng(seed)
    kinds, arms = rng.integers(2, 4), rng.integers(2, 4)
    law = LAWS[seed % len(LAWS)]
    p = rng.uniform(0.0, 1.0, (kinds, arms))
    if rng.random() < 0.3:
        p = np.where(rng.random(p.shape) < 0.4, 0.0, np.where(rng.random(p.shape) < 0.5, 1.0, p))
    rate = np.exp(rng.normal(0.0, 1.2, p.shape)) / (5.0 if law.integer else 1.0)
    share = rng.dirichlet(np.ones(kinds))
    budget = float(rng.integers(1, 20)) if law.integer else float(np.exp(rng.normal(0.3, 1.0)))
    return hg.Problem(law, p, rate, kinds=share), budget


def everything(problem: hg.Problem, budget: float) -> Floats:
    """Allocations of all of the budget on a grid."""
    cells = budget if problem.law.integer else 60 if problem.arms > 2 else 400
    grid = np.arange(cells + 1) * (budget / cells)
    rows = np.array([row for row in itertools.product(grid, repeat=problem.arms - 1) if sum(row) <= budget + 1e-9])
    return np.asarray(np.maximum(np.column_stack([rows, budget - rows.sum(axis=1)]), 0.0))


@pytest.mark.parametrize("reward", ["sum", "cascade"])
@pytest.mark.parametrize("seed", range(18))
def test_no_allocation_exceeds_the_bound_and_no_grid_point_the_value(seed: int, reward: Reward) -> None:
    problem, budget = drawn(seed)
    best = problem.solve(budget, reward=reward)
    worth = problem.expected_reward(everything(problem, budget), reward)
    assert worth.max() <= best.bound
    assert worth.max() <= best.value * (1.0 + 1e-6) + 1e-12
    np.testing.assert_allclose(problem.expected_reward(best.x, reward), best.value, rtol=1e-12)
    assert best.x.sum() <= budget
    assert best.gap <= (1e-5 if reward == "sum" and problem.law != hg.Beta(0.5) else 2e-3)
    if problem.law.integer:
        assert np.array_equal(best.x, np.floor(best.x))


def test_at_least_as_good_as_single_even_and_greedy_with_many_arms() -> None:
    rng = np.random.default_rng(5)
    for law in (hg.Exponential(), hg.Weibull(2.0), hg.LogNormal(1.5)):
        problem = hg.Problem(
            law, rng.uniform(0.0, 1.0, (4, 9)), np.exp(rng.normal(0.0, 1.5, (4, 9))), kinds=np.full(4, 0.25)
        )
        best = problem.solve(3.0, reward="cascade", max_nodes=1)
        single, even = 3.0 * np.eye(9), np.full(9, 1.0 / 3.0)
        x = np.zeros(9)
        for _ in range(120):  # greedy in steps
            x += 3.0 / 120 * np.eye(9)[np.argmax(problem.expected_reward(x + 3.0 / 120 * np.eye(9), "cascade"))]
        some = rng.dirichlet(np.full(9, 0.3), 20_000) * 3.0
        worth = problem.expected_reward(np.vstack([single, even, x, some]), "cascade")
        assert worth.max() <= best.value + 1e-9
        assert best.gap < 0.15


def test_limits_and_eligible_arms_are_kept() -> None:
    rng = np.random.default_rng(6)
    problem = hg.Problem(
        hg.Weibull(2.0), rng.uniform(0, 1, (3, 4)), np.exp(rng.normal(0, 1, (3, 4))), kinds=[0.2, 0.5, 0.3]
    )
    for reward in REWARDS:
        best = problem.solve(
            2.0, reward=reward, lower=[0.1, 0, 0, 0], upper=[np.inf, 0.4, 0.3, 5], eligible=[1, 1, 1, 0]
        )
        assert best.x[0] >= 0.1
        assert np.all(best.x[1:3] <= [0.4, 0.3])
        assert best.x[3] == 0.0
        grid = np.array([(2.0 - a - b, a, b, 0.0) for a in np.linspace(0, 0.4, 60) for b in np.linspace(0, 0.3, 60)])
        worth = problem.expected_reward(grid, reward).max()
        assert worth <= best.bound
        assert worth <= best.value * (1.0 + 1e-6)


def test_degenerate_kinds() -> None:
    p, rate = np.array([[0.9, 0.4], [0.2, 0.7]]), np.array([[1.0, 2.0], [0.5, 3.0]])
    both = hg.Problem(hg.Weibull(2.0), p, rate, kinds=[1.0, 0.0])
    alone = hg.Problem(hg.Weibull(2.0), p[0], rate[0])
    twice = hg.Problem(hg.Weibull(2.0), p[[0, 0]], rate[[0, 0]], kinds=[0.3, 0.7])
    for reward in REWARDS:
        expected = alone.solve(1.7, reward=reward)
        for problem in (both, twice, hg.Problem(hg.Weibull(2.0), p[:1], rate[:1], kinds=[1.0])):
            best = problem.solve(1.7, reward=reward)
            np.testing.assert_allclose(best.value, expected.value, rtol=1e-9)
            assert best.gap <= 1e-8
            assert best.assumes == "kinds"
    nothing = hg.Problem(hg.Exponential(), np.zeros((2, 2)), 1.0, kinds=[0.5, 0.5])
    assert nothing.solve(1.0, reward="cascade").value == nothing.solve(1.0, reward="cascade").bound == 0.0
    assert nothing.solve(0.0).value == 0.0
    half = hg.Problem(hg.Exponential(), [[0.0, 0.0], [0.6, 0.8]], 1.0, kinds=[0.5, 0.5])
    same = hg.Problem(hg.Exponential(), [0.6, 0.8], 1.0).solve(2.0, reward="cascade")
    best = half.solve(2.0, reward="cascade")
    np.testing.assert_allclose(best.value, 0.5 * same.value, rtol=1e-6)


def test_laws_of_their_own_in_each_kind_and_curves_by_points() -> None:
    measured = hg.laws.Points((0.0, 1.0, 2.0), (0.0, 0.1, 1.0))
    laws: list[list[Law]] = [[hg.Weibull(3.0), hg.Exponential()], [hg.LogNormal(0.5), measured]]
    problem = hg.Problem(laws, 0.9, [[1.0, 0.5], [2.0, 1.0]], kinds=[0.4, 0.6])
    best = problem.solve(2.5, reward="cascade")
    x = np.column_stack([np.linspace(0, 2.5, 2001), 2.5 - np.linspace(0, 2.5, 2001)])
    worth = problem.expected_reward(x, "cascade")
    by_hand = 0.4 * (1 - (1 - 0.9 * laws[0][0].cdf(x[:, 0], 1.0)) * (1 - 0.9 * laws[0][1].cdf(x[:, 1], 0.5)))
    by_hand += 0.6 * (1 - (1 - 0.9 * laws[1][0].cdf(x[:, 0], 2.0)) * (1 - 0.9 * laws[1][1].cdf(x[:, 1], 1.0)))
    np.testing.assert_allclose(worth, by_hand, rtol=1e-12)
    assert worth.max() <= best.bound
    assert worth.max() <= best.value * (1.0 + 1e-6)


def test_a_batch_is_its_rows() -> None:
    rng = np.random.default_rng(8)
    p, rate = rng.uniform(0, 1, (3, 2, 2)), np.exp(rng.normal(0, 1, (3, 2, 2)))
    batch = hg.Problem(hg.Gamma(2.0), p, rate, kinds=[0.4, 0.6])
    assert batch.batch == (3,)
    budgets = np.array([1.0, 2.0, 3.0])
    for reward in REWARDS:
        best = batch.solve(budgets, reward=reward)
        for row in range(3):
            one = hg.Problem(hg.Gamma(2.0), p[row], rate[row], kinds=[0.4, 0.6]).solve(budgets[row], reward=reward)
            np.testing.assert_array_equal(best.x[row], one.x)
            assert best.bound[row] == one.bound
        np.testing.assert_allclose(batch.expected_reward(best.x, reward), best.value, rtol=1e-12)


@pytest.mark.long
def test_more_programmes_close_the_gap() -> None:
    problem, budget = drawn(10)
    gaps = [float(problem.solve(budget, reward="cascade", max_nodes=n).gap) for n in (1, 33, 200)]
    assert gaps[0] >= gaps[1] >= gaps[2]


def test_what_takes_rounds_to_be_alike_is_refused() -> None:
    problem, _ = drawn(0)
    for call in (
        lambda: problem.live(1.0), lambda: problem.live_bound(1.0), lambda: problem.plan([1.0]),
        lambda: problem.budget_for(0.1), lambda: problem.solve(price=0.1),
        lambda: hg.theory.information_limit(problem, 1.0),
    ):  # fmt: skip
        with pytest.raises(UnsupportedError, match=r"kinds|alike"):
            call()
    bound = problem.live_bound(1.0, reward="cascade")  # until its end a cascade learns nothing
    assert bound.value == problem.solve(1.0, reward="cascade").bound
