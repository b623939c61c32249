"""Figures: an allocation, what budgets are worth, how a live round unfolds. They need matplotlib, the extra `plot`."""

from headgate.extras import explain

with explain():
    from headgate.figures.allocation import draw_allocation
    from headgate.figures.frontier import draw_frontier
    from headgate.figures.live import draw_live

__all__ = ["draw_allocation", "draw_frontier", "draw_live"]
