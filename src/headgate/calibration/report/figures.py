"""The figures of all arms: the response curves, and what better allocation would gain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headgate.calibration.report import words
from headgate.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headgate.calibration.calibration import Calibration
    from headgate.calibration.report.curves import Curves

_DECADES = 50.0  # budgets that differ by more than this are on a logarithmic axis


def draw_overview(result: Calibration, curves: Curves, path: Path) -> Path:
    """Draw every arm's p G(x), and as dots the share of successes within x that replay counts, with their bands.

    Diamonds are the best allocation of the last budget.
    """
    log, best = result.log, result.gains[-1].best
    height = max(4.6, 1.4 + 0.19 * len(curves.arms))

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        grid, colors = curves.x, colors_of(len(curves.arms))
        drawing: dict[str, Any] = {"drawstyle": "steps-post"} if log.whole else {}
        step: Any = "post" if log.whole else None
        for color, arm in zip(colors, curves.arms, strict=True):
            axes.plot(grid, arm.model, color=color, linewidth=1.3, zorder=2, **drawing)
            if arm.low is not None and arm.high is not None:
                axes.fill_between(grid, arm.low, arm.high, color=color, alpha=0.12, linewidth=0.0, step=step, zorder=1)
            spread = np.abs(np.stack([arm.share - arm.share_low, arm.share_high - arm.share]))
            how: dict[str, Any] = {"markersize": 3.0, "markeredgewidth": 0.0, "alpha": 0.75, "elinewidth": 0.7}
            axes.errorbar(arm.dots, arm.share, spread, fmt="o", color=color, zorder=3, **how)
            if best.x[arm.arm] <= grid[-1]:
                here = (best.x[arm.arm], best.model_by_arm[arm.arm])
                axes.plot(*here, "D", color=color, markersize=6.5, markeredgecolor=style.INK, zorder=5)
        units = f" {log.units}" if log.units else ""
        title = f"What each arm returns: lines by the model, dots counted, diamonds best of {result.gains[-1].budget:g}"
        axes.set(
            title=title + units,
            xlabel=style.with_units("amount", log.units), ylabel="probability of success",
            xscale="log" if curves.logarithmic else "linear",
            xlim=(grid[0], grid[-2] + 0.6 if log.whole else grid[-1]), ylim=(0.0, None),
        )  # fmt: skip
        last = -2 if log.whole else -1
        ends = [(float(arm.model[last]), arm.name, color) for arm, color in zip(curves.arms, colors, strict=True)]
        style.label_ends(axes, ends, 0.8 * height)

    return style.write(path, (10.0, height), draw)


def colors_of(count: int) -> list[Any]:
    """From blue, for the arms most often active, to green."""
    import matplotlib as mpl  # noqa: PLC0415  # with the figures

    return list(mpl.colormaps["viridis"](np.linspace(0.08, 0.86, count)))


def draw_gains(result: Calibration, path: Path) -> Path:
    """Draw worth by budget, and the gain of the best allocation over the even split at each budget asked for."""

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
        _worth(left, result)
        _gains(right, result)

    return style.write(path, (11.0, 4.3), draw)


def _worth(axes: Axes, result: Calibration) -> None:
    curve, units = result.worth, result.log.units
    lines = (
        (curve.best, curve.replay_best, style.BLUE, "best"),
        (curve.even, curve.replay_even, style.VERMILLION, "even split"),
    )
    for model, replayed, color, name in lines:
        axes.plot(curve.budget, model, color=color, linewidth=1.2, linestyle=(0, (4, 2)), label=f"{name}, by the model")
        axes.plot(curve.budget, replayed, color=color, linewidth=2.0, label=f"{name}, by replay")
    for gain in result.gains:
        for worth, color in ((gain.best, style.BLUE), (gain.even, style.VERMILLION)):
            axes.plot(gain.budget, worth.replay, "o", color=color, markersize=5.0, markeredgecolor="white", zorder=5)
            axes.plot([gain.budget] * 2, worth.replay_interval, color=color, linewidth=2.0, zorder=4)
    logged = [(gain.budget, gain.logged.replay) for gain in result.gains if gain.logged is not None]
    if logged:
        axes.plot(*zip(*logged, strict=True), "D", color=style.ORANGE, markersize=5.0, label="as logged, by replay")
    wide = float(curve.budget[0]) * _DECADES < float(curve.budget[-1])
    axes.set(
        title="Worth by budget", xlabel=style.with_units("budget", units), ylabel="expected successes a round",
        xscale="log" if wide else "linear", xlim=(curve.budget[0] if wide else 0.0, curve.budget[-1]), ylim=(0.0, None),
    )  # fmt: skip
    axes.grid(visible=True, color=style.FAINT, linewidth=0.5, zorder=0)
    axes.legend(loc="best", fontsize=8.5)


def _gains(axes: Axes, result: Calibration) -> None:
    """Bars side by side: by the model, by replay, and by replay of an allocation chosen on other rows."""
    kinds: tuple[tuple[str, str, list[tuple[float, tuple[float, float]]]], ...] = (
        ("by the model", style.FAINT, [(g.model_gain, g.model_gain_interval) for g in result.gains]),
        ("by replay", style.BLUE, [(g.replay_gain, g.replay_gain_interval) for g in result.gains]),
        ("by replay on the other half", style.GREEN, [(g.held_out, words.UNKNOWN) for g in result.gains]),
    )
    place = np.arange(len(result.gains), dtype=np.float64)
    for number, (label, color, bars) in enumerate(kinds):
        at = place + 0.27 * (number - 1)
        axes.bar(
            at, [100.0 * np.nan_to_num(value) for value, _ in bars], width=0.25, color=color, label=label, zorder=2
        )
        for x, (value, ends) in zip(at, bars, strict=True):
            axes.plot([x, x], 100.0 * np.array(ends), color=style.INK, linewidth=1.2, zorder=3)
            top = 100.0 * float(np.nanmax([0.0, value, ends[1]]))
            how: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": 7.5, "color": style.INK}
            axes.annotate(words.share(value, "?"), (x, top), (0, 3), **how)
    axes.axhline(0.0, color=style.QUIET, linewidth=0.8)
    axes.margins(y=0.16)
    units = f" {result.log.units}" if result.log.units else ""
    axes.set_xticks(place, [f"{gain.budget:g}{units}" for gain in result.gains])
    axes.tick_params(axis="x", length=0)
    axes.set(title="Gain of the best allocation", ylabel="gain over the even split (%)")
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3, fontsize=8.5, columnspacing=1.2, handlelength=1.2
    )
