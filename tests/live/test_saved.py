"""Live rounds as values: written in the middle and read elsewhere they go on to the bit; damaged ones are refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headgate as hg

WAYS: tuple[dict[str, Any], ...] = (
    {"budget": 9.0}, {"budget": None}, {"budget": [3.0, 6.0, 6.0, 11.0]}, {"budget": 9.0, "lookahead": True},
    {"budget": 9.0, "switching": False}, {"budget": 9.0, "reward": "cascade"}, {"budget": None, "reward": "cascade"},
    {"budget": [4.0, 8.0], "lookahead": True}, {"budget": 0.0},
)  # fmt: skip


@st.composite
def rounds(draw: Any) -> tuple[hg.LiveRound, np.random.Generator]:
    """A round of one to five arms, some in whole units, played in any of the ways."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    arms, way = draw(st.integers(1, 5)), dict(draw(st.sampled_from(WAYS)))
    laws = [hg.DiscreteWeibull(1.2) if rng.random() < 0.3 else hg.Weibull(rng.uniform(0.6, 4.0)) for _ in range(arms)]
    value = 1.0 if "reward" in way else rng.uniform(0.0, 2.0, arms)
    if draw(st.booleans()) and way["budget"] != 0.0:
        lower = np.where(rng.random(arms) < 0.5, 0.0, 0.9) if way.get("switching", True) else 0.0
        way |= {"lower": np.minimum(lower, 1.0), "upper": rng.uniform(1.0, 5.0, arms)}
    problem = hg.Problem(laws, rng.uniform(0.2, 1.0, arms), np.exp(rng.normal(-1.0, 0.7, arms)), value=value)
    return problem.live(**way), rng


@settings(max_examples=120, deadline=None, derandomize=True)
@given(rounds())
def test_a_round_read_again_goes_on_to_the_bit(begun: tuple[hg.LiveRound, np.random.Generator]) -> None:
    """Written after some steps and some reports; reports come in pieces, and some successes without a threshold."""
    live, rng = begun
    other = hg.LiveRound.from_json(live.to_json())
    for _ in range(300):
        if rng.random() < 0.5:
            other = hg.LiveRound.from_json(other.to_json())
        step = live.next()
        assert other.next() == step
        if rng.random() < 0.5:
            other = hg.LiveRound.from_json(other.to_json())
        if step is None:
            break
        share = rng.choice([0.3, 1.0])
        amount = step.amount * share if not live.whole[step.arm] else max(np.floor(step.amount * share), 1.0)
        spent = None if share == 1.0 and rng.random() < 0.3 else float(amount)
        won = bool(rng.random() < 0.2)
        for one in (live, other):
            one.report(success=won, spent=spent)
    else:
        for one in (live, other):
            one.stop()
    assert live.to_json() == other.to_json()
    np.testing.assert_array_equal(live.x, other.x)
    assert live.feedback == other.feedback


def middle(**way: Any) -> str:
    """A round after two steps, with a third asked for."""
    live = hg.Problem(hg.Weibull(2.0), [0.9, 0.6, 0.8], [0.5, 1.0, 0.2]).live(6.0, **way)
    for won in (False, True):
        step = live.next()
        assert step is not None
        live.report(success=won, spent=0.5 * step.amount)
    live.next()
    return live.to_json()


@pytest.mark.parametrize(
    "change",
    [
        {"spent": [1.0]}, {"spent": [1.0, 2.0, 99.0]}, {"spent": [-1.0, 0.0, 0.0]}, {"spent": ["a", 0.0, 0.0]},
        {"won": [1, 0, 0]}, {"won": [True]}, {"won": [True, True, True]}, {"told": [True, True]}, {"gone": 0.0},
        {"gone": None}, {"ended": "no"}, {"ended": True}, {"step": [7, 1.0]}, {"step": [0, -1.0]}, {"step": [0]},
        {"step": [0.5, 1.0]}, {"step": [0, 99.0]}, {"order": [0, 0]}, {"order": [5]}, {"order": "012"},
    ],
)  # fmt: skip
def test_what_no_round_can_have_come_to_is_refused(change: dict[str, Any]) -> None:
    data = json.loads(middle())
    with pytest.raises(hg.errors.InputError, match="no live round"):
        hg.LiveRound.from_json(json.dumps(data | {"state": data["state"] | change}))


def test_damaged_rounds_are_refused() -> None:
    data = json.loads(middle())
    changes: tuple[dict[str, Any], ...] = (
        {"version": 7}, {"state": {}}, {"state": 3}, {"x": [1.0]}, {"budget": -1.0}, {"upper": [1.0]},
        {"reward": "most"}, {"whole": "all"}, {"more": 1},
    )  # fmt: skip
    for change in changes:
        with pytest.raises(hg.errors.HeadgateError):
            hg.LiveRound.from_json(json.dumps(data | change))
    for text in ("{", "[]", "3", "null"):
        with pytest.raises(hg.errors.InputError):
            hg.LiveRound.from_json(text)
