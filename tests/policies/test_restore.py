"""Damaged JSON is refused by name, and what the constructor accepts can be saved."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import headgate as hg


def written() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(hg.Thompson(hg.Exponential(), 3, 9.0).to_json())
    return data


def test_a_numpy_count_of_arms_can_be_saved() -> None:
    policy = hg.Thompson(hg.Exponential(), arms=int(np.int64(3)), max_budget=9.0)
    counted = hg.Thompson(hg.Exponential(), np.int64(3), 9.0)  # type: ignore[arg-type]  # NumPy's integers count too
    assert counted.to_json() == policy.to_json()


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("round",), "z"),
        (("round",), 1.5),
        (("round",), -5),
        (("arms",), 4),
        (("evidence", "max_budget"), 5.0),
        (("state", "memory"), 0),
        (("state", "prior"), None),
    ],
)
def test_damaged_json_is_refused(where: tuple[str, ...], value: object) -> None:
    data = written()
    place = data
    for key in where[:-1]:
        place = place[key]
    place[where[-1]] = value
    with pytest.raises(hg.errors.InputError, match="damaged"):
        hg.load_policy(json.dumps(data))


def test_what_is_not_feedback_is_refused_and_what_cannot_pour_says_so() -> None:
    for policy in (hg.Thompson(hg.Exponential(), 3, 9.0), hg.MARA(hg.Exponential(), 3, 9.0)):
        before = policy.to_json()
        with pytest.raises(hg.errors.FeedbackError, match=r"headgate\.Feedback"):
            policy.observe([1.0, 1.0, 1.0], None)  # type: ignore[arg-type]  # on purpose
        assert policy.to_json() == before
    with pytest.raises(hg.errors.UnsupportedError, match="cannot pour"):
        hg.Uniform(hg.Exponential(), 3, 9.0).pour()
