"""Resamples of a log's rows, with the model fitted again to each: where intervals come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate.calibration.fitting.choose import ArmFit
from headgate.calibration.fitting.climb import Likelihood, climb, gradient, newton, polish
from headgate.calibration.fitting.family import Family
from headgate.calibration.fitting.fit import LawFit
from headgate.calibration.fitting.points import Points, cells
from headgate.calibration.log import Log
from headgate.calibration.replay import LEAST, ArmLog, stops
from headgate.calibration.tally import tally
from headgate.laws import Floats, Law

_BITS = 3  # 8 points to the octave: what joining amounts costs is nothing beside what resampling does
_CLOSE, _USUAL = 5e-3, 0.05  # in logarithms: a tenth of what is unknown, which is 0.05 after 400 successes


SPLITS = 5
"""Random halves that a choice is tried on."""
_MOST_DRAWS = 200_000_000  # rounds times resamples that are held, a byte each


class Refit(NamedTuple):
    """An arm's parameters in each resample."""

    law: Law
    """With one shape per resample."""
    rate: Floats
    activation: Floats

    def success(self, amounts: Floats) -> Floats:
        """p G(x) at each amount, (resamples, amounts)."""
        return np.asarray((self.activation * self.law.cdf(amounts[:, None], self.rate)).T)

    def of(self, resample: int) -> tuple[Law, float, float]:
        """Law, activation and rate of one resample."""
        return self.law.of_arm(resample), float(self.activation[resample]), float(self.rate[resample])


class Refits(NamedTuple):
    """An arm's fits to all resamples, piece by piece."""

    parts: tuple[Refit, ...]

    def success(self, amounts: Floats) -> Floats:
        """p G(x) at each amount, (resamples, amounts)."""
        return np.concatenate([part.success(amounts) for part in self.parts] or [np.empty((0, len(amounts)))])

    def reached(self, amounts: Floats) -> Floats:
        """G(x) at each amount, (resamples, amounts)."""
        shares = [np.asarray(part.law.cdf(amounts[:, None], part.rate)).T for part in self.parts]
        return np.concatenate(shares or [np.empty((0, len(amounts)))])


@dataclass(frozen=True, slots=True, eq=False)
class Resampler:
    """Resamples of a log's rows, or of whole rounds where the log says which rows share one.

    Every row, or round with all its rows, occurs Poisson(1) times. Rows of a round are not independent (a good student
    is good at everything), and resampling them one by one would give intervals of worth that are too narrow.
    """

    log: Log
    count: int
    """How many resamples."""
    seed: int = 0
    _rng: np.random.Generator = field(init=False)
    _rounds: NDArray[np.int64] | None = field(init=False)
    """The round of each of the log's records, if resamples are by round."""
    _draws: NDArray[np.uint8] = field(init=False)
    """How often each round occurs in each resample."""
    _sides: NDArray[np.bool_] = field(init=False)
    """Which half of each split a round belongs to."""

    def __post_init__(self) -> None:
        """Draw the rounds of all resamples: arms share them."""
        rng, records = np.random.default_rng(self.seed), self.log.records
        groups = records.groups if records is not None and records.round is not None else None
        size = 0 if groups is None else int(groups.max()) + 1
        by_round = groups is not None and size * self.count <= _MOST_DRAWS and size > 1
        draws = np.empty((self.count, size if by_round else 0), dtype=np.uint8)
        for row in draws:
            row[:] = rng.poisson(1.0, row.size)
        object.__setattr__(self, "_rng", rng)
        object.__setattr__(self, "_rounds", groups if by_round else None)
        object.__setattr__(self, "_draws", draws)
        object.__setattr__(self, "_sides", rng.random((SPLITS, draws.shape[1])) < 0.5)

    @property
    def by_round(self) -> bool:
        """Whether whole rounds are drawn."""
        return self._rounds is not None

    def rows(self, arm: int) -> ArmRows:
        """Return an arm's rows, to be drawn from."""
        stopped = stops(self.log)
        records = self.log.records
        if self._rounds is None or records is None:
            return ArmRows(ArmLog.of(self.log.rows, arm, stopped=stopped), self._rng)
        own = np.flatnonzero(records.arm == arm)
        arm_log = ArmLog(
            records.allocation[own], records.success[own], records.threshold[own], np.ones(own.size), stopped
        )  # fmt: skip
        place = self._rounds[own]
        return ArmRows(arm_log, self._rng, self._draws[:, place], self._sides[:, place])


@dataclass(frozen=True, slots=True, eq=False)
class ArmRows:
    """One arm's rows, to be drawn from."""

    arm_log: ArmLog
    rng: np.random.Generator
    draws: NDArray[np.uint8] | None = None
    """How often each row occurs in each resample, if its round decides that."""
    sides: NDArray[np.bool_] | None = None

    @property
    def size(self) -> int:
        """How many different rows there are."""
        return int(self.arm_log.weights.size)

    def drawn(self, some: slice) -> ArmLog:
        """Return some of the resamples, weights (resamples, rows)."""
        if self.draws is None:
            return poisson(self.arm_log, some.stop - some.start, self.rng)
        return self.arm_log._replace(weights=self.draws[some].astype(np.float64), least=LEAST / 4)

    def halves(self) -> ArmLog:
        """Return each row's place in the halves of the splits: weights (2 splits, rows), the halves in turn."""
        if self.sides is None:
            return halves(self.arm_log, SPLITS, self.rng)
        both = np.stack([self.sides, ~self.sides], axis=1).astype(np.float64)
        return self.arm_log._replace(weights=both.reshape(2 * SPLITS, -1), least=LEAST / 4)


