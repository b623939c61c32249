"""How well a law fits: distance to Kaplan and Meier's curve, and a test that is right under censoring and fitting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from headgate.calibration.fitting.climb import log_inside
from headgate.calibration.fitting.fit import LawFit
from headgate.calibration.fitting.points import Points
from headgate.calibration.kaplan_meier import KaplanMeier
from headgate.calibration.tally import tally
from headgate.laws import Floats

_CELLS = 20
_PER_CELL = 12  # the fewest events of a cell
_FLAT = 0.01  # directions in which the fit leaves less than this of the variance say nothing
_AT_RISK = 20
_NUDGE = 1e-4
_TIED = 2.0  # rows for each different threshold from which these count as rounded


@dataclass(frozen=True, slots=True)
class Goodness:
    """How far one arm's law is from its rows.

    `distance` is the largest difference between the fitted curve and Kaplan and Meier's: of p G where rows are
    censored, as far as 20 rows are at risk; else of G alone, where it is the Kolmogorov-Smirnov statistic. `p_value`
    is of Hjort's chi-square, which compares the successes in each of some intervals with those expected of the rows
    still open there, and takes into account that the law was fitted to the same rows: under the law it is uniform,
    censored or not. Thresholds that were rounded are compared half-way between them.
    """

    distance: float
    p_value: float
    chi_square: float
    freedom: int


def log_open(law_fit: LawFit, points: Points, theta: Floats, x: Floats) -> Floats:
    """Log of the share of rows that have not succeeded within x, by the fitted curve of a single arm.

    1 - p G(x) for a cure model; else the law's survival, given that the threshold is within the quantiles kept.
    """
    law, rate = law_fit.family.law(theta), np.exp(theta[..., 0])
    with np.errstate(all="ignore"):
        log_sf = law.log_sf(x, rate)
        if points.cure:
            log_p, log_q = special.log_expit(theta[..., -1]), special.log_expit(-theta[..., -1])
            return np.asarray(np.logaddexp(log_q, log_p + log_sf))
        if not points.truncated:
            return log_sf
        log_between = log_sf + np.log(-np.expm1(np.minimum(law.log_sf(points.high, rate) - log_sf, 0.0)))
        return np.asarray(np.minimum(log_between - log_inside(law, rate, points.low, points.high), 0.0))


def goodness(law_fit: LawFit, points: Points, curve: KaplanMeier | None = None) -> Goodness:
    """Judge the fit of a single arm, its points as they are in the log."""
    if not points.thresholds.shape[0]:
        return Goodness(np.nan, np.nan, np.nan, 0)
    curve = kaplan_meier(points) if curve is None else curve
    before = np.concatenate([[0.0], curve.reached[:-1]])
    if law_fit.law.integer:
        apart = np.abs(curve.reached - _reached(law_fit, points, curve.amounts))
    else:
        below, above = _around(curve.amounts, tied=tied(points))
        apart = np.maximum(
            np.abs(curve.reached - _reached(law_fit, points, above)), np.abs(before - _reached(law_fit, points, below))
        )
    if points.cure:  # the last few rows at risk move the curve by chance
        apart = apart[curve.at_risk >= min(_AT_RISK, float(curve.at_risk.max()))]
    statistic, freedom = _hjort(law_fit, points)
    p = float(special.chdtrc(freedom, statistic)) if freedom > 0 else np.nan
    return Goodness(float(np.max(apart)), p, statistic, freedom)


def tied(points: Points) -> bool:
    """Whether the thresholds of a single arm are so often equal that they must have been rounded."""
    return bool(points.thresholds.shape[0] > 1 and points.threshold_weight.sum() >= _TIED * points.thresholds.shape[0])


def _reached(law_fit: LawFit, points: Points, x: Floats) -> Floats:
    return np.asarray(-np.expm1(log_open(law_fit, points, law_fit.theta, x[:, None])[:, 0]))


def _around(amounts: Floats, *, tied: bool) -> tuple[Floats, Floats]:
    """Where the fitted curve is taken below and above each amount: there, or half-way to the next if it was rounded."""
    if not tied or amounts.size < 2:
        return amounts, amounts
    middle = _middles(amounts)
    first, last = amounts[0] - (middle[0] - amounts[0]), amounts[-1] + (amounts[-1] - middle[-1])
    return np.concatenate([[max(first, 0.0)], middle]), np.concatenate([middle, [last]])


def _middles(amounts: Floats) -> Floats:
    return np.asarray((amounts[1:] + amounts[:-1]) / 2.0)


def kaplan_meier(points: Points) -> KaplanMeier:
    """Kaplan and Meier's curve of a single arm: of p G, or of G where every row has a threshold."""
    amount = np.concatenate([points.thresholds[:, 0], points.cut[:, 0]])
    is_event = np.arange(amount.size) < points.thresholds.shape[0]
    return KaplanMeier.of(amount, is_event, np.concatenate([points.threshold_weight[:, 0], points.cut_weight[:, 0]]))


