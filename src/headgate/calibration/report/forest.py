"""The forest plot of a cure regression: every feature's factor of rate and odds, with its interval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from headgate.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headgate.calibration.differing.features import FeatureFit

_MOST = 60  # the most lines that can still be read
_NARROW = 2.5  # an axis of at most so many decades has room for 1, 2 and 5 of each


def draw_forest(fit: FeatureFit, path: Path) -> Path:
    """Draw one line a feature (and arm), those that are surest to matter first where there are too many."""
    shown = list(fit.coefficients)
    if len(shown) > _MOST:
        order = np.argsort([-_sureness(c.rate, c.rate_interval, c.activation, c.activation_interval) for c in shown])
        shown = [shown[i] for i in sorted(order[:_MOST].tolist())]
    labels = [c.feature if c.arm is None else f"{c.feature}, {c.arm}" for c in shown]
    place = np.arange(len(shown), dtype=np.float64)[::-1]

    def draw(figure: Figure) -> None:
        from matplotlib.ticker import LogLocator, NullFormatter  # noqa: PLC0415  # only where figures are drawn

        left, right = figure.subplots(1, 2, sharey=True)
        sides = (
            (left, "rate", [(c.rate, c.rate_interval) for c in shown]),
            (right, "odds of being active", [(c.activation, c.activation_interval) for c in shown]),
        )
        for axes, what, numbers in sides:
            for y, (value, ends) in zip(place, numbers, strict=True):
                apart = ends[0] > 0.0 or ends[1] < 0.0
                color = style.BLUE if apart else style.QUIET
                axes.plot(np.exp(ends), [y, y], color=color, linewidth=1.6, zorder=2)
                axes.plot(np.exp(value), y, "o", color=color, markersize=4.5, zorder=3)
            axes.axvline(1.0, color=style.FAINT, linewidth=1.0, zorder=1)
            axes.set(title=f"Factor of the {what}", xlabel=f"with {fit.level:.0%} intervals", xscale="log")
            low, high = np.log10(axes.get_xlim())
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high - low < _NARROW else (1.0,)))
            axes.xaxis.set_major_formatter(lambda number, _: f"{number:g}")
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.margins(y=0.5 / max(len(shown), 1))
        left.set_yticks(place, [label.replace("$", r"\$") for label in labels])
        left.tick_params(axis="y", length=0)

    return style.write(path, (10.0, 1.6 + 0.24 * len(shown)), draw)


def _sureness(rate: float, rate_ends: tuple[float, float], odds: float, odds_ends: tuple[float, float]) -> float:
    wide = (max(ends[1] - ends[0], 1e-300) for ends in (rate_ends, odds_ends))
    return max(abs(value) / w for value, w in zip((rate, odds), wide, strict=True))
