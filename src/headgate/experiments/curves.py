"""Results as curves of a figure: each policy has its colour in all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headgate import theory
from headgate.experiments import lineup
from headgate.figures import regret, style
from headgate.figures.regret import Curve, draw_curves
from headgate.simulation import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

LIMIT = "information limit (asymptotic)"
LIMIT_SAYS = (
    "The limit is asymptotic: it is what a learner pays that is unbiased near the truth, as T grows. At a finite T one "
    "with a prior may lie below it: what it knows beforehand is worth rounds of data, and rounds before the last "
    "digits matter cost less than c*/t."
)
_HIDDEN = {lineup.WIDER}  # policies that are in the table only, not drawn
_LOOKS: dict[str, dict[str, Any]] = {
    lineup.WRITTEN: {"color": style.VERMILLION},
    lineup.SCALED: {"color": style.ORANGE, "width": 2.0},
    lineup.CORRECTED: {"color": style.ORANGE, "line": "--"},
    lineup.ETC: {"color": regret.PURPLE},
    lineup.PER_ARM: {"color": regret.PURPLE, "line": "--"},
    lineup.GREEDY: {"color": regret.OLIVE},
    lineup.CUCB: {"color": regret.SKY},
    lineup.MARA: {"color": style.GREEN},
    lineup.EVEN: {"color": style.QUIET},
    lineup.THOMPSON: {"color": style.BLUE, "width": 2.4},
}


def of_result(result: Result, measure: str = "regret") -> list[Curve]:
    """Return mean and standard deviation over runs for each policy that figures show."""
    values = {name: runs for name, runs in getattr(result, measure).items() if name not in _HIDDEN}
    return [
        Curve(name, result.rounds, runs.mean(axis=0), runs.std(axis=0), **_LOOKS.get(name, {}))
        for name, runs in values.items()
    ]


def references(rounds: NDArray[np.int64], arms: int, limit: float | None) -> list[Curve]:
    """Return the lower bound, from T = K on, and the information limit if there is one."""
    enough = rounds[rounds >= arms]
    lines = []
    if enough.size:
        bound = theory.lower_bound(arms, enough)
        lines.append(Curve("lower bound", enough, bound, color=style.QUIET, line="--", width=1.3))
    if limit is not None:
        later = rounds[rounds >= 2]
        lines.append(Curve(LIMIT, later, limit * np.log(later), color=style.INK, line=":", width=1.6))
    return lines


def draw_both(figure: Figure, lines: list[Curve], *, inches: float, title: str = "", **options: Any) -> Axes:
    """Draw the same curves twice, with logarithmic axes and with linear ones; return the first."""
    left: Axes
    left, right = figure.subplots(1, 2)
    draw(left, lines, inches=inches, title=title, **options)
    options.pop("room", None)
    draw(right, lines, inches=inches, title="The same, linear axes", log=False, limits=(0.0, _top(lines)), **options)
    return left


def _top(lines: list[Curve]) -> float:
    return 1.05 * max(float(curve.mean.max()) for curve in lines)


def draw(axes: Axes, lines: list[Curve], **options: Any) -> None:
    """Draw curves with limits that leave out the first rounds' noise."""
    if options.get("log", True) and "limits" not in options:
        top = max(float((c.mean if c.spread is None else c.mean + c.spread).max()) for c in lines)
        options["limits"] = (
            min(0.3, 0.5 * min(float(c.mean[-1]) for c in lines if c.mean[-1] > 0.0)),
            options.pop("room", 2.0) * top,
        )
    draw_curves(axes, lines, **options)
