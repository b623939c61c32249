"""Figures: what an allocation looks like. They need matplotlib, the extra `plot`."""

from headgate.extras import explain

with explain():
    from headgate.figures.allocation import draw_allocation

__all__ = ["draw_allocation"]
