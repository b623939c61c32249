"""How well a law fits: densities, distribution functions and quantiles against the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headgate.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def draw_density(axes: Axes, grid: Floats, density: Floats, histogram: tuple[Floats, Floats] | None) -> None:
    """Draw a density over a histogram (edges, heights), if there is one."""
    if histogram is not None:
        edges, heights = histogram
        axes.stairs(heights, edges, fill=True, color=style.FAINT, label="data")
    axes.plot(grid, density, color=style.BLUE, linewidth=1.8, label="fitted law")
    axes.set_xlim(0.0, float(grid[-1]))
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("density")
    axes.set_title("Density")
    axes.legend(loc="upper right")


def draw_distribution(axes: Axes, grid: Floats, curve: Floats, data: tuple[Floats, Floats] | None) -> None:
    """Draw a distribution function over the empirical one (values, levels), if there is one."""
    if data is not None:
        axes.step(*data, where="post", color=style.QUIET, linewidth=2.6, alpha=0.6, label="data")
    axes.plot(grid, curve, color=style.BLUE, linewidth=1.6, label="fitted law")
    axes.set_xlim(0.0, float(grid[-1]))
    axes.set_ylim(0.0, 1.02)
    axes.set_ylabel("probability")
    axes.set_title("Distribution function")
    axes.legend(loc="lower right")


def draw_quantiles(axes: Axes, theory: Floats, data: Floats | None, units: str) -> None:
    """Draw the quantiles of the data against the law's; on the diagonal they agree."""
    top = float(theory.max()) * 1.05
    axes.plot([0.0, top], [0.0, top], color=style.QUIET, linewidth=1.0, zorder=1)
    if data is not None:
        axes.plot(theory, data, "o", color=style.BLUE, markersize=3.2, markeredgewidth=0.0, zorder=2)
        top = max(top, float(data.max()) * 1.05)
    else:
        note, plain = "needs the answers:\n--data DIR", {"facecolor": "white", "edgecolor": "none"}
        axes.text(0.5, 0.5, note, ha="center", va="center", transform=axes.transAxes, color=style.QUIET, bbox=plain)
    axes.set_xlim(0.0, top)
    axes.set_ylim(0.0, top)
    axes.set_xlabel(f"quantile of the law ({units})")
    axes.set_ylabel(f"quantile of the data ({units})")
    axes.set_title("Quantiles")


def draw_counts(axes: Axes, counts: Floats, probability: Floats, title: str, source: str) -> None:
    """Draw the shares of whole numbers 1, 2, ... as bars and a law's probabilities as points."""
    n = np.arange(1, len(counts) + 1)
    axes.bar(n, counts, width=0.8, color=style.FAINT, label=source)
    axes.plot(n, probability, "o-", color=style.BLUE, markersize=4.0, linewidth=1.2, label="fitted law")
    axes.set_xlim(0.2, len(counts) + 0.8)
    axes.set_xlabel("impressions up to the first click")
    axes.set_title(title)
    axes.legend(loc="upper right")
