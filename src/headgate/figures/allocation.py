"""The figure of an allocation: the response curves with the price line, and the shares of the budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from headgate.errors import ShapeError, UnsupportedError
from headgate.figures import style

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from headgate.oracle import Allocation
    from headgate.problem import Problem, Reward

_MOST = 40  # arms that can be told apart; of more, those with the largest shares are drawn


@dataclass(frozen=True, slots=True)
class _View:
    """What is drawn: the arms shown, in order of their share, and everything about them."""

    problem: Problem
    allocation: Allocation
    reward: Reward
    shown: NDArray[np.int64]
    even: float

    @property
    def active(self) -> NDArray[np.bool_]:
        return self.allocation.x > 0.0

    @property
    def height(self) -> float:
        """How high the figure is, in inches: enough for a line of text for each arm."""
        return max(4.2, 1.6 + 0.2 * len(self.shown))

    def color(self, arm: int) -> str:
        return style.BLUE if self.active[arm] else style.QUIET


@overload
def draw_allocation(
    problem: Problem, allocation: Allocation, path: str | Path, *, reward: Reward = ..., title: str = ...
) -> Path: ...
@overload
def draw_allocation(
    problem: Problem, allocation: Allocation, path: str | Path | None, *, reward: Reward = ..., title: str = ...
) -> Any: ...
def draw_allocation(
    problem: Problem, allocation: Allocation, path: str | Path | None, *, reward: Reward = "sum", title: str = ""
) -> Any:
    """Draw an allocation of a problem to a .png, .pdf or .svg file and return its path; without one return the figure.

    On the left the probability of success of each arm by its amount, the allocation as points, and through
    each point a line whose slope is the price: at the optimum every arm that gets something is as steep as
    that. On the right the amounts beside an even split of the same total.
    """
    if path is not None:
        style.suffix_of(path)
    if problem.batch != ():
        raise UnsupportedError(f"a figure shows one problem, this is a batch of shape {problem.batch}")
    if allocation.x.shape != (problem.arms,):
        raise ShapeError(f"the allocation must be of {problem.arms} arms, got one of shape {allocation.x.shape}")
    # Largest share first; among those that get nothing, the most promising first.
    able = problem.activation if problem.kinds is None else problem.kinds @ problem.activation
    order = np.lexsort((-able, -allocation.x))[:_MOST]
    view = _View(problem, allocation, reward, order, float(allocation.x.sum()) / problem.arms)

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(1.5, 1.0))
        _curves(left, view)
        _shares(right, view)
        if title:
            figure.suptitle(title, x=0.012, ha="left", fontsize=13.0, fontweight="bold")

    return style.show(path, (11.0, view.height), draw)


def _curves(axes: Axes, view: _View) -> None:
    """Response curves, points and price lines."""
    problem, x = view.problem, view.allocation.x
    end = float(x.max()) * 1.4
    if end <= 0.0:  # nothing is allocated: show where the curves rise
        end = float(np.median(problem.law.quantile(0.9, problem.rate)))
    grid = np.linspace(0.0, end, 801)
    curves = problem.success_probability(np.repeat(grid[:, None], problem.arms, axis=1))
    success = problem.success_probability(x)
    top = float(curves[-1, view.shown].max())

    for arm in reversed(view.shown):
        look: dict[str, Any] = {"color": style.FAINT, "linewidth": 1.0, "zorder": 1}
        if view.active[arm]:
            look = {"color": style.BLUE, "linewidth": 1.3, "zorder": 2, "alpha": 0.55}
        axes.plot(grid, curves[:, arm], **look)
    _price_lines(axes, view, success, end)
    on = [arm for arm in view.shown if view.active[arm]]
    axes.plot(x[on], success[on], "o", color=style.BLUE, markeredgecolor="white", markersize=6.5, zorder=5)

    axes.set(title="What each arm returns", xlim=(0.0, end), ylim=(0.0, max(top * 1.08, 1e-12)))
    axes.set(xlabel=style.with_units("amount", problem.units), ylabel="probability of success")
    ends = [(float(curves[-1, arm]), problem.names[arm], view.color(arm)) for arm in view.shown]
    style.label_ends(axes, ends, inches=0.78 * view.height)


def _price_lines(axes: Axes, view: _View, success: NDArray[np.float64], end: float) -> None:
    """Draw a short line of slope price through the point of each arm that the price holds in place."""
    problem, x = view.problem, view.allocation.x
    price = float(view.allocation.price)
    marginal, alone = problem.marginal(x, view.reward), problem.marginal(x)
    whole = problem.law.whole_arms(problem.arms)
    # An arm at its limit is steeper or flatter than the price, and a step has no slope.
    held = view.active & (np.broadcast_to(whole, x.shape) | (np.abs(marginal - price) <= 0.02 * price))
    half = 0.075 * end
    label = f"slope = price, {price:.3g}" if view.reward == "sum" else "price line, in each arm's own terms"
    for arm in view.shown:
        if held[arm]:
            # In a cascade a success counts only if the others fail: the price in this arm's own terms.
            scale = alone[arm] / marginal[arm] if marginal[arm] > 0.0 else 1.0
            rise = price * scale * half
            ends = [x[arm] - half, x[arm] + half], [success[arm] - rise, success[arm] + rise]
            axes.plot(*ends, color=style.VERMILLION, linewidth=1.6, solid_capstyle="round", zorder=4, label=label)
            label = "_"  # one entry in the legend
    if label == "_":
        axes.legend(loc="upper left")


def _shares(axes: Axes, view: _View) -> None:
    """Bars of the allocation beside an even split."""
    problem, x = view.problem, view.allocation.x
    rows = np.arange(len(view.shown))
    amounts = x[view.shown]
    decimals = max(0, 2 - int(np.floor(np.log10(max(float(amounts.max()), 1e-12)))))
    axes.barh(rows, amounts, height=0.68, color=style.BLUE, zorder=2)
    axes.axvline(view.even, color=style.ORANGE, linewidth=1.8, zorder=3)
    axes.text(view.even, -0.9, f" even split, {view.even:.4g} each", color=style.INK, fontsize=8.5, va="center")
    axes.set_yticks(rows, [problem.names[arm] for arm in view.shown], fontsize=8.5)
    for label, arm in zip(axes.get_yticklabels(), view.shown, strict=True):
        label.set_color(style.INK if view.active[arm] else style.QUIET)
    axes.set_ylim(len(rows) - 0.4, -1.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    for row, amount in zip(rows, amounts, strict=True):
        axes.text(
            amount + 0.012 * max(float(amounts.max()), view.even),
            float(row),
            f"{amount:.{decimals}f}" if amount > 0.0 else "0",
            color=style.INK if amount > 0.0 else style.QUIET,
            fontsize=8.0,
            va="center",
            zorder=4,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},  # over the line of the even split
        )
    split = problem.expected_reward(np.full(problem.arms, view.even), view.reward)
    value = float(view.allocation.value)
    axes.set_title(f"Worth {value:.3f}, an even split {float(split):.3f}")
    hidden = problem.arms - len(rows)
    more = f"; {hidden} more arms are not shown" if hidden else ""
    axes.set_xlabel(style.with_units("allocation", problem.units) + more)
