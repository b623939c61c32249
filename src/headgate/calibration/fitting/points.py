"""What a fit looks at: per arm the thresholds that were seen, where failures were cut off, and how many there were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from headgate.calibration.log import Kind, Rows
from headgate.calibration.tally import tally
from headgate.errors import InputError, ParameterError, UnsupportedError
from headgate.laws import Floats

_EXACT = 200_000  # rows up to which distinct amounts are sorted apart

Basis = Literal["censored", "all", "successes"]
"""Which likelihood was used.

"censored": the cure model: p g(X) for a success, 1 - p G(x) for a failure that was given x.
"all": the law is fitted to the thresholds of all rows, failures too; p is the share of successes.
"successes": the law is fitted to the thresholds of successes; p is the share of successes.
"""
Times = Literal["auto", "all", "successes"]
"""Which times a law is fitted to where failures show one too; "auto": those that foretell rows held out better."""
TIMES: tuple[Times, ...] = ("all", "successes")
FINE = 10  # bits: 1,024 points to the octave of a log too large for exact ones; a likelihood is off by 2e-8 a row
COARSE = 6  # bits: 64 points to the octave, 1% wide: a likelihood taken at their means is off by 1e-5 a row


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Amounts and how often they occurred, in columns, one per arm: (n, A), short columns filled with weight 0.

    The columns may also be resamples of one arm: then the amounts are (n, 1) and the weights (n, R).
    """

    basis: Basis
    thresholds: Floats
    threshold_weight: Floats
    cut: Floats
    """What failures were given, if the basis is "censored"; else of length 0."""
    cut_weight: Floats
    successes: Floats
    trials: Floats
    low: Floats
    """Only thresholds within [low, high] are kept: the likelihood is that of a law truncated there."""
    high: Floats
    whole: bool = False
    """The amounts are whole numbers, and stay so."""

    @property
    def arms(self) -> int:
        """The number of columns."""
        return int(self.trials.size)

    @property
    def cure(self) -> bool:
        """Whether activation is part of the likelihood, rather than the share of successes."""
        return self.basis == "censored"

    @property
    def truncated(self) -> bool:
        """Whether thresholds outside of quantiles were left out."""
        return bool(np.any(self.low > 0.0) or np.any(self.high < np.inf))

    def only(self, arms: Sequence[int] | NDArray[np.int64]) -> Self:
        """Return the columns of some arms, no longer than they need to be."""

        def columns(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
            kept = weight[:, arms]
            if values.shape[1] != weight.shape[1]:  # resamples of one arm
                return values, kept
            deep = int(np.max(np.count_nonzero(kept, axis=0), initial=0))  # a column's weights come before its filling
            return values[:deep, arms], kept[:deep]

        thresholds, threshold_weight = columns(self.thresholds, self.threshold_weight)
        cut, cut_weight = columns(self.cut, self.cut_weight)
        rest = {name: getattr(self, name)[arms] for name in ("successes", "trials", "low", "high")}
        return replace(
            self, thresholds=thresholds, threshold_weight=threshold_weight, cut=cut, cut_weight=cut_weight, **rest
        )

    def coarse(self) -> Self:
        """Join amounts that are close: each group becomes its mean, so equal amounts stay exact."""
        if self.whole:
            return self
        thresholds, threshold_weight = _joined(self.thresholds, self.threshold_weight)
        cut, cut_weight = _joined(self.cut, self.cut_weight)
        return replace(self, thresholds=thresholds, threshold_weight=threshold_weight, cut=cut, cut_weight=cut_weight)


def basis_of(kind: Kind, times: Times) -> Basis:
    """Return the likelihood for a kind of log; `times` is a choice only where failures show a time."""
    if kind == "censored":
        return "censored"
    return "all" if kind == "observed" and times == "all" else "successes"


def of_rows(
    rows: Rows, arms: int, basis: Basis, *, trim: tuple[float, float] | None = None, whole: bool = False
) -> Points:
    """Gather the rows of each arm; `trim` keeps what is within two quantiles of the arm's thresholds, as in the paper.

    With trimming p is the share of successes among the rows kept. A threshold of 0, which no continuous law allows,
    counts as half of the smallest above it.
    """
    if trim is not None:
        if not 0.0 <= trim[0] < trim[1] <= 1.0:
            raise ParameterError(f"trim must be two quantiles, 0 <= low < high <= 1, got {trim!r}")
        if basis == "censored":
            raise UnsupportedError(
                "trim needs thresholds that are not censored: this log gives what each row was given"
            )
    _must_tell(rows.count[rows.success & np.isnan(rows.threshold)].sum())
    used = rows.success | (basis == "all")
    amount = _above_zero(rows.threshold, whole=whole)
    low, high = np.zeros(arms), np.full(arms, np.inf)
    keep = np.ones(rows.arm.size, dtype=np.bool_)
    if trim is not None:
        for arm in range(arms):
            own = used & (rows.arm == arm)
            if own.any():
                low[arm], high[arm] = quantiles(amount[own], rows.count[own], trim)
        # A row without a threshold (a failure, where only successes show one) has none to be trimmed by.
        keep = ~used | ((amount >= low[rows.arm]) & (amount <= high[rows.arm]))
    count = np.where(keep, rows.count, 0).astype(np.float64)
    thresholds, threshold_weight = _columns(amount, count, rows.arm, used & keep, arms, whole=whole)
    failed = ~rows.success & keep & (basis == "censored")
    cut, cut_weight = _columns(rows.allocation, count, rows.arm, failed, arms, whole=whole)
    if basis == "all":
        successes, trials = tally(rows.arm, count * rows.success, arms), threshold_weight.sum(axis=0)
    else:
        successes = threshold_weight.sum(axis=0)
        trials = successes + cut_weight.sum(axis=0) if basis == "censored" else tally(rows.arm, count, arms)
    return Points(
        basis, thresholds, threshold_weight, cut, cut_weight,
        successes=successes, trials=trials, low=low, high=high, whole=whole,
    )  # fmt: skip


def _must_tell(silent: float) -> None:
    """Raise if successes did not tell their threshold: families of laws are compared by thresholds."""
    if silent:
        raise UnsupportedError(
            f"{silent:g} successes do not tell their threshold, which comparing laws needs: "
            "headgate.estimators.likelihood(law, log.evidence) and policies learn from them, with a law that is given"
        )


def quantiles(amount: Floats, count: Floats, levels: tuple[float, ...]) -> Floats:
    """Quantiles of amounts that occurred `count` times, as numpy.quantile gives them with every row written out."""
    order = np.argsort(amount, kind="stable")
    upto = np.cumsum(count[order])
    place = np.asarray(levels) * (upto[-1] - 1.0)
    below, above = (np.searchsorted(upto, edge(place) + 0.5) for edge in (np.floor, np.ceil))
    share = place - np.floor(place)
    first, second = amount[order][below], amount[order][above]
    return np.asarray(first + share * (second - first))


def _above_zero(threshold: Floats, *, whole: bool) -> Floats:
    if whole:
        return np.maximum(threshold, 1.0)
    zero = threshold == 0.0
    if not zero.any():
        return threshold
    positive = threshold[threshold > 0.0]
    if not positive.size:
        raise InputError("every threshold is 0: there must be some above 0 to fit a law to")
    return np.where(zero, 0.5 * float(positive.min()), threshold)


def _columns(
    value: Floats, count: Floats, arm: NDArray[np.int64], use: NDArray[np.bool_], arms: int, *, whole: bool
) -> tuple[Floats, Floats]:
    """Put each arm's distinct values in a column, increasing; of very many, those joined that are almost equal."""
    if not use.any():
        return np.ones((0, arms)), np.zeros((0, arms))
    value, count, arm = value[use], count[use], arm[use]
    order = np.lexsort((value, arm))
    value, count, arm = value[order], count[order], arm[order]
    return _grouped(cells(value, FINE) if value.size > _EXACT and not whole else value, value, count, arm, arms)


def _grouped(
    group: NDArray[Any], value: Floats, weight: Floats, arm: NDArray[np.int64], arms: int
) -> tuple[Floats, Floats]:
    """Join neighbours of the same arm and group: their weights add up, and what is equal stays so to the last bit."""
    starts = np.flatnonzero(np.concatenate([[True], (group[1:] != group[:-1]) | (arm[1:] != arm[:-1])]))
    total, spent = (np.add.reduceat(v, starts) for v in (weight, weight * value))
    least, most = np.minimum.reduceat(value, starts), np.maximum.reduceat(value, starts)
    return _stacked(np.where(least == most, least, spent / total), total, arm[starts], arms)


def cells(value: Floats, bits: int) -> NDArray[np.int64]:
    """Number the cells of positive amounts, 2^bits to the octave: the exponent and first bits of the float itself."""
    return np.asarray(np.ascontiguousarray(value).view(np.int64) >> (52 - bits))


def _stacked(value: Floats, weight: Floats, arm: NDArray[np.int64], arms: int) -> tuple[Floats, Floats]:
    """Stack a list that is sorted by arm into columns, filled with the arm's own last value at weight 0."""
    lengths = np.bincount(arm, minlength=arms)
    row = np.arange(arm.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    deep = int(lengths.max(initial=0))
    values, weights = np.ones((deep, arms)), np.zeros((deep, arms))
    values[row, arm], weights[row, arm] = value, weight
    ends = np.cumsum(lengths) - 1
    filling = np.where(lengths > 0, value[np.maximum(ends, 0)] if value.size else 1.0, 1.0)
    return np.where(np.arange(deep)[:, None] < lengths, values, filling), weights


def _joined(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    if values.shape[0] <= 2 << COARSE:
        return values, weights
    arms = values.shape[1]
    value, weight = values.T.ravel(), weights.T.ravel()
    use = weight > 0.0
    if not use.any():
        return values[:0], weights[:0]
    value, weight, arm = value[use], weight[use], np.repeat(np.arange(arms), values.shape[0])[use]
    return _grouped(cells(value, COARSE), value, weight, arm, arms)
