"""Feedback: what one round told about each arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Self

import numpy as np

from headgate import checks
from headgate.errors import AllocationError, FeedbackError, ShapeError
from headgate.names import place_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Feedback:
    """Which arms succeeded, and the threshold of each that did.

    The last axis is arms; leading axes are a batch. An arm is in one of four states: a success with its threshold;
    a success of which only that is known (bids, doses); a failure, about which nothing more is known; not reported yet,
    about which nothing is.

    Parameters
    ----------
    success
        True where the allocation reached the threshold of an active arm: (..., K).
    threshold
        The threshold of each success, finite and >= 0, or nan where it was not told; nan elsewhere.
    reported
        False where the answer has not arrived; by default every arm has reported.

    Examples
    --------
    >>> seen = Feedback(success=[True, False], threshold=[2.5, float("nan")])
    >>> seen.check([4.0, 1.0])
    array([4., 1.])
    >>> seen.check([2.0, 1.0])
    Traceback (most recent call last):
        ...
    headgate.errors.FeedbackError: arm 0 succeeded with threshold 2.5 above its allocation 2.0: \
a success needs threshold <= allocation
    """

    success: NDArray[np.bool_]
    threshold: NDArray[np.float64]
    reported: NDArray[np.bool_]

    def __init__(self, success: ArrayLike, threshold: ArrayLike, reported: ArrayLike = True) -> None:
        won, reports = _flags("success", success), _flags("reported", reported)
        try:
            thresholds = np.array(threshold, dtype=np.float64)
        except (TypeError, ValueError) as cause:
            raise FeedbackError(f"threshold must be an array of numbers, got {threshold!r}") from cause
        if reports.ndim == 0:
            reports = np.full(won.shape, bool(reports))
        if won.ndim == 0 or won.shape != thresholds.shape or won.shape != reports.shape:
            raise ShapeError(
                "success, threshold and reported must have one shape (..., arms), "
                f"got {won.shape}, {thresholds.shape} and {reports.shape}"
            )
        _refuse(won & ~reports, "succeeded but is marked as not reported: only a reported arm has a result")
        wrong = won & ~((thresholds >= 0.0) & (thresholds < np.inf) | np.isnan(thresholds))
        _refuse(wrong, "has threshold {}: it must be finite and >= 0, or nan where it is not known", thresholds)
        _refuse(
            ~won & ~np.isnan(thresholds),
            "did not succeed but has threshold {}: without success it must be nan",
            thresholds,
        )
        for name, array in (("success", won), ("threshold", thresholds), ("reported", reports)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @classmethod
    def trusted(cls, success: NDArray[np.bool_], threshold: NDArray[np.float64]) -> Self:
        """Wrap arrays that are right already, every arm reported: no check, no copy, and from now on read-only.

        For simulations, which make feedback themselves and millions of times. All else is for the constructor.
        """
        self = object.__new__(cls)
        success.flags.writeable = threshold.flags.writeable = False
        object.__setattr__(self, "success", success)
        object.__setattr__(self, "threshold", threshold)
        object.__setattr__(self, "reported", _all_reported(success.shape))
        return self

    @classmethod
    def by_name(cls, results: Mapping[str, float | bool | None], names: Sequence[str] | None) -> Self:
        """Read what came of a round by the arms' names, as the service's client reports it.

        Of each arm the threshold of its success, True for a success whose threshold is not known, None or False for a
        failure. Arms that are not mentioned have not reported.

        >>> Feedback.by_name({"q1": 3.2, "q3": None}, ["q1", "q2", "q3"]).reported
        array([ True, False,  True])
        """
        arms = len(names or ())
        won, reported, threshold = np.zeros(arms, dtype=np.bool_), np.zeros(arms, dtype=np.bool_), np.full(arms, np.nan)
        for name, result in results.items():
            place = place_of(name, names)
            reported[place], won[place] = True, result is not None and result is not False
            if won[place] and result is not True:
                value: object = result
                if isinstance(value, str) or np.ndim(result):  # type: ignore[arg-type]  # a number, if all is well
                    raise FeedbackError(
                        "a result must be a threshold, True (not known) or None (a failure), "
                        f"got {result!r} for {name!r}"
                    )
                threshold[place] = result
        return cls(won, threshold, reported)

    @property
    def reward(self) -> NDArray[np.int64]:
        """The number of successes of each round: (...)."""
        return np.asarray(np.count_nonzero(self.success, axis=-1))

    def check(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the allocation `x` as an array, or raise if this feedback cannot be its answer."""
        amount = checks.numbers("an allocation", x, AllocationError)
        if amount.shape != self.success.shape:
            raise ShapeError(
                f"feedback of shape {self.success.shape} cannot answer an allocation of shape {amount.shape}"
            )
        _refuse(self.success & (amount <= 0.0), "succeeded with nothing: a success needs an allocation above 0")
        _refuse(
            self.success & (self.threshold > amount),
            "succeeded with threshold {} above its allocation {}: a success needs threshold <= allocation",
            self.threshold,
            amount,
        )
        return amount

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Feedback):
            return NotImplemented
        return (
            np.array_equal(self.success, other.success)
            and np.array_equal(self.threshold, other.threshold, equal_nan=True)
            and np.array_equal(self.reported, other.reported)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays do not hash


@lru_cache(maxsize=64)
def _all_reported(shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return flags that are all true, read-only and so shared."""
    flags = np.ones(shape, dtype=np.bool_)
    flags.flags.writeable = False
    return flags


def _flags(name: str, values: ArrayLike) -> NDArray[np.bool_]:
    """Return a fresh array of true and false; 1 and 0 stand for them too."""
    array = np.array(values)
    if array.dtype == np.bool_:
        return array
    if array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise FeedbackError(f"{name} must be true or false for each arm, got {values!r}")
    return array.astype(np.bool_)


def _refuse(wrong: NDArray[np.bool_], rule: str, *values: NDArray[np.float64]) -> None:
    """Raise if any arm is wrong, naming the first one, its values and the rule."""
    if wrong.any():
        *row, arm = (int(i) for i in np.argwhere(wrong)[0])
        where = f"arm {arm}" + (f" of batch row {row[0] if len(row) == 1 else tuple(row)}" if row else "")
        raise FeedbackError(f"{where} " + rule.format(*(v[*row, arm].item() for v in values)))
