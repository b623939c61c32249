"""The figures of all arms: the response curves, and what better allocation would gain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headgate.calibration.replay import Seen, stops
from headgate.calibration.report import words
from headgate.figures import style
from headgate.laws import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headgate.calibration.calibration import Calibration

_MOST = 40
_DOTS = 14
_DECADES = 50.0  # budgets that differ by more than this are on a logarithmic axis


def draw_overview(result: Calibration, path: Path) -> Path:
    """Draw every arm's p G(x), and as dots the share of successes within x that replay counts."""
    problem, log = result.problem, result.log
    shown = np.argsort(-problem.activation, kind="stable")[:_MOST]
    stopped = stops(log)
    height = max(4.6, 1.4 + 0.19 * len(shown))

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        end, start = _range(result)
        logarithmic = start > 0.0
        grid = np.geomspace(start, end, 300) if logarithmic else np.linspace(0.0, end, 301)
        if log.whole:
            grid = np.arange(0.0, np.ceil(end) + 2.0)
        curves = problem.success_probability(np.repeat(grid[:, None], problem.arms, axis=1))
        colors = _colors(len(shown))
        for color, arm in zip(colors, shown, strict=True):
            drawing: dict[str, Any] = {"drawstyle": "steps-post"} if log.whole else {}
            axes.plot(grid, curves[:, arm], color=color, linewidth=1.3, zorder=2, **drawing)
            dots = grid[:: max(1, len(grid) // _DOTS)][1:]
            seen = Seen.of(log.rows, int(arm), stopped=stopped).replay(dots)
            axes.plot(dots, seen, "o", color=color, markersize=3.0, markeredgewidth=0.0, alpha=0.75, zorder=3)
        if logarithmic:
            axes.set_xscale("log")
        axes.set_xlim(float(grid[0]), float(grid[-2]) + 0.6 if log.whole else float(grid[-1]))
        axes.set_ylim(0.0, None)
        axes.set_xlabel(f"amount ({log.units})" if log.units else "amount")
        axes.set_ylabel("probability of success")
        axes.set_title("What each arm returns: lines by the model, dots counted in the log")
        ends = [
            (float(curves[-2 if log.whole else -1, arm]), _plain(problem.names[arm]), color)
            for arm, color in zip(shown, colors, strict=True)
        ]
        _label_ends(axes, ends, 0.8 * height)

    return style.write(path, (10.0, height), draw)


def _range(result: Calibration) -> tuple[float, float]:
    """Where the curves rise: the last amount drawn, and the first if the axis is logarithmic, else 0."""
    curves = [arm.curve for arm in result.arms if arm.curve.amounts.size]
    if not curves:
        return 1.0, 0.0
    firsts, lasts = [], []
    for curve in curves:
        top = curve.reached[-1]
        low, high = (float(curve.amounts[np.searchsorted(curve.reached, share * top)]) for share in (0.03, 0.97))
        firsts.append(low)
        lasts.append(high)
    end, start = 1.1 * float(np.median(lasts)), float(np.median(firsts))
    return end, start if end > 60.0 * start and not result.log.whole else 0.0


def _colors(count: int) -> list[Any]:
    """From blue, for the arms most often active, to orange."""
    import matplotlib as mpl  # noqa: PLC0415  # with the figures

    return list(mpl.colormaps["viridis"](np.linspace(0.08, 0.86, count)))


def _label_ends(axes: Axes, ends: list[tuple[float, str, Any]], inches: float) -> None:
    """Label curves on the right, on linear and on logarithmic axes."""
    size = 8.0
    low, high = axes.get_ylim()
    places = style.spread([end[0] for end in ends], apart=(high - low) * 1.25 * size / 72.0 / inches)
    for (height, label, color), place in zip(ends, places, strict=True):
        at = [(v - low) / (high - low) for v in (height, place)]
        axes.plot([1.0, 1.025], at, color=color, linewidth=0.6, clip_on=False, transform=axes.transAxes)
        axes.text(1.03, at[1], label, color=color, fontsize=size, va="center", transform=axes.transAxes)


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
            _bar(axes, gain.budget, worth.replay, worth.replay_interval, color)
    if any(gain.logged is not None for gain in result.gains):
        known = [(gain.budget, gain.logged.replay) for gain in result.gains if gain.logged is not None]
        axes.plot(*zip(*known, strict=True), "D", color=style.ORANGE, markersize=5.0, label="as logged, by replay")
    wide = float(curve.budget[0]) * _DECADES < float(curve.budget[-1])
    if wide:
        axes.set_xscale("log")
    axes.set_xlim(float(curve.budget[0]) if wide else 0.0, float(curve.budget[-1]))
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel(f"budget ({units})" if units else "budget")
    axes.set_ylabel("expected successes a round")
    axes.set_title("Worth by budget")
    axes.grid(visible=True, color=style.FAINT, linewidth=0.5, zorder=0)
    axes.legend(loc="best", fontsize=8.5)


def _bar(axes: Axes, x: float, y: float, ends: tuple[float, float], color: str) -> None:
    if not np.isnan(y):
        axes.plot([x], [y], "o", color=color, markersize=5.0, markeredgecolor="white", zorder=5)
    if not np.isnan(ends).any():
        axes.plot([x, x], ends, color=color, linewidth=2.0, zorder=4)


def _gains(axes: Axes, result: Calibration) -> None:
    """Bars side by side: by the model, by replay, and by replay of an allocation chosen on other rows."""
    place = np.arange(len(result.gains), dtype=np.float64)
    kinds: tuple[tuple[str, str, Floats, list[tuple[float, float]] | None], ...] = (
        ("by the model", style.FAINT, np.array([g.model_gain for g in result.gains]),
         [g.model_gain_interval for g in result.gains]),
        ("by replay", style.BLUE, np.array([g.replay_gain for g in result.gains]),
         [g.replay_gain_interval for g in result.gains]),
        ("by replay on the other half", style.GREEN, np.array([g.held_out for g in result.gains]), None),
    )  # fmt: skip
    for number, (label, color, values, ends) in enumerate(kinds):
        at = place + 0.27 * (number - 1)
        axes.bar(at, 100.0 * np.nan_to_num(values), width=0.25, color=color, label=label, zorder=2)
        for x, value, gain in zip(at, values, result.gains, strict=True):
            text = "?" if np.isnan(value) else words.share(float(value))
            high = 0.0 if np.isnan(value) else max(value, 0.0)
            if ends is not None and not np.isnan(ends[result.gains.index(gain)]).any():
                low, top = ends[result.gains.index(gain)]
                axes.plot([x, x], [100.0 * low, 100.0 * top], color=style.INK, linewidth=1.2, zorder=3)
                high = max(high, top)
            axes.annotate(
                text, (x, 100.0 * high), (0, 3), textcoords="offset points", ha="center", fontsize=7.5, color=style.INK
            )
    axes.axhline(0.0, color=style.QUIET, linewidth=0.8)
    axes.margins(y=0.16)
    units = f" {result.log.units}" if result.log.units else ""
    axes.set_xticks(place, [f"{gain.budget:g}{units}" for gain in result.gains])
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel("gain over the even split (%)")
    axes.set_title("Gain of the best allocation")
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3, fontsize=8.5, columnspacing=1.2, handlelength=1.2
    )


def _plain(text: str) -> str:
    """A name is text, not mathematics."""
    return text.replace("$", r"\$")
