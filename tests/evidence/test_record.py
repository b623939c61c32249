"""Where a value goes, what a log becomes, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headgate.errors import AllocationError, BudgetError, FeedbackError, InputError, ShapeError, UnknownArmError
from headgate.evidence import Evidence, bin_edges
from headgate.feedback import Feedback

NAN = float("nan")


def one_failure(x: float, max_budget: float = 40.0) -> Evidence:
    evidence = Evidence.empty(1, max_budget)
    evidence.record([x], Feedback([False], [NAN]))
    return evidence


@pytest.mark.parametrize("max_budget", [40.0, 1.0, 694.86, 1e-9, 3e12])
def test_each_edge_opens_its_bin(max_budget: float) -> None:
    edges = bin_edges(max_budget)
    assert np.allclose(edges[1:-1] / edges[2:], 2.0 ** (-1 / 8), rtol=1e-14)
    assert edges[-1] * 2.0 ** (1 / 8) == pytest.approx(max_budget, rel=1e-14)
    for j, edge in enumerate(edges[1:], start=1):
        assert one_failure(edge, max_budget).counts("failed")[0, j] == 1.0
        below = np.nextafter(edge, 0.0)
        assert one_failure(below, max_budget).counts("failed")[0, j - 1] == 1.0
    assert one_failure(max_budget, max_budget).counts("failed")[0, -1] == 1.0


def test_the_mean_of_a_bin_is_kept_to_one_in_a_million() -> None:
    rng = np.random.default_rng(0)
    edges = bin_edges(40.0)
    x = np.geomspace(edges[1], 40.0, 500) * rng.uniform(0.999, 1.0, 500)
    x = x[x >= edges[1]]
    for value in x:
        evidence = one_failure(value)
        mean = evidence.means("failed")
        assert mean[mean > 0.0] == pytest.approx(value, rel=2.0**-20)


def test_values_below_the_lowest_bin_share_it() -> None:
    evidence = Evidence.empty(1, 40.0)
    edge = evidence.edges[1]
    for share in (0.9, 0.5, 1e-9):
        evidence.record([share * edge], Feedback([False], [NAN]))
    assert evidence.counts("failed")[0, 0] == 3.0
    assert evidence.means("failed")[0, 0] == pytest.approx(1.4 / 3.0 * edge, rel=1e-5)


def test_an_arm_that_got_nothing_tells_nothing() -> None:
    evidence = Evidence.empty(2, 40.0)
    evidence.record([0.0, 5.0], Feedback([False, True], [NAN, 5.0]))  # a threshold may equal the allocation
    assert evidence.trials.tolist() == [0.0, 1.0]
    assert evidence.successes.tolist() == [0.0, 1.0]


def test_counts_add_up() -> None:
    rng = np.random.default_rng(5)
    evidence = Evidence.empty(4, 10.0, (3,))
    for _ in range(100):
        x = rng.uniform(0.0, 10.0, (3, 4))
        won = rng.random((3, 4)) < 0.4
        evidence.record(x, Feedback(won, np.where(won, x * rng.random((3, 4)), NAN)))
    assert np.array_equal(evidence.trials, np.full((3, 4), 100.0))
    assert np.array_equal(evidence.successes + evidence.counts("failed").sum(axis=-1), evidence.trials)


REFUSED: list[tuple[Any, Any, type[InputError], str]] = [
    ([1.0, -2.0], None, AllocationError, "-2"),
    ([1.0, NAN], None, AllocationError, "nan"),
    ([1.0, np.inf], None, AllocationError, "inf"),
    ([1.0, 40.2], None, AllocationError, "max_budget 40, got 40.2"),
    ([1.0, "much"], None, AllocationError, "much"),
    ([1.0, 2.0, 3.0], None, ShapeError, "shape"),
    ([[1.0, 2.0]], None, ShapeError, "shape"),
    (3.0, None, ShapeError, "shape"),
    ([0.4, 2.0], None, FeedbackError, "arm 0 succeeded with threshold 0.5 above its allocation 0.4"),
    ([0.0, 2.0], Feedback([True, False], [0.0, NAN]), FeedbackError, "arm 0 succeeded with nothing"),
    ([0.0, 2.0], Feedback([True, False], [NAN, NAN]), FeedbackError, "a success needs an allocation above 0"),
    ([1.0, 2.0, 3.0], Feedback([True, False, False], [0.5, NAN, NAN]), ShapeError, "shape"),
]


@pytest.mark.parametrize(("x", "feedback", "error", "words"), REFUSED)
def test_bad_input_is_named_and_changes_nothing(x: Any, feedback: Any, error: type[InputError], words: str) -> None:
    evidence = Evidence.empty(2, 40.0)
    good = Feedback([True, False], [0.5, NAN])
    evidence.record([1.0, 2.0], good)
    before = evidence.bins.copy()
    with pytest.raises(error, match=words):
        evidence.record(x, feedback or good)
    assert np.array_equal(evidence.bins, before)


def test_counted_of_another_shape_is_refused() -> None:
    evidence = Evidence.empty(2, 40.0)
    with pytest.raises(ShapeError, match="counted"):
        evidence.record([1.0, 2.0], Feedback([False, False], [NAN, NAN]), np.ones((3, 2), dtype=np.bool_))
    assert not evidence.bins.any()


def test_any_memory_layout_is_recorded() -> None:
    """Views, read-only and Fortran-ordered arrays; and evidence that is itself a view of one arm."""
    rng = np.random.default_rng(2)
    x = rng.uniform(0.0, 40.0, (6, 4))
    won = x > 20.0
    seen = np.where(won, x / 3.0, NAN)
    plain = Evidence.empty(4, 40.0, (6,))
    plain.record(x, Feedback(won, seen))
    turned = Evidence.empty(4, 40.0, (6,))
    frozen = np.asfortranarray(x)
    frozen.flags.writeable = False
    turned.record(frozen, Feedback(np.asfortranarray(won), np.asfortranarray(seen)))
    assert np.array_equal(plain.bins, turned.bins)
    skipping = Evidence.empty(4, 40.0, (6,))
    for arm in range(4):
        one = slice(arm, arm + 1)
        skipping.only(arm).record(x[:, one], Feedback(won[:, one], seen[:, one]))
    assert np.array_equal(plain.bins, skipping.bins)
    some = Evidence.empty(4, 40.0, (6,))
    for arms in (slice(0, 3), slice(3, 4)):  # the rows of the first view do not follow each other in memory
        Evidence(40.0, some.bins[:, arms], some.edges).record(x[:, arms], Feedback(won[:, arms], seen[:, arms]))
    assert np.array_equal(plain.bins, some.bins)


@pytest.mark.parametrize("limit", [0.0, -1.0, NAN, np.inf])
def test_max_budget_must_be_positive_and_finite(limit: float) -> None:
    with pytest.raises(BudgetError, match="max_budget"):
        Evidence.empty(2, limit)


def test_there_must_be_arms() -> None:
    with pytest.raises(ShapeError, match="at least 1"):
        Evidence.empty(0, 1.0)


def test_a_log_equals_its_rounds() -> None:
    rng = np.random.default_rng(3)
    arm, x = rng.integers(0, 3, 200), rng.uniform(0.0, 40.0, 200)
    won = rng.random(200) < 0.5
    seen = x * rng.random(200)
    evidence = Evidence.empty(3, 40.0)
    for who, amount, success, threshold in zip(arm, x, won, seen, strict=True):
        this = np.arange(3) == who
        row = Feedback(this & success, np.where(this & success, threshold, NAN), this)
        evidence.record(np.where(this, amount, 0.0), row)
    logged = Evidence.of_rows(arm, x, won, seen, arms=3, max_budget=40.0)
    assert np.array_equal(logged.bins, evidence.bins)
    assert Evidence.of_rows(arm, x, won.astype(int).tolist(), seen).max_budget == x.max()


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        (([0, 3], [1.0, 1.0], [False, False], [NAN, NAN]), UnknownArmError, "row 1: arm 3 is not one of the 2"),
        (([0, -1], [1.0, 1.0], [False, False], [NAN, NAN]), UnknownArmError, "row 1: arm -1"),
        (([0.5], [1.0], [False], [NAN]), UnknownArmError, "whole number"),
        (([0], [-1.0], [False], [NAN]), AllocationError, "-1"),
        (([0], [40.2], [False], [NAN]), AllocationError, "row 0: x 40.2"),
        (([0], [0.0], [True], [NAN]), FeedbackError, "allocation above 0"),
        (([0], [1.0], [True], [1.5]), FeedbackError, "threshold 1.5 and x 1.0"),
        (([0], [1.0], [2], [0.5]), FeedbackError, "true or false"),
        (([0, 1], [1.0], [False], [NAN]), ShapeError, "one length"),
    ],
)
def test_a_bad_row_is_named(rows: tuple[Any, ...], error: type[InputError], words: str) -> None:
    with pytest.raises(error, match=words):
        Evidence.of_rows(*rows, arms=2, max_budget=40.0)