def _hjort(law_fit: LawFit, points: Points) -> tuple[float, int]:
    """Z' (D - C I^-1 C')^- Z over cells: Z observed less expected, D its variance, C = dE / dtheta what fitting takes.

    The cells are of about equal expectation, so that what varies is what was observed.
    """
    expect = _steps(law_fit, points) if law_fit.law.integer else _hazards(law_fit, points)
    events = float(points.threshold_weight.sum())
    cells = int(np.clip(events // _PER_CELL, 1, _CELLS))
    edges, expected, spread = expect.cells(cells)
    bins = np.searchsorted(edges, points.thresholds[:, 0], side="left")
    observed = tally(bins, points.threshold_weight[:, 0], edges.size + 1)
    steps = _NUDGE * np.eye(law_fit.theta.shape[-1])
    shifted = [(expect.between(law_fit.theta + h, edges), expect.between(law_fit.theta - h, edges)) for h in steps]
    slope = np.stack([(above - below) / (2.0 * _NUDGE) for above, below in shifted], axis=-1)
    scale = 1.0 / np.sqrt(np.maximum(spread, 1e-12))
    z, c = scale * (observed - expected), scale[:, None] * slope
    values, vectors = np.linalg.eigh(np.eye(z.size) - c @ law_fit.covariance[0] @ c.T)
    use = values > _FLAT
    return float(np.sum((vectors.T @ z)[use] ** 2 / values[use])), int(use.sum())


@dataclass(frozen=True, slots=True, eq=False)
class _Hazards:
    """What is expected of the rows still open: increments of the cumulative hazard -log(1 - p G), or number by number.

    `time` increases; `beyond` is the weight of the rows that end later.
    """

    law_fit: LawFit
    points: Points
    time: Floats
    weight: Floats
    beyond: Floats

    def _hazard(self, theta: Floats, x: Floats) -> Floats:
        return -np.maximum(log_open(self.law_fit, self.points, theta, x[:, None])[:, 0], -700.0)

    def upto(self, theta: Floats, x: Floats) -> Floats:
        """Expected successes within each x."""
        past = np.concatenate([[0.0], np.cumsum(self.weight * self._hazard(theta, self.time))])
        place = np.searchsorted(self.time, x, side="right")
        rest = np.concatenate([[self.weight.sum()], self.beyond])[place]
        return np.asarray(past[place] + rest * self._hazard(theta, x))

    def between(self, theta: Floats, edges: Floats) -> Floats:
        """Expected successes in each cell."""
        return np.diff(self.upto(theta, np.concatenate([[0.0], edges, [self.time[-1]]])))

    def cells(self, count: int) -> tuple[Floats, Floats, Floats]:
        """Return edges between cells of about equal expectation, the expectations and the variances.

        An edge lies half-way between two thresholds that were seen: what was rounded to either is on its own side.
        """
        curve = self.upto(self.law_fit.theta, self.time)
        edges = np.interp(curve[-1] * np.arange(1, count) / count, curve, self.time)
        middle = _middles(np.unique(self.points.thresholds[:, 0]))
        if middle.size:
            above = np.minimum(np.searchsorted(middle, edges), middle.size - 1)
            below = np.maximum(above - 1, 0)
            edges = np.where(edges - middle[below] < middle[above] - edges, middle[below], middle[above])
        edges = np.unique(edges)
        expected = self.between(self.law_fit.theta, edges)
        return edges, expected, expected


@dataclass(frozen=True, slots=True, eq=False)
class _Steps(_Hazards):
    """The same for whole numbers, where `time` is 1, 2, ..., and of the rows still open a share h succeeds at each."""

    def _share(self, theta: Floats) -> Floats:
        open_at = log_open(self.law_fit, self.points, theta, np.concatenate([[0.0], self.time])[:, None])[:, 0]
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(-np.expm1(np.minimum(np.diff(open_at), 0.0)), nan=1.0)

    def between(self, theta: Floats, edges: Floats) -> Floats:
        cell = np.searchsorted(edges, self.time, side="left")
        return tally(cell, self.weight * self._share(theta), edges.size + 1)

    def cells(self, count: int) -> tuple[Floats, Floats, Floats]:
        share = self._share(self.law_fit.theta)
        curve = np.cumsum(self.weight * share)
        inner = self.time[np.searchsorted(curve, curve[-1] * np.arange(1, count) / count)]
        edges = np.unique(inner[inner < self.time[-1]])
        cell = np.searchsorted(edges, self.time, side="left")
        spread = tally(cell, self.weight * share * (1.0 - share), edges.size + 1)
        return edges, self.between(self.law_fit.theta, edges), spread


def _hazards(law_fit: LawFit, points: Points) -> _Hazards:
    time, weight = _ended(points)
    return _Hazards(law_fit, points, time, weight, weight.sum() - np.cumsum(weight))


def _steps(law_fit: LawFit, points: Points) -> _Steps:
    """Rows still open at each number are its weight."""
    time, weight = _ended(points)
    numbers = np.arange(1.0, np.floor(time[-1]) + 1.0)
    upto = np.concatenate([[0.0], np.cumsum(weight)])
    at_risk = upto[-1] - upto[np.searchsorted(np.floor(time), numbers, side="left")]
    return _Steps(law_fit, points, numbers, at_risk, at_risk)


def _ended(points: Points) -> tuple[Floats, Floats]:
    """Where rows ended, increasing, and how many."""
    time = np.concatenate([points.thresholds[:, 0], points.cut[:, 0]])
    weight = np.concatenate([points.threshold_weight[:, 0], points.cut_weight[:, 0]])
    order = np.argsort(time, kind="stable")
    return time[order], weight[order]
