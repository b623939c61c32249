"""What to be careful about, arm by arm: warnings that say what was seen and what it means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from headgate.calibration.fitting.choose import ArmFit
from headgate.calibration.fitting.goodness import tied
from headgate.calibration.fitting.points import quantiles
from headgate.calibration.log import Log, Rows
from headgate.calibration.tally import tally
from headgate.laws import Floats

FEW = 30
_RARE = 1e-3  # how improbable a difference must be before it is called one
_SLIGHT = 0.03  # differences of medians below this share are not worth a warning
_FAR = 0.05  # a distance of distribution functions that matters
_BEYOND = 0.9
_ABSURD = 20.0


@dataclass(frozen=True, slots=True)
class Speed:
    """Whether successes are faster than failures, where both show a threshold (Mann and Whitney's test)."""

    median_success: float
    median_failure: float
    probability: float
    """That a success is faster than a failure, ties counting half: 0.5 if they do not differ."""
    p_value: float

    @property
    def ratio(self) -> float:
        """Median of successes over that of failures."""
        return self.median_success / self.median_failure

    @property
    def matters(self) -> bool:
        """Whether the difference is neither chance nor slight."""
        return self.p_value < _RARE and abs(self.ratio - 1.0) > _SLIGHT


def speed(threshold: Floats, success: np.typing.NDArray[np.bool_], count: Floats) -> Speed | None:
    """Compare the thresholds of successes and failures; None if either has none."""
    won, lost = count * success, count * ~success
    if not won.any() or not lost.any():
        return None
    grid, place = np.unique(threshold, return_inverse=True)
    a, b = (tally(place, w, grid.size) for w in (won, lost))
    n, m = float(a.sum()), float(b.sum())
    later = m - np.cumsum(b)
    wins = float(a @ (later + 0.5 * b))
    ties = a + b
    total = n + m
    variance = n * m / 12.0 * (total + 1.0 - float(np.sum(ties**3 - ties)) / (total * max(total - 1.0, 1.0)))
    z = (wins - n * m / 2.0) / np.sqrt(max(variance, 1e-300))
    medians = [float(quantiles(threshold[w > 0.0], w[w > 0.0], (0.5,))[0]) for w in (won, lost)]
    return Speed(medians[0], medians[1], wins / (n * m), float(2.0 * special.ndtr(-abs(z))))


def speed_of(log: Log, arm: int) -> Speed | None:
    """The same of an arm of a log; None if failures show no threshold."""
    if log.kind != "observed":
        return None
    own = log.rows.arm == arm
    return speed(log.rows.threshold[own], log.rows.success[own], log.rows.count[own].astype(np.float64))


def cautions(fit: ArmFit, log: Log, arm: int) -> tuple[str, ...]:
    """Return what is doubtful about an arm, the gravest first."""
    units = f" {log.units}" if log.units else ""
    own = log.rows.arm == arm
    rows = Rows(*(getattr(log.rows, name)[own] for name in ("arm", "allocation", "success", "threshold", "count")))
    said: list[str] = []
    if fit.successes == 0:
        said.append(f"no success in {fit.rows:,} rows: taken as never active")
    elif fit.successes < FEW:
        said.append(f"only {fit.successes} success{'es' * (fit.successes != 1)}: the intervals are wide")
    if fit.successes and not fit.identified:
        said.append("activation and rate are not told apart: allocations were too small, or too few succeeded")
    found = speed_of(log, arm)
    if found is not None and found.matters:
        said.append(
            f"activation and speed are not independent: successes are {'faster' if found.ratio < 1.0 else 'slower'} "
            f"(median {found.median_success:.3g}{units} against {found.median_failure:.3g}{units})"
        )
    if fit.goodness.distance > _FAR and fit.goodness.p_value < 0.01:
        said.append(
            f"poor fit: the best law is {fit.goodness.distance:.2f} away from the data"
            if len(fit.aic) > 1
            else f"poor fit: the law is {fit.goodness.distance:.2f} away from the data"
        )
    if fit.at_boundary:
        said.append(
            f"the {fit.law.name} law's shape ran to the end of its range, {fit.shape:.3g}: another law is meant"
        )
    if fit.basis == "censored" and fit.successes:
        said += _allocations(fit, rows, units)
    said += _absurd(rows, fit, units)
    said += _rounded(rows, fit, units) if not (log.whole or log.rows.resolution) else []
    zeros = int(rows.count[(rows.threshold == 0.0) & (rows.success | (fit.basis == "all"))].sum())
    if zeros:
        said.append(
            f"{zeros:,} threshold{'s are' if zeros != 1 else ' is'} 0, which no law allows: taken as half of the "
            "smallest above 0"
        )
    return tuple(said)


def _rounded(rows: Rows, fit: ArmFit, units: str) -> list[str]:
    """A poor fit that may be due to rounding: rounded to the nearest would do no harm, up or down does."""
    if fit.fit is None or not fit.goodness.p_value < 0.01 or not tied(fit.points):
        return []
    grid = grid_of(rows.threshold[(rows.threshold > 0.0) & (rows.success | (fit.basis == "all"))])
    if grid is None:
        return []
    return [
        f"times look rounded to multiples of {grid:g}{units}, perhaps up or down: the p-value is of the rounding too; "
        "counts need --whole"
    ]


def grid_of(values: Floats) -> float | None:
    """Return the largest of 1, 2, 5, 10, ... or a part of these of which all values are multiples.

    >>> grid_of(np.array([0.5, 3.0, 4.5])), grid_of(np.array([120.0, 60.0, 180.0])), grid_of(np.array([0.1234567, 2.0]))
    (0.5, 60.0, None)
    """
    if not values.size:
        return None
    top = float(values.min())
    powers = 10.0 ** np.arange(np.floor(np.log10(top)) + 1, np.floor(np.log10(top)) - 5, -1)
    units = sorted({float(f"{power * part:.3g}") for power in powers for part in (1, 2, 5)} | {60.0, 3600.0})
    for unit in reversed(units):
        share = values / unit
        if np.all(np.abs(share - np.round(share)) < 1e-6 + 1e-9 * share) and unit <= top * (1.0 + 1e-9):
            return unit
    return None


def _allocations(fit: ArmFit, rows: Rows, units: str) -> list[str]:
    finite = np.isfinite(rows.allocation)
    if not finite.any():
        return []
    most = float(rows.allocation[finite].max())
    reach = float(fit.law.cdf(most, fit.rate))
    low, high = quantiles(rows.allocation[finite], rows.count[finite].astype(np.float64), (0.05, 0.95))
    if reach >= _BEYOND:
        return []
    if high <= 1.02 * low:
        return [
            f"allocations hardly vary ({low:.4g}{units}) and reach only {reach:.0%} of the law's thresholds: p, and "
            "what more would bring, are the law's guess"
        ]
    return [
        f"the largest allocation, {most:.4g}{units}, reaches only {reach:.0%} of the law's thresholds: what more would "
        "bring is the law's guess"
    ]


def _absurd(rows: Rows, fit: ArmFit, units: str) -> list[str]:
    shown = np.isfinite(rows.threshold) & (rows.success | (fit.basis == "all"))
    if not shown.any() or fit.kept[1] < np.inf:  # trimmed already
        return []
    value, count = rows.threshold[shown], rows.count[shown].astype(np.float64)
    usual, most = float(quantiles(value, count, (0.975,))[0]), float(value.max())
    if most <= _ABSURD * usual or fit.basis == "censored":
        return []
    return [
        f"absurd values: the largest, {most:,.0f}{units}, is {most / usual:.0f} times the 97.5% quantile; try --trim"
    ]
