"""What to be careful about, arm by arm: warnings that say what was seen and what it means.

Each is said twice: in an arm's own words, with its numbers, and in those that several arms share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate.calibration.fitting.choose import ArmFit
from headgate.calibration.fitting.goodness import tied
from headgate.calibration.fitting.points import quantiles
from headgate.calibration.log import Log, Rows
from headgate.calibration.tally import tally
from headgate.laws import Floats

FEW = 30  # successes below which intervals are wide
_RARE = 1e-3  # how improbable a difference must be before it is called one
_SLIGHT = 0.03  # differences of medians below this share are not worth a warning
_FAR = 0.05  # a distance of distribution functions that matters
_BEYOND = 0.9  # a share of the thresholds reached from which on little is left to guess
_ABSURD = 20.0  # a largest value of more than so many times the 97.5% quantile is absurd


class Caution(NamedTuple):
    """What is doubtful about an arm."""

    text: str
    """In the arm's own words."""
    shared: str
    """In the words of all arms of which the same is true."""


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


def speed(threshold: Floats, success: NDArray[np.bool_], count: Floats) -> Speed | None:
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


@dataclass(frozen=True, slots=True, eq=False)
class _Arm:
    """An arm, as a caution looks at it."""

    fit: ArmFit
    log: Log
    rows: Rows
    """The arm's own."""
    units: str
    """Of amounts, after a space; empty if not known."""

    @property
    def shown(self) -> NDArray[np.bool_]:
        """The rows whose threshold the law was fitted to."""
        return np.isfinite(self.rows.threshold) & (self.rows.success | (self.fit.basis == "all"))


def grouped(fits: Sequence[ArmFit]) -> list[tuple[tuple[str, ...], str]]:
    """Return every warning once: the arms that it is of, and what is doubtful, in an arm's own words if it is alone.

    What most arms share comes first.
    """
    shared: dict[str, list[tuple[str, str]]] = {}
    for fit in fits:
        for caution in fit.cautions:
            shared.setdefault(caution.shared, []).append((fit.name, caution.text))
    groups = sorted(shared.items(), key=lambda item: -len(item[1]))
    return [(tuple(name for name, _ in arms), arms[0][1] if len(arms) == 1 else what) for what, arms in groups]


def cautions(fit: ArmFit, log: Log, arm: int) -> tuple[Caution, ...]:
    """Return what is doubtful about an arm, the gravest first."""
    case = _Arm(fit, log, log.rows.only(log.rows.arm == arm), f" {log.units}" if log.units else "")
    return tuple(caution for check in _CAUTIONS if (caution := check(case)) is not None)


def _few(arm: _Arm) -> Caution | None:
    won = arm.fit.successes
    if won == 0:
        text = f"no success in {arm.fit.rows:,} rows: taken as never active"
        return Caution(text, "no success: taken as never active")
    if won >= FEW:
        return None
    text = f"only {won} success{'es' * (won != 1)}: the intervals are wide"
    return Caution(text, f"fewer than {FEW} successes: the intervals are wide")


def _not_identified(arm: _Arm) -> Caution | None:
    if arm.fit.identified or not arm.fit.successes:
        return None
    text = "activation and rate are not told apart: allocations were too small, or too few succeeded"
    return Caution(text, text)


def _dependent(arm: _Arm) -> Caution | None:
    """Successes and failures that differ in speed, where both show a threshold."""
    rows = arm.rows
    if arm.log.kind != "observed":
        return None
    comparison = speed(rows.threshold, rows.success, rows.count.astype(np.float64))
    if comparison is None or not comparison.matters:
        return None
    what = f"activation and speed are not independent: successes are {'faster' if comparison.ratio < 1.0 else 'slower'}"
    medians = f"median {comparison.median_success:.3g}{arm.units} against {comparison.median_failure:.3g}{arm.units}"
    return Caution(f"{what} ({medians})", what)


