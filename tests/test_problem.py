"""A problem is validated once; its rewards, marginals and rounds agree with the law."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import headgate as hg
from headgate.errors import (
    AllocationError,
    BudgetError,
    InputError,
    ParameterError,
    ShapeError,
    UnknownArmError,
)

NAN = float("nan")
LAWS = [
    hg.Exponential(),
    hg.Weibull(shape=(0.7, 1.6, 2.5)),
    hg.DiscreteWeibull(shape=1.3),
    [hg.LogNormal(0.8), hg.DiscreteWeibull(0.9), hg.Gamma(2.0)],
]


def three(law: Any, activation: Any = (0.9, 0.5, 0.2), rate: Any = (0.1, 0.4, 0.2)) -> hg.Problem:
    return hg.Problem(law, activation, rate)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"activation": [0.5, 1.1, 0.2]},
            ParameterError,
            r"activation must be within \[0, 1\], got 1.1 at index 1",
        ),
        ({"activation": [0.5, NAN, 0.2]}, ParameterError, "activation .* got nan at index 1"),
        ({"activation": [-0.1, 0.5, 0.5]}, ParameterError, "activation .* got -0.1"),
        ({"activation": [0.5, 0.5]}, ShapeError, r"same number of arms.* activation \(2,\), rate \(3,\)"),
        ({"activation": "high"}, ParameterError, "activation must be a number"),
        ({"rate": [1.0, 0.0, 1.0]}, ParameterError, "rate must be finite and > 0, got 0.0 at index 1"),
        ({"rate": [1.0, np.inf, 1.0]}, ParameterError, "rate .* got inf"),
        ({"rate": []}, ShapeError, "at least 1"),
        ({"rate": 1.0, "activation": 0.5}, ShapeError, "at least 1"),
        ({"rate": np.ones((2, 3)), "activation": np.ones((4, 3))}, ShapeError, "batch axes"),
        ({"law": hg.Weibull(shape=(1.0, 2.0))}, ShapeError, r"law \(2,\)"),
        ({"law": [hg.Exponential()] * 2}, ShapeError, r"law \(2,\)"),
        ({"law": "weibull"}, ParameterError, "law must be a law"),
        ({"names": ["a", "b"]}, ShapeError, "3 names, one for each arm, got 2"),
        ({"names": ["a", "b", "a"]}, ParameterError, "'a' twice"),
        ({"names": ["a", "", "c"]}, ParameterError, "names must be text"),
        ({"names": "abc"}, ParameterError, "names must be text"),
    ],
)
def test_bad_parameters_are_named(arguments: dict[str, Any], error: type[InputError], message: str) -> None:
    good: dict[str, Any] = {"law": hg.Exponential(), "activation": [0.5] * 3, "rate": [1.0] * 3}
    with pytest.raises(error, match=message):
        hg.Problem(**good | arguments)


@pytest.mark.parametrize("method", ["expected_reward", "success_probability", "marginal", "play"])
@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        ([1.0, NAN, 1.0], AllocationError, "finite and >= 0, got nan at index 1"),
        ([1.0, -1.0, 1.0], AllocationError, "got -1.0 at index 1"),
        ([1.0, 1.0, np.inf], AllocationError, "got inf at index 2"),
        ([1.0, 1.0], ShapeError, r"3 arms on its last axis, got shape \(2,\)"),
        (1.0, ShapeError, r"3 arms on its last axis, got shape \(\)"),
        (np.ones((5, 3)), ShapeError, r"shape \(5, 3\) does not fit a batch of shape \(2,\)"),
    ],
)
def test_bad_allocations_are_named(method: str, x: Any, error: type[InputError], message: str) -> None:
    problem = three(hg.Exponential(), rate=np.ones((2, 3)))
    rng = np.random.default_rng(0)
    with pytest.raises(error, match=message):
        getattr(problem, method)(x, *([rng] if method == "play" else []))
    assert rng.random() == np.random.default_rng(0).random(), "a refused call must not use randomness"


@pytest.mark.parametrize("budget", [-1.0, NAN, np.inf])
def test_bad_budgets_are_named(budget: float) -> None:
    with pytest.raises(BudgetError, match="budget must be finite and >= 0"):
        three(hg.Exponential()).solve(budget)


def test_other_bad_arguments_are_named() -> None:
    problem = three(hg.Exponential())
    with pytest.raises(UnknownArmError, match="there is no arm 'x': the 3 arms are arm0, arm1, arm2"):
        problem.arm("x")
    with pytest.raises(ParameterError, match="reward must be one of sum, cascade, got 'max'"):
        problem.expected_reward([1.0] * 3, "max")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"rng must be a numpy.random.Generator, got 3"):
        problem.play([1.0] * 3, 3)  # type: ignore[arg-type]


def test_a_problem_is_a_value() -> None:
    p = np.array([0.9, 0.5, 0.2])
    problem = three(hg.Exponential(), activation=p)
    p[0] = 0.0
    assert problem == three(hg.Exponential())
    assert problem != three(hg.Weibull(2.0))
    assert problem != "problem"
    assert pickle.loads(pickle.dumps(problem)) == problem  # noqa: S301  # our own bytes
    assert (problem.arms, problem.batch, problem.names) == (3, (), ("arm0", "arm1", "arm2"))
    assert three(hg.Exponential(), rate=np.ones((4, 1, 3))).batch == (4, 1)
    with pytest.raises(ValueError, match="read-only"):
        problem.rate[0] = 1.0
    with pytest.raises(AttributeError):
        problem.rate = p  # type: ignore[misc]


def test_the_law_is_kept_in_its_simplest_form() -> None:
    many = [hg.Weibull(1.2), hg.Weibull(1.6), hg.Weibull(2.0)]
    assert three(many).law == hg.Weibull(shape=(1.2, 1.6, 2.0))
    assert three([hg.Weibull(1.2)] * 3).law == three(hg.Weibull((1.2, 1.2, 1.2))).law == hg.Weibull(1.2)
    mixed = [hg.Weibull(1.2), hg.Exponential(), hg.Exponential()]
    assert three(mixed).law == hg.laws.PerArm(tuple(mixed))
    assert repr(three(hg.Weibull(1.2))) == "Problem(Weibull(shape=1.2), arms=3)"
    assert repr(hg.datasets.ednet_quiz()) == "Problem(Weibull(...), arms=20)"
    ten = hg.Problem([hg.Exponential(), hg.Weibull(2.0)] * 5, 0.5, np.ones((2, 10)))
    assert repr(ten) == "Problem(<per-arm, one per arm>, arms=10, batch=(2,))"


@pytest.mark.parametrize("law", LAWS)
def test_rewards_follow_from_the_law_arm_by_arm(law: Any) -> None:
    x = np.random.default_rng(1).uniform(0.0, 20.0, (5, 3))
    x[0] = 0.0
    problem = three(law)
    laws = law if isinstance(law, list) else [law] * 3
    for row, amounts in enumerate(x):
        success = [
            p * float(np.broadcast_to(one.cdf(amount, rate), 3)[i])
            for i, (one, p, rate, amount) in enumerate(
                zip(laws, problem.activation, problem.rate, amounts, strict=True)
            )
        ]
        assert np.allclose(problem.success_probability(x)[row], success, rtol=1e-14)
        assert np.isclose(problem.expected_reward(x)[row], sum(success), rtol=1e-14)
        fails = (1 - success[0]) * (1 - success[1]) * (1 - success[2])
        assert np.isclose(problem.expected_reward(x, "cascade")[row], 1 - fails, rtol=1e-13)
        assert np.array_equal(problem.expected_reward(amounts), problem.expected_reward(x)[row])
        assert np.array_equal(problem.marginal(amounts, "cascade"), problem.marginal(x, "cascade")[row])


def test_a_cascade_with_a_sure_arm_is_sure() -> None:
    problem = hg.Problem(hg.Beta(c=1.0), activation=[1.0, 0.5], rate=2.0)
    assert problem.expected_reward([1.0, 0.5], "cascade") == 1.0
    assert problem.marginal([1.0, 0.5], "cascade")[1] == 0.0


@given(st.sampled_from(["sum", "cascade"]), st.lists(st.floats(0.1, 30.0), min_size=3, max_size=3))
def test_marginals_are_the_slopes_of_the_reward(reward: Any, x: list[float]) -> None:
    problem = three([hg.Weibull(1.6), hg.Exponential(), hg.LogNormal(0.5)])
    step = 1e-6 * np.diag(x)
    slopes = (problem.expected_reward(x + step, reward) - problem.expected_reward(x - step, reward)) / (
        2.0 * np.diag(step)
    )
    assert np.allclose(problem.marginal(x, reward), slopes, rtol=1e-5, atol=1e-9)


def test_the_marginal_of_whole_thresholds_is_the_next_unit_and_of_a_dead_arm_nothing() -> None:
    problem = three(hg.DiscreteWeibull(0.8), activation=[0.9, 0.5, 0.0])
    more = problem.success_probability([3.0, 1.0, 1.0]) - problem.success_probability([2.0, 0.0, 0.0])
    assert np.allclose(problem.marginal([2.7, 0.2, 0.0]), more, rtol=1e-12)
    steep = three(hg.Weibull(0.5), activation=[0.9, 0.5, 0.0]).marginal([0.0, 1.0, 0.0])
    assert steep[0] == np.inf
    assert steep[2] == 0.0


@pytest.mark.parametrize("law", LAWS)
def test_play_has_the_right_probabilities(law: Any) -> None:
    """Each of 3 frequencies within 5.5 standard errors, each KS p-value above 1e-7: fails once in 1e6."""
    rounds, x = 200_000, np.array([7.5, 3.2, 4.0])
    problem = three(law)
    seen = problem.play(np.tile(x, (rounds, 1)), np.random.default_rng(7))
    expected = problem.success_probability(x)
    error = np.sqrt(expected * (1.0 - expected) / rounds)
    assert np.all(np.abs(seen.success.mean(axis=0) - expected) <= 5.5 * error)
    reach = problem.law.cdf(x, problem.rate)
    for arm in range(3):
        thresholds = seen.threshold[seen.success[:, arm], arm]
        if np.all(thresholds == np.floor(thresholds)):  # whole: compare the counts of 1, 2, ...
            grid = np.zeros((int(x[arm]) + 1, 3))
            grid[:, arm] = np.arange(len(grid))
            share = np.diff(problem.law.cdf(grid, problem.rate)[:, arm]) / reach[arm]
            counts = np.bincount(thresholds.astype(int), minlength=len(grid))[1:]
            assert stats.chisquare(counts, share * len(thresholds)).pvalue > 1e-7
        else:
            spread = np.zeros((len(thresholds), 3))
            spread[:, arm] = thresholds
            uniform = problem.law.cdf(spread, problem.rate)[:, arm] / reach[arm]
            assert stats.kstest(uniform, "uniform").pvalue > 1e-7


@given(st.integers(0, 2**32), st.lists(st.floats(0.0, 10.0), min_size=6, max_size=6))
def test_the_world_does_not_depend_on_the_allocation(seed: int, amounts: list[float]) -> None:
    problem = three(hg.Weibull(1.6))
    less = np.array(amounts[:3])
    more = less + np.array(amounts[3:])
    few = problem.play(less, np.random.default_rng(seed))
    many = problem.play(more, np.random.default_rng(seed))
    assert np.all(few.success <= many.success)
    assert np.array_equal(few.threshold[few.success], many.threshold[few.success])
    few.check(less)
    many.check(more)


def test_whole_thresholds_count_an_allocation_up_to_its_floor() -> None:
    problem = three(hg.DiscreteWeibull(1.2))
    floor, above = (problem.play(np.full((500, 3), amount), np.random.default_rng(3)) for amount in (2.0, 2.999))
    assert floor == above


def test_nothing_is_won_with_nothing_even_where_thresholds_underflow() -> None:
    problem = three(hg.Gamma(0.002), activation=1.0)
    assert not problem.play(np.zeros((2_000, 3)), np.random.default_rng(0)).success.any()
    seen = problem.play(np.full((2_000, 3), 1e-300), np.random.default_rng(0))
    assert seen.success.any()
    assert (seen.threshold[seen.success] > 0.0).all()


@pytest.mark.parametrize("reward", ["sum", "cascade"])
def test_solve_returns_what_its_allocation_is_worth(reward: Any) -> None:
    problem = three(hg.Weibull(1.6), rate=[[0.1, 0.4, 0.2], [0.3, 0.1, 0.1]])
    best = problem.solve([20.0, 10.0], reward=reward, lower=[0.0, 0.0, 1.0], upper=[np.inf, 5.0, 9.0])
    assert np.allclose(best.value, problem.expected_reward(best.x, reward), rtol=1e-12)
    assert np.all(best.gap <= 1e-9)
    assert np.all(best.x.sum(axis=-1) <= np.array([20.0, 10.0]) * (1 + 1e-12))
    assert np.all(best.x[:, 2] >= 1.0)
