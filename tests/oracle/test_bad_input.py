"""Every wrong value raises the right error, which names the value and the rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headgate as hg
from headgate.errors import BudgetError, HeadgateError, ParameterError, ShapeError

GOOD: dict[str, Any] = {"law": hg.Weibull(1.5), "weight": [0.5, 0.2], "rate": [1.0, 2.0], "budget": 3.0}
WRONG: list[tuple[dict[str, Any], type[HeadgateError], str]] = [
    ({"law": "weibull"}, ParameterError, "law must be a law.*'weibull'"),
    ({"law": None}, ParameterError, "law must be a law.*None"),
    ({"law": []}, ParameterError, "must not be empty"),
    ({"law": hg.Weibull([1.0, 2.0, 3.0])}, ShapeError, "does not fit 2 arms"),
    ({"law": [hg.Exponential()]}, ShapeError, "does not fit 2 arms"),
    ({"weight": [0.5, np.nan]}, ParameterError, "weight must be finite and >= 0, got nan at index 1"),
    ({"weight": [-0.5, 0.1]}, ParameterError, "weight must be finite and >= 0, got -0.5 at index 0"),
    ({"weight": [0.5, np.inf]}, ParameterError, "weight must be finite and >= 0, got inf"),
    ({"weight": ["a", 1.0]}, ParameterError, "weight must be a number or an array"),
    ({"weight": 0.5}, ShapeError, r"one axis of arms, got shapes \(\) and \(2,\)"),
    ({"weight": [0.5]}, ShapeError, r"got shapes \(1,\) and \(2,\)"),
    ({"weight": [], "rate": []}, ShapeError, "does not fit 0 arms"),
    ({"weight": [0.5, 1.5], "reward": "cascade"}, ParameterError, r"weight must be within \[0, 1\], got 1.5"),
    ({"rate": [0.0, 1.0]}, ParameterError, "rate must be finite and > 0, got 0.0 at index 0"),
    ({"rate": [1.0, -2.0]}, ParameterError, "rate must be finite and > 0, got -2.0"),
    ({"rate": [1.0, np.nan]}, ParameterError, "got nan"),
    ({"rate": [1.0, np.inf]}, ParameterError, "got inf"),
    ({"rate": 1.0}, ShapeError, "one axis of arms"),
    ({"rate": [1.0, 2.0, 3.0]}, ShapeError, r"\(2,\) and \(3,\)"),
    ({"weight": np.ones((3, 2)), "rate": np.ones((4, 2))}, ShapeError, r"broadcast, got \(3,\), \(4,\)"),
    ({"budget": -1.0}, BudgetError, "budget must be finite and >= 0, got -1.0"),
    ({"budget": np.nan}, BudgetError, "got nan"),
    ({"budget": np.inf}, BudgetError, "got inf"),
    ({"budget": "much"}, BudgetError, "budget must be a number"),
    ({"budget": None}, BudgetError, "budget must be"),
    ({"budget": [1.0, 2.0, -3.0]}, BudgetError, "got -3.0 at index 2"),
    ({"weight": np.ones((3, 2)), "budget": np.ones(4)}, ShapeError, r"broadcast, got \(3,\), \(\), \(4,\)"),
    ({"lower": -0.1}, BudgetError, "lower must be finite and >= 0, got -0.1"),
    ({"lower": np.inf}, BudgetError, "lower must be finite"),
    ({"lower": [0.1, np.nan]}, BudgetError, "got nan at index 1"),
    ({"lower": [0.1, 0.1, 0.1]}, ShapeError, "lower must be one number or one for each of 2 arms"),
    ({"lower": 2.0}, BudgetError, "lower limits need 4, more than the budget 3"),
    ({"upper": -1.0}, BudgetError, "upper must be >= 0, got -1.0"),
    ({"upper": [1.0, np.nan]}, BudgetError, "got nan"),
    ({"upper": [1.0]}, ShapeError, "upper must be one number or one for each of 2 arms"),
    ({"lower": [0.0, 1.0], "upper": 0.5}, BudgetError, "lower 1 > upper 0.5 for arm 1"),
    ({"lower": np.zeros((3, 2)), "budget": [1.0, 2.0]}, ShapeError, "broadcast"),
    ({"reward": "both"}, ParameterError, "reward must be one of sum, cascade, got 'both'"),
    ({"tol": -1e-9}, ParameterError, "tol must be finite and >= 0, got -1e-09"),
    ({"tol": np.nan}, ParameterError, "tol must be finite"),
    ({"tol": "tight"}, ParameterError, "tol must be finite and >= 0, got 'tight'"),
    ({"max_nodes": 0}, ParameterError, "max_nodes must be a whole number and at least 1, got 0"),
    ({"max_nodes": 2.5}, ParameterError, "got 2.5"),
    (
        {"law": hg.DiscreteWeibull(), "lower": [0.2, 0.0], "upper": [0.8, 5.0]},
        BudgetError,
        "no whole-number allocation",
    ),
    ({"law": hg.DiscreteWeibull(), "lower": [1.4, 1.4]}, BudgetError, "no whole-number allocation"),
    (
        {"law": [hg.DiscreteWeibull(), hg.Exponential()], "lower": [1.5, 1.4]},
        BudgetError,
        "whole numbers to the integer arms",
    ),
]


@pytest.mark.parametrize(
    ("change", "error", "message"), WRONG, ids=[f"{i}-{next(iter(c))}" for i, (c, _, _) in enumerate(WRONG)]
)
def test_a_wrong_value_is_named(change: dict[str, Any], error: type[HeadgateError], message: str) -> None:
    with pytest.raises(error, match=message):
        hg.solve(**(GOOD | change))


def test_errors_are_value_errors_too() -> None:
    with pytest.raises(ValueError, match="budget"):
        hg.solve(**(GOOD | {"budget": -1.0}))


def test_the_input_is_left_alone() -> None:
    weight, rate, upper = np.array([0.5, 0.2]), np.array([1.0, 2.0]), np.array([1.0, np.inf])
    before = weight.copy(), rate.copy(), upper.copy()
    hg.solve(hg.Weibull(1.5), weight, rate, 2.0, upper=upper)
    for array, copy in zip((weight, rate, upper), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("law", [hg.Exponential(), hg.Weibull(2.0), hg.DiscreteWeibull(2.0)], ids=str)
def test_lists_integers_and_odd_strides_are_read(law: hg.laws.Law) -> None:
    plain = hg.solve(law, [1.0, 0.0, 1.0], [1.0, 2.0, 3.0], 4.0)
    strided = np.arange(1.0, 7.0).reshape(3, 2)[:, 0] * 0.5 + 0.5
    assert strided.tolist() == [1.0, 2.0, 3.0]
    odd = hg.solve(law, [1, 0, 1], np.asfortranarray(np.stack([strided, strided]).T)[:, 0], 4)
    np.testing.assert_array_equal(plain.x, odd.x)