def _poor(arm: _Arm) -> Caution | None:
    far = arm.fit.goodness.distance
    if not (far > _FAR and arm.fit.goodness.p_value < 0.01):
        return None
    which = f"the {'best ' * (len(arm.fit.aic) > 1)}law"
    return Caution(f"poor fit: {which} is {far:.2f} away from the data", f"poor fit: {which} is far from the data")


def _boundary(arm: _Arm) -> Caution | None:
    if not arm.fit.at_boundary:
        return None
    what = "shape ran to the end of its range"
    return Caution(
        f"the {arm.fit.law.name} law's {what}, {arm.fit.shape:.3g}: another law is meant",
        f"the law's {what}: another law is meant",
    )


def _small_allocations(arm: _Arm) -> Caution | None:
    """Failures that were cut off before the law has shown most of its thresholds."""
    fit, finite = arm.fit, np.isfinite(arm.rows.allocation)
    if fit.basis != "censored" or not fit.successes or not finite.any():
        return None
    allocation, count = arm.rows.allocation[finite], arm.rows.count[finite].astype(np.float64)
    most = float(allocation.max())
    reach = float(fit.law.cdf(most, fit.rate))
    if reach >= _BEYOND:
        return None
    low, high = quantiles(allocation, count, (0.05, 0.95))
    if high <= 1.02 * low:
        what = "p, and what more would bring, are the law's guess"
        return Caution(
            f"allocations hardly vary ({low:.4g}{arm.units}) and reach only {reach:.0%} of the law's thresholds: "
            + what,
            f"allocations hardly vary and reach less than {_BEYOND:.0%} of the law's thresholds: {what}",
        )
    what = "what more would bring is the law's guess"
    return Caution(
        f"the largest allocation, {most:.4g}{arm.units}, reaches only {reach:.0%} of the law's thresholds: {what}",
        f"the largest allocation reaches less than {_BEYOND:.0%} of the law's thresholds: {what}",
    )


def _absurd(arm: _Arm) -> Caution | None:
    shown = arm.shown
    if arm.fit.basis == "censored" or not shown.any() or arm.fit.kept[1] < np.inf:  # trimmed already
        return None
    value = arm.rows.threshold[shown]
    usual, most = float(quantiles(value, arm.rows.count[shown].astype(np.float64), (0.975,))[0]), float(value.max())
    if most <= _ABSURD * usual:
        return None
    return Caution(
        f"absurd values: the largest, {most:,.0f}{arm.units}, is {most / usual:.0f} times the 97.5% quantile; "
        "try --trim",
        f"absurd values: the largest is more than {_ABSURD:g} times the 97.5% quantile; try --trim",
    )


def _rounded(arm: _Arm) -> Caution | None:
    """A poor fit that may be due to rounding: rounded to the nearest would do no harm, up or down does."""
    fit = arm.fit
    if arm.log.whole or arm.log.rows.resolution or fit.fit is None:
        return None
    grid = grid_of(arm.rows.threshold[arm.shown & (arm.rows.threshold > 0.0)])
    if grid is None or not fit.goodness.p_value < 0.01 or not tied(fit.points):
        return None
    text = (
        f"times look rounded to multiples of {grid:g}{arm.units}, perhaps up or down: the p-value is of the rounding "
        "too; counts need --whole"
    )
    return Caution(text, text)


def _zeros(arm: _Arm) -> Caution | None:
    zeros = int(arm.rows.count[arm.shown & (arm.rows.threshold == 0.0)].sum())
    if not zeros:
        return None
    what = "0, which no law allows: taken as half of the smallest above 0"
    return Caution(f"{zeros:,} threshold{'s are' if zeros != 1 else ' is'} {what}", f"some thresholds are {what}")


_CAUTIONS = (
    _few, _not_identified, _dependent, _poor, _boundary, _small_allocations, _absurd, _rounded, _zeros,
)  # fmt: skip


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
