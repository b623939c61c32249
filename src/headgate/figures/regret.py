"""Regret by round: curves with a band of one standard deviation, each labelled where it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headgate.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

# The rest of Okabe and Ito's colours.
SKY, PURPLE, OLIVE = "#56B4E9", "#CC79A7", "#7A6A00"

_LABEL = 8.5  # points
_FLOOR = 0.1  # a band reaches down to this share of its mean: below 0 there is no logarithm


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One policy or bound: its mean at each round, and the standard deviation if there are runs."""

    label: str
    rounds: NDArray[np.int64]
    mean: NDArray[np.float64]
    spread: NDArray[np.float64] | None = None
    color: str = style.INK
    line: str = "-"
    width: float = 1.7


def draw_curves(
    axes: Axes,
    curves: Sequence[Curve],
    *,
    inches: float,
    log: bool = True,
    limits: tuple[float, float] | None = None,
    title: str = "",
    ylabel: str = "expected regret",
) -> None:
    """Draw the curves on one pair of axes, `inches` high, and label them on the right."""
    for place, curve in enumerate(curves):
        seen = (curve.mean > 0.0) & (curve.rounds >= 1) if log else np.ones(curve.mean.shape, dtype=np.bool_)
        t, mean = curve.rounds[seen], curve.mean[seen]
        axes.plot(t, mean, curve.line, color=curve.color, linewidth=curve.width, zorder=3 + place)
        if curve.spread is not None:
            sd = curve.spread[seen]
            low = np.maximum(mean - sd, _FLOOR * mean) if log else mean - sd
            axes.fill_between(t, low, mean + sd, color=curve.color, alpha=0.13, linewidth=0, zorder=2)
    if log:
        axes.set_xscale("log")
        axes.set_yscale("log")
    last = max(int(curve.rounds[-1]) for curve in curves)
    axes.set_xlim(1 if log else 0, last)
    if limits is not None:
        axes.set_ylim(*limits)
    axes.set_xlabel("round")
    axes.set_ylabel(ylabel)
    axes.grid(visible=True, color=style.FAINT, linewidth=0.5, zorder=0)
    axes.minorticks_off()
    axes.tick_params(length=3)
    if title:
        axes.set_title(title)
    _label(axes, curves, inches, log=log)


def _label(axes: Axes, curves: Sequence[Curve], inches: float, *, log: bool) -> None:
    low, high = axes.get_ylim()

    def height(value: float) -> float:
        share = np.log(max(value, low) / low) / np.log(high / low) if log else (value - low) / (high - low)
        return float(np.clip(share, 0.0, 1.0))

    ends = [height(float(curve.mean[-1])) for curve in curves]
    places = style.spread(ends, apart=1.35 * _LABEL / 72.0 / inches)
    places = [place - max(0.0, max(places) - 1.0) for place in places]
    for curve, end, place in zip(curves, ends, places, strict=True):
        axes.plot([1.0, 1.025], [end, place], color=curve.color, linewidth=0.6, clip_on=False, transform=axes.transAxes)
        axes.text(
            1.032,
            place,
            f"{curve.label}  {_short(float(curve.mean[-1]))}",
            color=curve.color,
            fontsize=_LABEL,
            va="center",
            transform=axes.transAxes,
        )


def _short(value: float) -> str:
    """A number for a label.

    >>> _short(44622.3), _short(53.21), _short(2.08), _short(3.2e9)
    ('44,622', '53', '2.1', '3.2e+09')
    """
    size = abs(value)
    return f"{value:.1e}" if size >= 1e7 else f"{value:,.0f}" if size >= 10.0 else f"{value:.1f}"
