"""Figures of results: what their `plot` methods draw. Each returns the figure, or the path it was written to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import NullFormatter

from headgate.errors import UnsupportedError
from headgate.figures import style
from headgate.figures.allocation import draw_allocation as draw_problem
from headgate.figures.frontier import draw_frontier
from headgate.figures.regret import OLIVE, PURPLE, SKY, Curve, draw_curves
from headgate.names import usual_names

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from headgate.estimators import Estimate
    from headgate.oracle import Allocation
    from headgate.oracle.plan import Plan
    from headgate.rounds import Rounds

__all__ = ["draw_amounts", "draw_estimate", "draw_log", "draw_plan", "draw_problem", "draw_result", "draw_rounds"]
_MOST = 40  # the most rows of a figure
_CURVES = 8  # the most curves that can be told apart
_COLORS = (style.BLUE, style.VERMILLION, style.GREEN, style.ORANGE, SKY, PURPLE, OLIVE, style.INK)


def draw_amounts(allocation: Allocation, path: str | Path | None) -> Any:
    """Draw a single allocation as bars, largest first, or a frontier by its budgets."""
    if allocation.value.ndim == 1 and np.unique(allocation.budget).size == allocation.value.size > 1:
        return draw_frontier(allocation, path, units=allocation.units)
    if allocation.value.ndim:
        raise UnsupportedError(
            f"a figure shows one allocation or a frontier of budgets, this is a batch of shape {allocation.value.shape}"
        )
    x = np.asarray(allocation.x)
    names, order = allocation.names or usual_names(x.size), np.argsort(-x, kind="stable")[:_MOST]
    even = float(allocation.budget) / x.size

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.barh(range(order.size), x[order], height=0.68, color=style.BLUE)
        axes.axvline(even, color=style.ORANGE, linewidth=1.8, label=f"even split, {even:.4g} each")
        _rows(axes, [names[arm] for arm in order.tolist()])
        axes.legend(loc="lower right")
        axes.set_title(f"Worth {allocation.value:.4g}, at most {allocation.gap:.1e} below the best")
        axes.set_xlabel(_beyond(style.with_units("allocation", allocation.units), x.size - order.size))

    return style.show(path, (7.0, 1.6 + 0.24 * order.size), draw)


def draw_plan(plan: Plan, path: str | Path | None) -> Any:
    """Draw the slots of a plan one after the other along the budget."""
    names, order = plan.names or usual_names(plan.amounts.size), plan.order[:_MOST]
    starts, amounts = plan.starts[order], np.asarray(plan.amounts)[order]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.barh(range(order.size), amounts, left=starts, height=0.68, color=style.BLUE)
        _rows(axes, [names[arm] for arm in order.tolist()])
        axes.set_xlim(left=0.0)
        axes.set_title(f"Worth {plan.value:.4g}, at most {plan.gap:.1e} below the best")
        axes.set_xlabel(_beyond(style.with_units("budget gone by", plan.units), plan.order.size - order.size))

    return style.show(path, (7.0, 1.6 + 0.24 * max(order.size, 1)), draw)


def draw_estimate(estimate: Estimate, path: str | Path | None) -> Any:
    """Draw activation and rate of every arm with their intervals; what is not known yet is grey."""
    if estimate.rate.ndim != 1:
        raise UnsupportedError(f"a figure shows one learner, this is a batch of shape {estimate.rate.shape[:-1]}")
    arms = min(estimate.rate.size, _MOST)
    names = (estimate.names or usual_names(estimate.rate.size))[:arms]
    colors = [style.BLUE if known else style.QUIET for known in estimate.identified[:arms]]

    def draw(figure: Figure) -> None:
        both = figure.subplots(1, 2, sharey=True)
        for axes, name, label in zip(both, ("activation", "rate"), ("activation p", "rate λ"), strict=True):
            value = getattr(estimate, name)[:arms]
            low, high = getattr(estimate, f"{name}_interval")[:arms].T
            if name == "rate":
                axes.set_xscale("log")
                axes.xaxis.set_minor_formatter(NullFormatter())
                least, most = float(value.min()), float(value.max())
                low, high = np.clip(low, least / 100.0, most), np.clip(high, least, most * 100.0)
            else:
                axes.set_xlim(0.0, 1.0)
            for row in range(arms):
                axes.plot([low[row], high[row]], [row, row], color=colors[row], linewidth=2.2, alpha=0.5)
                axes.plot([value[row]], [row], "o", color=colors[row], markersize=5.0)
            axes.set_xlabel(label)
        _rows(both[0], names)
        both[0].set_title("What is known of the arms; grey: not yet")

    return style.show(path, (8.0, 1.6 + 0.26 * arms), draw)


def draw_result(result: Any, path: str | Path | None) -> Any:
    """Draw the expected regret of each policy by round, with one standard deviation."""
    curves = [
        Curve(name, result.rounds, result.regret[name].mean(axis=0), result.regret[name].std(axis=0), color)
        for name, color in zip(result.policies, _repeated(len(result.policies)), strict=True)
    ]
    runs = len(result.regret[result.policies[0]])

    def draw(figure: Figure) -> None:
        draw_curves(figure.subplots(), curves, inches=4.0, log=False, title=f"Expected regret, mean of {runs} runs")

    return style.show(path, (8.5, 4.6), draw)


def draw_rounds(rounds: Rounds, path: str | Path | None) -> Any:
    """Draw the share of rounds in which each arm, and at least one of them, had succeeded by each amount."""
    reach = rounds.thresholds
    shown = np.argsort(-np.isfinite(reach).sum(axis=0), kind="stable")[: _CURVES - 1]
    series = [(rounds.names[arm], reach[:, arm]) for arm in shown.tolist()]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        _steps(axes, [(name, *_distribution(column)) for name, column in series], [*_COLORS])
        axes.step(*_distribution(reach.min(axis=1)), where="post", color=style.INK, linewidth=2.4, label="any arm")
        axes.set_ylim(0.0, 1.0)
        hidden = rounds.arms - len(series)
        axes.set(title=f"{rounds.rounds:,} rounds", xlabel=_beyond("amount", hidden), ylabel="share of rounds")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

    return style.show(path, (8.0, 4.4), draw)


def draw_log(log: Any, curve_of: Callable[[Any, int], Any], path: str | Path | None) -> Any:
    """Draw the share of successes by amount of the arms with most rows, by Kaplan and Meier."""
    rows = np.bincount(log.rows.arm, weights=log.rows.count, minlength=log.arms)
    shown = np.argsort(-rows, kind="stable")[:_CURVES].tolist()
    curves = [(log.names[arm], curve_of(log, arm)) for arm in shown]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        _steps(axes, [(name, *_to_end(c)) for name, c in curves], [*_COLORS])
        axes.set_ylim(0.0, 1.0)
        axes.set_title(f"Successes by amount: {log.reading.used:,} {log.reading.counted}")
        axes.set_ylabel("share of successes (Kaplan-Meier)")
        axes.set_xlabel(_beyond(style.with_units("amount", log.units), log.arms - len(shown)))
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

    return style.show(path, (8.0, 4.4), draw)


def _rows(axes: Axes, names: Sequence[str]) -> None:
    """One row an arm, the first at the top."""
    axes.set_yticks(range(len(names)), [name.replace("$", r"\$") for name in names])
    axes.set_ylim(max(len(names), 1) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def _steps(
    axes: Axes, curves: Sequence[tuple[str, NDArray[np.float64], NDArray[np.float64]]], colors: list[str]
) -> None:
    for (name, x, y), color in zip(curves, colors, strict=False):
        axes.step(x, y, where="post", color=color, linewidth=1.6, label=name.replace("$", r"\$"))
    axes.set_xlim(left=0.0)


def _distribution(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where successes were, and the share of all that had been by then."""
    reached = np.sort(values[np.isfinite(values)])
    return _from_zero(reached), _from_zero(np.arange(1, reached.size + 1) / values.size)


def _to_end(curve: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The curve's steps, level up to the largest amount that was given."""
    last = curve.reached[-1:] if curve.reached.size else np.zeros(1)
    return _from_zero(np.append(curve.amounts, curve.last)), _from_zero(np.append(curve.reached, last))


def _from_zero(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([[0.0], values])


def _repeated(count: int) -> list[str]:
    return [_COLORS[place % len(_COLORS)] for place in range(count)]


def _beyond(label: str, hidden: int) -> str:
    return f"{label}; {hidden} more are not shown" if hidden > 0 else label
