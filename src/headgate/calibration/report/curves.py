"""Every arm's curve with its band, and what the log itself counts, with theirs: for pictures and interactive charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from headgate.calibration.replay import ArmLog, stops
from headgate.laws import Floats

if TYPE_CHECKING:
    from headgate.calibration.calibration import Calibration

_MOST = 40
_POINTS = 160
_DOTS = 14
_FAR = 2.5  # how far an axis goes, in units of where the curves end to rise: more would press them together


class ArmCurve(NamedTuple):
    """One arm: p G(x) by the model, and the share of successes within x that replay counts."""

    name: str
    arm: int
    model: Floats
    """At the amounts of `Curves.x`."""
    low: Floats | None
    """Ends of the middle of the resamples, pointwise; None without resamples."""
    high: Floats | None
    dots: Floats
    """Amounts."""
    share: Floats
    share_low: Floats
    """Jeffreys' interval of each share."""
    share_high: Floats


class Curves(NamedTuple):
    """All arms that are drawn, those most often active first."""

    x: Floats
    arms: tuple[ArmCurve, ...]
    logarithmic: bool


def curves_of(result: Calibration) -> Curves:
    """Return the curves of up to 40 arms, where they rise."""
    problem, log = result.problem, result.log
    end, start = _range(result)
    grid = np.geomspace(start, end, _POINTS) if start > 0.0 else np.linspace(0.0, end, _POINTS)
    if log.whole:
        grid = np.arange(0.0, np.ceil(end) + 2.0)
    model = problem.success_probability(np.repeat(grid[:, None], problem.arms, axis=1))
    dots, stopped = grid[:: max(1, len(grid) // _DOTS)][1:], stops(log)
    tails = np.array([0.5 - result.level / 2.0, 0.5 + result.level / 2.0])
    arms = []
    for arm in np.argsort(-problem.activation, kind="stable")[:_MOST].tolist():
        band: tuple[Floats | None, Floats | None] = (None, None)
        if result.bootstrap:
            low, high = np.quantile(result.resamples[arm].success(grid), tails, axis=0)
            band = low, high
        arm_log = ArmLog.of(log.rows, arm, stopped=stopped)
        share, rows = arm_log.replay(dots), arm_log.row_counts(dots)
        with np.errstate(invalid="ignore"):
            ends = special.betaincinv(share * rows + 0.5, (1.0 - share) * rows + 0.5, tails[:, None])
        arms.append(ArmCurve(problem.names[arm], arm, model[:, arm], *band, dots, share, ends[0], ends[1]))
    return Curves(grid, tuple(arms), start > 0.0)


def _range(result: Calibration) -> tuple[float, float]:
    """Where the curves rise: the last amount drawn, and the first if the axis is logarithmic, else 0.

    The best allocation of the last budget is drawn too, unless it lies far beyond.
    """
    curves = [arm.curve for arm in result.arms if arm.curve.amounts.size]
    if not curves:
        return 1.0, 0.0
    rise = [[c.amounts[np.searchsorted(c.reached, share * c.reached[-1])] for share in (0.03, 0.97)] for c in curves]
    start, end = (float(v) for v in np.median(rise, axis=0) * (1.0, 1.1))
    end = max(end, min(1.05 * float(np.max(result.gains[-1].best.x)), _FAR * end))
    return end, start if end > 60.0 * start and not result.log.whole else 0.0
