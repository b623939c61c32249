"""What all policies share: validation at the edge, and JSON that says what is wrong with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headgate.errors import BudgetError, InputError, ParameterError, ShapeError
from headgate.laws import Exponential, Weibull
from headgate.policies import POLICIES, RAUCB, ExploreThenCommit, Uniform, load_policy
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


def test_every_policy_has_a_name_of_its_own() -> None:
    assert all(policy.name == name for name, policy in POLICIES.items())
    assert len({policy.__name__ for policy in POLICIES.values()}) == len(POLICIES)