def poisson(arm_log: ArmLog, count: int, rng: np.random.Generator) -> ArmLog:
    """Return resamples: every row occurs Poisson(1) times, so equal rows that occurred n times Poisson(n) times."""
    drawn = rng.poisson(arm_log.weights, (count, arm_log.weights.size)).astype(np.float64)
    return arm_log._replace(weights=drawn, least=LEAST / 4)  # what all rows can tell, a resample should


def halves(arm_log: ArmLog, splits: int, rng: np.random.Generator) -> ArmLog:
    """Return each row's place in the halves of some random splits: weights (2 splits, rows), the halves in turn."""
    first = rng.binomial(arm_log.weights.astype(np.int64), 0.5, (splits, arm_log.weights.size)).astype(np.float64)
    both = np.stack([first, arm_log.weights - first], axis=1)
    return arm_log._replace(weights=both.reshape(2 * splits, -1), least=LEAST / 4)


def refit(arm: ArmFit, arm_log: ArmLog, *, whole: bool) -> Refit:
    """Fit the arm's law again to each resample, at coarse points, from where all rows put it.

    The law stays the one chosen, and what was trimmed stays trimmed.
    """
    resamples = arm_log.weights.shape[0]
    if arm.fit is None:
        return Refit(arm.law, np.full(resamples, arm.rate), np.zeros(resamples))
    low, high = arm.kept
    shows = arm_log.success | (arm.basis == "all")
    with np.errstate(invalid="ignore"):
        keep = ~shows | ((arm_log.threshold >= low) & (arm_log.threshold <= high))
    weights = arm_log.weights * keep
    amount = np.where(arm_log.threshold > 0.0, arm_log.threshold, float(arm.points.thresholds.min()))
    used, failed = shows & keep, ~arm_log.success & (arm.basis == "censored")
    events = _joined(amount, weights, used, whole=whole)
    cut = _joined(arm_log.allocation, weights, failed, whole=whole)
    points = Points(
        arm.basis, *events, *cut,
        successes=weights @ arm_log.success, trials=weights.sum(axis=-1),
        low=np.full(resamples, low), high=np.full(resamples, high), whole=whole,
    )  # fmt: skip
    family = arm.fit.family.only(np.zeros(resamples, dtype=np.int64))
    theta = _near(arm.fit, family, points)
    share = points.successes / np.maximum(points.trials, 1.0)
    activation = special.expit(theta[:, -1]) if points.cure else share
    return Refit(family.law(theta), np.exp(theta[:, 0]), np.asarray(activation))


def _near(fit: LawFit, family: Family, points: Points) -> Floats:
    """Find the maxima near that of all rows: with its curvature if a few steps are enough, those left by a climb."""
    f = Likelihood(family, points)
    start = np.repeat(fit.theta, points.arms, axis=0)
    start = np.where(np.isfinite(f(start))[:, None], start, family.start(points))
    bend = fit.hessian * (points.trials / fit.trials)[:, None, None]
    theta = polish(f, start, bend, family.lower, family.upper, steps=4)
    slope = gradient(f, theta)
    further = np.clip(theta + newton(slope, bend, theta, family.lower, family.upper), family.lower, family.upper)
    here = f(further)
    known = np.isfinite(here) & np.isfinite(slope).all(axis=-1)  # without a slope there is no step, but no end either
    close = np.maximum(_CLOSE, _CLOSE / _USUAL * np.sqrt(np.einsum("...ii->...i", fit.covariance)))
    rest = np.flatnonzero(~(known & (np.abs(further - theta) < close).all(axis=-1)))
    if rest.size:
        begin = np.where((here > f(start))[:, None], further, start)[rest]
        further[rest] = climb(f.only(rest), begin, family.lower[rest], family.upper[rest])[0]
    return further


def _joined(amount: Floats, weights: Floats, use: NDArray[np.bool_], *, whole: bool) -> tuple[Floats, Floats]:
    """Join amounts that are close, in all resamples alike: (n, 1) amounts and (n, resamples) weights."""
    if not use.any():
        return np.ones((0, 1)), np.zeros((0, weights.shape[0]))
    value = amount[use]
    _, group = np.unique(value if whole else cells(value, _BITS), return_inverse=True)
    size = int(group.max()) + 1
    total = tally(group, weights[:, use], size)
    usual = weights[:, use].mean(axis=0) + 1e-9
    mean = tally(group, usual * value, size) / tally(group, usual, size)
    return (np.round(mean) if whole else mean)[:, None], total.T  # 3.0000000000000004 has no probability
