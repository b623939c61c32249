"""The figure of one arm: density, distribution against Kaplan and Meier, quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headgate.calibration.fitting.goodness import log_open
from headgate.calibration.report import words
from headgate.figures import style
from headgate.laws import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headgate.calibration.calibration import Calibration
    from headgate.calibration.fitting.choose import ArmFit
    from headgate.calibration.resample import Refits

_WIDE = 40.0  # a ratio of quantiles from which the axis is logarithmic
_BINS = 44
_AT_RISK = 20


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """An arm, and the range of amounts that is drawn."""

    arm: ArmFit
    low: float
    high: float
    log: bool
    label: str
    level: float
    refits: Refits | None = None
    """Fits to resamples, for the band of the curve."""

    @property
    def whole(self) -> bool:
        return self.arm.law.integer

    def reached(self, x: Floats) -> Floats:
        """The fitted curve: p G, or G where the curve is of the thresholds alone."""
        fit = self.arm.fit
        if fit is None:
            return np.zeros(x.shape)
        below = x < self.arm.kept[0]
        return np.where(below, 0.0, -np.expm1(log_open(fit, self.arm.points, fit.theta, x[:, None])[:, 0]))

    def band(self, x: Floats) -> tuple[Floats, Floats] | None:
        """The middle of the curves that resamples give, pointwise: of what `reached` is; None without resamples."""
        if self.refits is None or not self.refits.parts or self.arm.fit is None:
            return None
        if self.arm.points.cure:
            curves = self.refits.success(x)
        else:
            low, high = self.arm.kept
            ends = self.refits.reached(np.array([low, min(high, 1e300)]))
            with np.errstate(invalid="ignore", divide="ignore"):
                curves = np.clip((self.refits.reached(x) - ends[:, :1]) / (ends[:, 1:] - ends[:, :1]), 0.0, 1.0)
        tails = [0.5 - self.level / 2.0, 0.5 + self.level / 2.0]
        least, most = np.quantile(np.nan_to_num(curves), tails, axis=0)
        return least, most

    @property
    def scale(self) -> dict[str, Any]:
        """Scale and limits of the axis of amounts."""
        return {"xscale": "log", "xlim": (self.low, self.high)} if self.log else {"xlim": (0.0, self.high)}

    def grid(self, count: int = 400) -> Floats:
        if self.whole:
            return np.arange(1.0, self.high + 1.0)
        return np.geomspace(self.low, self.high, count) if self.log else np.linspace(0.0, self.high, count)


def draw_panels(
    figure: Figure, arm: ArmFit, *, units: str | None = None, level: float = 0.9, refits: Refits | None = None
) -> None:
    """Draw density, distribution function and quantiles of one arm side by side."""
    view = _view(arm, units, level, refits)
    for axes, panel in zip(figure.subplots(1, 3), (_density, _distribution, _quantiles), strict=True):
        panel(axes, view)


def draw_arm(result: Calibration, number: int, path: Path) -> Path:
    """Draw one arm's fit to a file."""
    arm, units = result.arms[number], result.log.units
    refits = result.resamples[number] if result.resamples else None

    def draw(figure: Figure) -> None:
        draw_panels(figure, arm, units=units, level=result.level, refits=refits)
        title = words.title(arm, units).replace("$", r"\$")
        figure.suptitle(title, x=0.012, ha="left", fontsize=12.0, fontweight="bold")

    return style.write(path, (11.0, 3.5), draw)


def _view(arm: ArmFit, units: str | None, level: float, refits: Refits | None) -> _View:
    curve = arm.curve
    if not curve.amounts.size:
        return _View(arm, 0.5, max(curve.last, 1.0), False, style.with_units("threshold", units), level)
    top = _reach(arm)
    first, last = (float(curve.amounts[np.searchsorted(curve.reached, share * top)]) for share in (0.01, 0.985))
    log = not arm.law.integer and last > _WIDE * first
    high, label = last * (1.25 if log else 1.05), style.with_units("threshold", units)
    return _View(arm, 0.8 * first, high, log, label, level, refits)


def _reach(arm: ArmFit) -> float:
    """How high the curve goes while enough rows are at risk."""
    curve = arm.curve
    if not curve.amounts.size:
        return 0.0
    enough = curve.at_risk >= min(_AT_RISK, float(curve.at_risk.max()))
    return float(curve.reached[enough][-1]) if arm.points.cure else float(curve.reached[-1])


