"""The figure of a live round: who is served when, and what a success leaves over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from headgate.errors import UnsupportedError
from headgate.figures import style

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from headgate.live import LiveRound


class _Stretch(NamedTuple):
    """One arm being served."""

    arm: int
    start: float
    length: float
    offered: float
    won: bool


def draw_live(
    live: LiveRound,
    thresholds: ArrayLike,
    path: str | Path,
    *,
    names: Sequence[str] | None = None,
    units: str | None = None,
    title: str = "",
) -> Path:
    """Play a live round that has just begun against what each arm needs, and draw it to a .png, .pdf or .svg file.

    A row is an arm, in the order of being served first; bars are what it got, green where it succeeded, and hatched
    what that left over for the others. `thresholds` are infinite where an arm is not active.
    """
    style.suffix_of(path)
    if live.done or live.x.any():
        raise UnsupportedError(f"a figure plays the round itself, from its beginning, got {live}")
    stretches = _played(live, np.asarray(thresholds, dtype=np.float64))
    order = list(dict.fromkeys(stretch.arm for stretch in stretches))
    labels = [names[arm] if names is not None else f"arm{arm}" for arm in order]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for arm, start, length, offered, won in stretches:
            row = order.index(arm)
            axes.barh(row, length, left=start, height=0.7, color=style.GREEN if won else style.BLUE, linewidth=0.0)
            if won and offered > length:
                left, over = start + length, offered - length
                axes.barh(
                    row, over, left=left, height=0.7, fill=False, edgecolor=style.QUIET, hatch="////", linewidth=0.0
                )
        axes.set_yticks(range(len(order)), labels)
        axes.invert_yaxis()
        axes.set(
            title=title or "A live round: what a success leaves over goes to the others",
            xlabel=style.with_units("spent by all arms", units),
        )
        for color, what in ((style.GREEN, "until its success"), (style.BLUE, "without success")):
            axes.bar(0.0, 0.0, color=color, label=what)
        axes.bar(
            0.0, 0.0, fill=False, edgecolor=style.QUIET, hatch="////", linewidth=0.0, label="left over, free again"
        )
        axes.legend(loc="lower left")

    return style.write(path, (8.0, 1.8 + 0.28 * len(order)), draw)


def _played(live: LiveRound, reach: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[_Stretch]:
    """Play the round; steps that follow each other on one arm are one stretch."""
    stretches: list[_Stretch] = []
    start = 0.0
    while (step := live.next()) is not None:
        need = reach[step.arm] - live.x[step.arm]
        won = bool(need <= step.amount)
        length = float(need) if won else step.amount
        live.report(success=won, spent=length)
        stretches.append(_Stretch(step.arm, start, length, step.amount, won))
        start += length
    return stretches
