"""Figures: what an allocation looks like, and what budgets are worth. They need matplotlib, the extra `plot`."""

from headgate.extras import explain

with explain():
    from headgate.figures.allocation import draw_allocation
    from headgate.figures.frontier import draw_frontier

__all__ = ["draw_allocation", "draw_frontier"]
