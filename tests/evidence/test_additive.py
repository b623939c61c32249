"""Evidence only ever adds up: order, place and batching do not change one bit of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import ParameterError, ShapeError
from headgate.evidence import Evidence, bin_edges
from headgate.feedback import Feedback
from headgate.laws import Floats

ARMS, LIMIT = 3, 40.0
EDGES = bin_edges(LIMIT).tolist()
Round = tuple[Floats, Feedback]

exact = settings(derandomize=True, max_examples=60, deadline=None)


@st.composite
def rounds(draw: st.DrawFn, most: int = 8) -> list[Round]:
    """Rounds that are as awkward as they can be: bin edges, nothing, everything, almost nothing, not reported."""
    amount = st.one_of(
        st.sampled_from([0.0, LIMIT, 1e-12, 5e-324, EDGES[1] / 3.0, *EDGES[1:], *np.nextafter(EDGES[1:], 0.0)]),
        st.floats(0.0, LIMIT),
    )
    played: list[Round] = []
    for _ in range(draw(st.integers(1, most))):
        x = np.array([draw(amount) for _ in range(ARMS)])
        state = np.array([draw(st.sampled_from("sqfn")) for _ in range(ARMS)])  # q: a success that does not tell where
        share = np.array([draw(st.sampled_from([0.0, 1e-7, 0.3, 1.0])) for _ in range(ARMS)])
        won = np.isin(state, ("s", "q")) & (x > 0.0)
        played.append((x, Feedback(won, np.where(won & (state == "s"), share * x, np.nan), reported=state != "n")))
    return played


def recorded(played: list[Round]) -> Evidence:
    evidence = Evidence.empty(ARMS, LIMIT)
    for x, feedback in played:
        evidence.record(x, feedback)
    return evidence


@exact
@given(rounds(), st.randoms(use_true_random=False))
def test_the_order_of_recording_does_not_matter(played: list[Round], random: Any) -> None:
    shuffled = played.copy()
    random.shuffle(shuffled)
    assert np.array_equal(recorded(played).bins, recorded(shuffled).bins)


@exact
@given(rounds(), rounds(), rounds())
def test_merging_equals_recording_in_one_place(first: list[Round], second: list[Round], third: list[Round]) -> None:
    a, b, c = recorded(first), recorded(second), recorded(third)
    whole = recorded(first + second + third).bins
    assert np.array_equal(a.merge(b).merge(c).bins, whole)
    assert np.array_equal(a.merge(b.merge(c)).bins, whole)
    assert np.array_equal(c.merge(a).merge(b).bins, whole)
    assert np.array_equal(a.bins, recorded(first).bins)  # merge leaves its parts alone


def test_sums_stay_exact_over_a_million_rounds() -> None:
    """Whole units below 2^53: the last addition is as exact as the first."""
    x = np.full(10**6, 40.0)
    one = Evidence.of_rows(np.zeros(x.size, dtype=np.int64), x, x < 0.0, x)
    part = Evidence.of_rows(np.zeros(10**5, dtype=np.int64), x[: 10**5], x[: 10**5] < 0.0, x[: 10**5])
    merged = part
    for _ in range(9):
        merged = merged.merge(part)
    assert np.array_equal(merged.bins, one.bins)
    assert one.trials[0] == 10**6


@exact
@given(rounds())
def test_size_does_not_change_with_the_rounds(played: list[Round]) -> None:
    assert recorded(played * 20).bins.nbytes == Evidence.empty(ARMS, LIMIT).bins.nbytes


@exact
@given(rounds(), st.floats(0.0, 1.0))
def test_json_is_exact(played: list[Round], factor: float) -> None:
    evidence = recorded(played)
    evidence.discount(factor)
    back = Evidence.from_dict(json.loads(json.dumps(evidence.to_dict(), allow_nan=False)))
    assert np.array_equal(back.bins, evidence.bins)
    assert np.array_equal(back.edges, evidence.edges)
    assert back.max_budget == evidence.max_budget


def test_json_of_a_batch_and_of_other_bins() -> None:
    evidence = Evidence.empty(2, 7.3, (3, 2))
    x = np.full((3, 2, 2), 1.7)
    evidence.record(x, Feedback(np.zeros(x.shape), np.full(x.shape, np.nan)))
    data = json.loads(json.dumps(evidence.to_dict()))
    back = Evidence.from_dict(data)
    assert back.batch == (3, 2)
    assert np.array_equal(back.bins, evidence.bins)
    with pytest.raises(ParameterError, match=r"bins \[4, 16\]"):
        Evidence.from_dict(data | {"bins": [4, 16]})


@exact
@given(rounds(), rounds())
def test_a_batch_row_equals_a_single_learner(first: list[Round], second: list[Round]) -> None:
    count = min(len(first), len(second))
    batch = Evidence.empty(ARMS, LIMIT, (2,))
    for (x, one), (y, other) in zip(first[:count], second[:count], strict=True):
        joined = [np.stack(pair) for pair in zip(_parts(one), _parts(other), strict=True)]
        batch.record(np.stack([x, y]), Feedback(*joined))
    assert np.array_equal(batch.bins[0], recorded(first[:count]).bins)
    assert np.array_equal(batch.bins[1], recorded(second[:count]).bins)


def _parts(feedback: Feedback) -> tuple[Any, Any, Any]:
    return feedback.success, feedback.threshold, feedback.reported


@exact
@given(rounds(most=3), st.lists(st.booleans(), min_size=ARMS, max_size=ARMS))
def test_feedback_in_parts_equals_feedback_at_once(played: list[Round], early: list[bool]) -> None:
    now = np.array(early)
    evidence = Evidence.empty(ARMS, LIMIT)
    for part in (now, ~now):  # all the early results first, the others much later
        for x, feedback in played:
            told = feedback.reported & part
            won = feedback.success & told
            evidence.record(x, Feedback(won, np.where(won, feedback.threshold, np.nan), told))
    assert np.array_equal(evidence.bins, recorded(played).bins)


@exact
@given(rounds(), st.lists(st.booleans(), min_size=ARMS, max_size=ARMS))
def test_arms_that_are_not_counted_add_nothing(played: list[Round], who: list[bool]) -> None:
    counted = np.array(who)
    evidence = Evidence.empty(ARMS, LIMIT)
    for x, feedback in played:
        evidence.record(x, feedback, counted)
    assert np.array_equal(evidence.bins, np.where(counted[:, None, None, None], recorded(played).bins, 0.0))


def test_discount_fades_everything_alike() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(0.0, LIMIT, (50, ARMS))
    evidence = recorded([(row, Feedback(row > 20.0, np.where(row > 20.0, row / 2.0, np.nan))) for row in x])
    before = evidence.copy()
    evidence.discount(0.25)
    assert np.array_equal(evidence.trials, before.trials / 4.0)
    assert np.array_equal(evidence.means("seen"), before.means("seen"))
    evidence.discount(1.0)
    assert np.array_equal(evidence.successes, before.successes / 4.0)
    evidence.discount(0.0)
    assert not evidence.bins.any()
    for wrong in (-0.1, 1.5, np.nan):
        with pytest.raises(ParameterError, match="discount"):
            evidence.discount(wrong)


def test_merge_refuses_other_arms_and_budgets() -> None:
    for other in (Evidence.empty(4, LIMIT), Evidence.empty(ARMS, 41.0), Evidence.empty(ARMS, LIMIT, (2,))):
        with pytest.raises(ShapeError, match="merges only"):
            Evidence.empty(ARMS, LIMIT).merge(other)
