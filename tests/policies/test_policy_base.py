"""What all policies share: validation at the edge, and JSON that says what is wrong with it."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from headgate.errors import BudgetError, InputError, ParameterError, ShapeError
from headgate.feedback import Feedback
from headgate.laws import DiscreteWeibull, Exponential, Law, Weibull
from headgate.oracle import solve
from headgate.policies import POLICIES, RAUCB, ExploreThenCommit, Oracle, Uniform, load_policy
from headgate.testing import MakePolicy


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"arms": 0}, ParameterError, "arms must be a whole number of at least 1, got 0"),
        ({"arms": 2.5}, ParameterError, "arms must be a whole number"),
        ({"max_budget": -1.0}, BudgetError, "max_budget must be finite and > 0, got -1.0"),
        ({"seed": -1}, ParameterError, "seed must be a whole number >= 0"),
        ({"seed": 0.5}, ParameterError, "seed must be a whole number >= 0"),
        ({"discount": 0.0}, ParameterError, "discount"),
        ({"discount": 1.5}, ParameterError, "discount"),
        ({"reward": "product"}, ParameterError, "reward must be one of sum, cascade"),
        ({"lower": [5.0, 5.0, 5.0]}, BudgetError, "the lower limits need 15"),
        ({"upper": [1.0, 2.0]}, ShapeError, "upper must be one number or one for each of 3 arms"),
        ({"upper": [[1.0] * 3] * 2}, ShapeError, r"one for each of 3 arms, got \(2, 3\)"),
        ({"law": Weibull((1.0, 2.0))}, ShapeError, "does not fit 3 arms"),
        ({"patience": 3}, ParameterError, "does not take patience: its options are law, arms, max_budget, seed"),
        ({"rounds": 9}, ParameterError, "does not take rounds"),
        ({"rate_range": (1.0, 2.0)}, ParameterError, "does not take rate_range"),
        ({"value": [1.0, -1.0, 1.0]}, ParameterError, "value must be finite and >= 0, got -1.0 at index 1"),
        ({"value": [1.0, 2.0]}, ShapeError, "value must be one number or one for each of 3 arms"),
        ({"value": 2.0, "reward": "cascade"}, ParameterError, "one success is as good as another"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    make: MakePolicy = Uniform
    with pytest.raises(error, match=message):
        make(**({"law": Exponential(), "arms": 3, "max_budget": 10.0} | options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "rounds must be a whole number of at least 1, got 0"),
        ({"rounds": "many"}, "rounds must be a whole number"),
        ({"rate_range": (2.0, 1.0)}, "low < high"),
        ({"rate_range": (1.0, 2.0, 3.0)}, "low < high"),
        ({"estimator": "wild"}, "estimator must be one of paper, corrected, likelihood"),
    ],
)
@pytest.mark.parametrize("policy", [RAUCB, ExploreThenCommit])
def test_wrong_horizons_and_ranges_are_named(policy: MakePolicy, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        policy(**({"law": Exponential(), "arms": 3, "max_budget": 10.0, "rounds": 50} | options))


def test_json_that_is_not_a_policy_is_refused() -> None:
    text = Uniform(Exponential(), arms=3, max_budget=10.0).to_json()
    assert isinstance(load_policy(text), Uniform)
    data = json.loads(text)
    for change, message in (
        ({"version": 99}, "format 99"),
        ({"policy": "oracle-of-delphi"}, "unknown policy 'oracle-of-delphi'"),
        ({"state": {}}, "damaged"),
    ):
        with pytest.raises(InputError, match=message):
            load_policy(json.dumps(data | change))
    with pytest.raises(InputError, match="not a policy's JSON"):
        load_policy("{}")
    with pytest.raises(InputError, match="not a policy's JSON"):
        load_policy("pickle")


@pytest.mark.parametrize("seed", [0, [0, 1]])
@pytest.mark.parametrize("law", [Exponential(), DiscreteWeibull(0.8)])
def test_no_budget_above_the_largest_is_accepted(law: Law, seed: Any) -> None:
    """Not by a millionth; but what rounding adds is."""
    policy = Uniform(law, arms=3, max_budget=12.0, seed=seed)
    for more in (1.01, 1.000001):
        with pytest.raises(BudgetError, match="budget must not exceed max_budget 12, got 12"):
            policy.allocate(12.0 * more)
    policy.allocate(12.0 * (1.0 + 1e-15))


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        ({"eligible": [True, False]}, ShapeError, "eligible must be one number or one for each of 3 arms"),
        ({"eligible": [True, False, 2]}, ParameterError, "eligible must be true or false for each arm"),
        ({"lower": [0.0, 1.0, 0.0], "eligible": [True, False, True]}, BudgetError, "0 for arms that are not eligible"),
        ({"lower": [9.0, 9.0, 0.0]}, BudgetError, "the lower limits need 18, more than the budget 10"),
        ({"lower": 2.0, "upper": 1.0}, BudgetError, "lower must not exceed upper, got lower 2 > upper 1 for arm 0"),
        ({"upper": [5.0, 0.5, 5.0]}, BudgetError, "got lower 1 > upper 0.5 for arm 1"),
        ({"value": [1.0, -2.0, 1.0]}, ParameterError, "value must be finite and >= 0, got -2.0 at index 1"),
        ({"value": [[1.0] * 3] * 2}, ShapeError, "value must be one number or one for each of 3 arms"),
    ],
)
def test_what_a_round_may_not_ask_is_named(ask: dict[str, Any], error: type[Exception], message: str) -> None:
    policy = Uniform(Exponential(), arms=3, max_budget=10.0, lower=[0.0, 1.0, 0.0])
    before = policy.to_json()
    with pytest.raises(error, match=message):
        policy.allocate(10.0, **ask)
    assert policy.to_json() == before


def test_an_arm_that_is_not_eligible_is_owed_nothing() -> None:
    policy = Uniform(Exponential(), arms=3, max_budget=10.0, lower=[0.0, 4.0, 0.0])
    assert policy.allocate(3.0, eligible=[True, False, True]).tolist() == [1.5, 0.0, 1.5]
    with pytest.raises(BudgetError, match="the lower limits need 4"):
        policy.allocate(3.0)


@pytest.mark.parametrize("law", [Exponential(), Weibull(1.6)])
def test_values_weigh_successes(law: Law) -> None:
    """The truth played with values is the optimum of the weighted sum, for one round or for all."""
    p, rate, value = np.array([0.9, 0.5, 0.7]), np.array([0.3, 0.8, 0.5]), np.array([1.0, 3.0, 0.5])
    best = solve(law, p * value, rate, 9.0).x
    plain = Oracle(law, arms=3, max_budget=9.0, activation=p, rate=rate)
    assert plain.allocate(9.0, value=value) == pytest.approx(best)
    assert plain.allocate(9.0) == pytest.approx(solve(law, p, rate, 9.0).x)  # that was for the round alone
    valued = Oracle(law, arms=3, max_budget=9.0, activation=p, rate=rate, value=value)
    assert valued.allocate(9.0) == pytest.approx(best)
    assert valued.allocate(9.0, value=1.0) == pytest.approx(plain.allocate(9.0))
    with pytest.raises(ParameterError, match="one success is as good as another"):
        Oracle(law, arms=3, max_budget=9.0, activation=p, rate=rate, reward="cascade").allocate(9.0, value=value)


def test_help_names_every_option_with_its_meaning() -> None:
    for policy in POLICIES.values():
        for option in inspect.signature(policy).parameters:
            assert re.search(rf"^(\w+, )?{option}(, \w+)? : ", policy.__doc__ or "", re.MULTILINE), (policy, option)


def test_a_configuration_does_not_change() -> None:
    policy = Uniform(Exponential(), arms=3, max_budget=10.0)
    with pytest.raises(FrozenInstanceError):
        policy.max_budget = 20.0  # type: ignore[misc]  # on purpose
    assert repr(policy) == "Uniform(law=Exponential(), arms=3, max_budget=10.0)"
    assert repr(Uniform(Exponential(), 2, 4.0, lower=[1.0, 0.0])).endswith("max_budget=4.0, lower=[1.0, 0.0])")


def test_every_policy_has_a_name_of_its_own() -> None:
    assert all(policy.name == name for name, policy in POLICIES.items())
    assert len({policy.__name__ for policy in POLICIES.values()}) == len(POLICIES)


def test_of_what_an_arm_was_given_its_whole_units_count() -> None:
    """2.7 calls are 2 calls, for an arm that counts them; an arm beside it that measures time got all of its 2.7."""
    policy, twin = (Uniform([DiscreteWeibull(0.8), Exponential()], 2, 10.0) for _ in range(2))
    policy.observe([2.7, 2.7], Feedback([False, False], [np.nan, np.nan]))
    twin.observe([2.0, 2.7], Feedback([False, False], [np.nan, np.nan]))
    assert policy.to_json() == twin.to_json()
    assert policy.evidence.means("failed").max(axis=-1) == pytest.approx([2.0, 2.7], rel=1e-5)
