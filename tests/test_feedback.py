"""Feedback is validated once, and checked against the allocation it answers."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from headgate import Feedback
from headgate.errors import AllocationError, FeedbackError, ShapeError

NAN = float("nan")


@given(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4), st.data())
def test_any_consistent_feedback_is_accepted_kept_and_fits_its_allocation(
    shape: tuple[int, ...], data: st.DataObject
) -> None:
    x = data.draw(hnp.arrays(np.float64, shape, elements=st.floats(0.0, 1e6)))
    success = data.draw(hnp.arrays(np.bool_, shape)) & (x > 0.0)
    share = data.draw(hnp.arrays(np.float64, shape, elements=st.floats(0.0, 1.0)))
    told = success & data.draw(hnp.arrays(np.bool_, shape))
    seen = Feedback(success, np.where(told, share * x, NAN))
    assert np.array_equal(seen.check(x), x)
    assert np.array_equal(seen.reward, success.sum(axis=-1))
    assert seen.reported.all()
    assert np.array_equal(np.isnan(seen.threshold), ~told)
    assert pickle.loads(pickle.dumps(seen)) == seen  # noqa: S301  # our own bytes


@pytest.mark.parametrize(
    ("success", "threshold", "message"),
    [
        ([False, False], [NAN, 3.0], "arm 1 did not succeed but has threshold 3.0"),
        ([True], [-1.0], "arm 0 has threshold -1.0: it must be finite and >= 0"),
        ([True], [np.inf], "arm 0 has threshold inf"),
        ([[True, True], [True, True]], [[1.0, 1.0], [1.0, -2.0]], "arm 1 of batch row 1"),
        ([2], [1.0], "success must be true or false"),
        (["yes"], [1.0], "success must be true or false"),
        ([NAN], [1.0], "success must be true or false"),
        ([True], ["much"], "threshold must be an array of numbers"),
    ],
)
def test_contradictions_are_refused(success: Any, threshold: Any, message: str) -> None:
    with pytest.raises(FeedbackError, match=message):
        Feedback(success, threshold)


@pytest.mark.parametrize(
    ("success", "threshold", "reported"),
    [([True, False], [1.0], True), (True, 1.0, True), ([True, False], [1.0, NAN], [True])],
)
def test_shapes_must_agree(success: Any, threshold: Any, reported: Any) -> None:
    with pytest.raises(ShapeError, match="one shape"):
        Feedback(success, threshold, reported)


def test_a_threshold_above_its_allocation_names_arm_value_and_rule() -> None:
    seen = Feedback([[False, True], [True, True]], [[NAN, 1.0], [2.0, 3.5]])
    seen.check([[0.0, 1.0], [2.0, 3.5]])  # a threshold may equal its allocation
    message = r"arm 1 of batch row 1 succeeded with threshold 3.5 above its allocation 3.0: .* threshold <= allocation"
    with pytest.raises(FeedbackError, match=message):
        seen.check([[0.0, 1.0], [2.0, 3.0]])


@pytest.mark.parametrize("x", [[NAN, 1.0], [-1.0, 1.0], [np.inf, 1.0]])
def test_the_allocation_itself_is_checked(x: list[float]) -> None:
    with pytest.raises(AllocationError, match=r"finite and >= 0, got .* at index 0"):
        Feedback([False, True], [NAN, 1.0]).check(x)


def test_an_allocation_of_another_shape_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"shape \(2,\) cannot answer an allocation of shape \(3,\)"):
        Feedback([False, True], [NAN, 1.0]).check([1.0, 1.0, 1.0])


def test_an_arm_may_not_have_reported_yet() -> None:
    seen = Feedback([True, False, False], [1.0, NAN, NAN], reported=[True, True, False])
    assert seen.reported.tolist() == [True, True, False]
    assert seen != Feedback([True, False, False], [1.0, NAN, NAN])
    with pytest.raises(FeedbackError, match="arm 0 succeeded but is marked as not reported"):
        Feedback([True], [1.0], reported=[False])


def test_feedback_is_a_copy_that_cannot_be_written_to() -> None:
    success, threshold = np.array([True, False]), np.array([1.0, NAN])
    seen = Feedback(success, threshold)
    success[0], threshold[0] = False, 9.0
    assert seen == Feedback([1, 0], [1.0, NAN])
    assert seen != "feedback"
    with pytest.raises(ValueError, match="read-only"):
        seen.threshold[0] = 2.0
