"""A law by itself, and a law of whole numbers against the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headgate.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def draw_curve(axes: Axes, grid: Floats, curve: Floats, title: str) -> None:
    """Draw a law's density or distribution function alone, where there are no data to compare it with."""
    axes.plot(grid, curve, color=style.BLUE, linewidth=1.8, label="fitted law")
    axes.set_xlim(0.0, float(grid[-1]))
    axes.set_ylim(bottom=0.0)
    axes.set_title(title)
    axes.legend(loc="best")


def draw_counts(axes: Axes, counts: Floats, probability: Floats, title: str, source: str) -> None:
    """Draw the shares of whole numbers 1, 2, ... as bars and a law's probabilities as points."""
    n = np.arange(1, len(counts) + 1)
    axes.bar(n, counts, width=0.8, color=style.FAINT, label=source)
    axes.plot(n, probability, "o-", color=style.BLUE, markersize=4.0, linewidth=1.2, label="fitted law")
    axes.set_xlim(0.2, len(counts) + 0.8)
    axes.set_xlabel("impressions up to the first click")
    axes.set_title(title)
    axes.legend(loc="upper right")