def _density(axes: Axes, view: _View) -> None:
    """Bars are the increments of Kaplan and Meier's curve, so they are right under censoring too."""
    if view.whole:
        n = view.grid()
        draw_counts(axes, np.diff(_steps(view, n), prepend=0.0), np.diff(view.reached(n), prepend=0.0), "data")
        title = "Probability"
    else:
        axis = np.log if view.log else np.asarray  # densities are per unit of what the axis shows
        edges, grid = view.grid(_BINS), view.grid()
        if view.arm.curve.amounts.size:
            bars = np.diff(_steps(view, edges)) / np.diff(axis(edges))
            axes.stairs(bars, edges, fill=True, color=style.FAINT, label="data")
        middle = (grid[1:] + grid[:-1]) / 2.0
        slope = np.diff(view.reached(grid)) / np.diff(axis(grid))
        axes.plot(middle, slope, color=style.BLUE, linewidth=1.8, label="fitted")
        title = "Density, per unit of the logarithm" if view.log else "Density"
        axes.set(**view.scale)
    axes.set(title=title, xlabel=view.label, ylim=(0.0, None))
    axes.legend(loc="upper right", fontsize=8.5)


def draw_counts(axes: Axes, shares: Floats, probability: Floats, source: str) -> None:
    """Draw the shares of the whole numbers 1, 2, ... as bars and a law's probabilities as points."""
    n = np.arange(1, len(shares) + 1)
    axes.bar(n, shares, width=0.8, color=style.FAINT, label=source)
    axes.plot(n, probability, "o-", color=style.BLUE, markersize=4.0, linewidth=1.2, label="fitted")
    axes.set_xlim(0.2, len(shares) + 0.8)


def _steps(view: _View, x: Floats) -> Floats:
    """Kaplan and Meier's curve, kept level beyond its end."""
    curve = view.arm.curve
    return np.asarray(curve.at(np.minimum(x, curve.last)))


def _distribution(axes: Axes, view: _View) -> None:
    curve, arm = view.arm.curve, view.arm
    if curve.amounts.size:
        low, high = curve.band(view.level)
        x = np.concatenate([curve.amounts, [max(curve.last, float(curve.amounts[-1]))]])

        def level(values: Floats) -> Floats:
            return np.concatenate([values, values[-1:]])

        axes.fill_between(x, level(low), level(high), step="post", color=style.FAINT, linewidth=0.0)
        axes.step(x, level(curve.reached), where="post", color=style.QUIET, linewidth=1.8, label="Kaplan-Meier")
    grid = view.grid()
    band = view.band(grid)
    if band is not None:
        step: Any = "mid" if view.whole else None
        axes.fill_between(grid, *band, color=style.BLUE, alpha=0.18, linewidth=0.0, step=step)
    if view.whole:
        axes.plot(grid, view.reached(grid), "o", color=style.BLUE, markersize=4.0, label="fitted")
        axes.set_xlim(0.2, float(grid[-1]) + 0.8)
    else:
        axes.plot(grid, view.reached(grid), color=style.BLUE, linewidth=1.4, label="fitted")
        axes.set(**view.scale)
    title, top = "Distribution function", 1.02
    if arm.points.cure:
        title, top = "p G(x)", 1.12 * max(_reach(arm), float(view.reached(grid)[-1]), 1e-9)
    axes.set(title=title, xlabel=view.label, ylim=(0.0, top))
    axes.legend(loc="lower right", fontsize=8.5)
    note = f"distance {arm.ks:.3f}"
    if not np.isnan(arm.goodness.p_value):
        note += f"\np-value {words.p_value(arm.goodness.p_value)}"
    axes.text(0.03, 0.97, note, transform=axes.transAxes, va="top", fontsize=8.5, color=style.INK)


def _quantiles(axes: Axes, view: _View) -> None:
    """The amounts at which law and data reach the same share."""
    arm, curve = view.arm, view.arm.curve
    axes.set(title="Quantiles", xlabel="of the law", ylabel="of the data")
    if arm.fit is None or not curve.amounts.size:
        return
    top = float(min(_reach(arm), 0.9999 * (arm.activation if arm.points.cure else 1.0)))
    levels = np.linspace(0.0, top, 102)[1:-1]
    data = curve.amounts[np.minimum(np.searchsorted(curve.reached, levels), curve.amounts.size - 1)]
    reached, amounts = _inverse(view, float(data[-1]))
    if view.whole:
        theory = amounts[np.minimum(np.searchsorted(reached, levels), amounts.size - 1)]
    else:
        theory = np.interp(levels, reached, amounts)
    low, high = float(min(data[0], theory[0])), float(max(data[-1], theory[-1]))
    ends = (0.8 * low, 1.25 * high) if view.log else (0.0, 1.05 * high)
    axes.plot(ends, ends, color=style.QUIET, linewidth=1.0, zorder=1)
    axes.plot(theory, data, "o", color=style.BLUE, markersize=3.4, markeredgewidth=0.0, alpha=0.8, zorder=2)
    scale = "log" if view.log else "linear"
    axes.set(xscale=scale, yscale=scale, xlim=ends, ylim=ends)


def _inverse(view: _View, most: float) -> tuple[Floats, Floats]:
    """The fitted curve as levels and amounts, far enough to be inverted."""
    if view.whole:
        x = np.arange(0.0, 4.0 * most + 2.0)
        return view.reached(x), x
    high = min(view.arm.kept[1], 50.0 * most)
    x = np.geomspace(min(1e-4 * view.high, 1e-2 * view.low), high, 4000)
    return view.reached(x), x
