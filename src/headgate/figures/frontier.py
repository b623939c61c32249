"""The figure of a frontier: what budgets are worth, and what one more unit of each would add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from headgate.errors import ShapeError
from headgate.figures import style

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from headgate.oracle import Allocation


@overload
def draw_frontier(frontier: Allocation, path: str | Path, *, units: str | None = ..., title: str = ...) -> Path: ...
@overload
def draw_frontier(
    frontier: Allocation, path: str | Path | None, *, units: str | None = ..., title: str = ...
) -> Any: ...
def draw_frontier(frontier: Allocation, path: str | Path | None, *, units: str | None = None, title: str = "") -> Any:
    """Draw `Problem.frontier(budgets)` to a .png, .pdf or .svg file and return its path; without one return the figure.

    Above the value of the best allocation by its budget, with the bound that proves it; below the price, which is the
    slope of that curve. Where the price jumps up, another arm has come within reach.
    """
    if path is not None:
        style.suffix_of(path)
    if frontier.value.ndim != 1:
        raise ShapeError(f"a frontier has one axis of budgets, got a batch of shape {frontier.value.shape}")

    def draw(figure: Figure) -> None:
        above, below = figure.subplots(2, 1, sharex=True)
        above.plot(frontier.budget, frontier.value, color=style.BLUE)
        above.fill_between(frontier.budget, frontier.value, frontier.bound, color=style.BLUE, alpha=0.2, linewidth=0.0)
        above.set(title=title or "What a budget is worth", ylabel="value")
        below.plot(frontier.budget, frontier.price, color=style.BLUE)
        below.set(xlabel=style.with_units("budget", units), ylabel="price: what one more unit adds")

    return style.show(path, (7.0, 6.0), draw)
