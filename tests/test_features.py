"""Named features: rows of numbers, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headgate import Features
from headgate.errors import FeatureError, ParameterError

KNOWN = Features(numbers=["age"], categories={"job": ["cook", "nurse"]}, logs=["debt"], missing=["debt", "job"])


def test_records_columns_and_rows_are_the_same() -> None:
    records = [
        {"age": 30, "job": "nurse", "debt": -np.expm1(1.0)},
        {"age": 20.5, "job": None},
        {"age": 1, "debt": 0, "job": "pilot"},
    ]
    rows = KNOWN.rows(records)
    assert KNOWN.names == ("age", "log debt", "debt missing", "job=cook", "job=nurse", "job missing")
    expected: Any = [[30, -1, 0, 0, 1, 0], [20.5, np.nan, 1, 0, 0, 1], [1, 0, 0, 0, 0, 0]]
    assert np.allclose(rows, expected, equal_nan=True)
    columns = {name: [record.get(name) for record in records] for name in KNOWN.columns}
    assert np.array_equal(KNOWN.rows(columns), rows, equal_nan=True)
    assert np.array_equal(KNOWN.rows(rows), rows, equal_nan=True)
    assert np.array_equal(KNOWN.rows(records[0]), rows[0])
    assert Features.from_dict(KNOWN.to_dict()) == KNOWN


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ({"job": "cook"}, "age is missing"),
        ({"age": np.nan, "job": "cook"}, "age is missing"),
        ({"age": 3, "job": 7}, "job must be a category, text such as 'cook', got 7"),
        ({"age": "old"}, "age must be a number .* got 'old'"),
        ({"age": np.inf}, "age must be a number"),
        ({"age": [1], "job": "cook"}, "must all be lists"),
        ({"age": 3, "height": 2}, "height was not declared"),
        (7, "records"),
        ("age", "records"),
        ([7], "must be a mapping"),
    ],
)
def test_wrong_records_are_named(record: Any, complaint: str) -> None:
    with pytest.raises(FeatureError, match=complaint):
        KNOWN.rows(record)


def test_rows_that_were_made_are_checked() -> None:
    with pytest.raises(FeatureError, match="6 numbers"):
        KNOWN.rows(np.zeros((2, 5)))
    with pytest.raises(FeatureError, match="age must be a finite number"):
        KNOWN.rows(np.array([[np.nan, 0, 0, 0, 0, 0]]))


@pytest.mark.parametrize(
    "options",
    [{}, {"numbers": "age"}, {"numbers": ["a", "a"]}, {"numbers": ["a"], "logs": ["a"]},
     {"numbers": ["a"], "missing": ["b"]}, {"categories": ["a"]}, {"categories": {"a": [1, 2]}}, {"numbers": [3]}],
)  # fmt: skip
def test_declarations_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Features(**options)
