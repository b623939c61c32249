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
        drawable = (curve.mean > 0.0) & (curve.rounds >= 1) if log else np.ones(curve.mean.shape, dtype=np.bool_)
        t, mean = curve.rounds[drawable], curve.mean[drawable]
        axes.plot(t, mean, curve.line, color=curve.color, linewidth=curve.width, zorder=3 + place)
        if curve.spread is not None:
            sd = curve.spread[drawable]
            low = np.maximum(mean - sd, _FLOOR * mean) if log else mean - sd
            axes.fill_between(t, low, mean + sd, color=curve.color, alpha=0.13, linewidth=0, zorder=2)
    scale = "log" if log else "linear"
    axes.set(title=title, xlabel="round", ylabel=ylabel, xscale=scale, yscale=scale)
    axes.set_xlim(1 if log else 0, max(int(curve.rounds[-1]) for curve in curves))
    if limits is not None:
        axes.set_ylim(*limits)
    axes.grid(visible=True, color=style.FAINT, linewidth=0.5, zorder=0)
    axes.minorticks_off()
    axes.tick_params(length=3)
    ends = [(float(c.mean[-1]), f"{c.label}  {_short(float(c.mean[-1]))}", c.color) for c in curves]
    style.label_ends(axes, ends, inches, size=8.5)


def _short(value: float) -> str:
    """A number for a label.

    >>> _short(44622.3), _short(53.21), _short(2.08), _short(3.2e9)
    ('44,622', '53', '2.1', '3.2e+09')
    """
    size = abs(value)
    return f"{value:.1e}" if size >= 1e7 else f"{value:,.0f}" if size >= 10.0 else f"{value:.1f}"
