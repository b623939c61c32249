"""Figures: what an allocation looks like. They need matplotlib, the extra `plot`."""

from headgate.errors import UnsupportedError

try:
    from headgate.figures.allocation import draw_allocation
except ModuleNotFoundError as cause:
    if (cause.name or "").partition(".")[0] != "matplotlib":
        raise
    raise UnsupportedError("figures need matplotlib: pip install 'headgate[plot]'") from cause

__all__ = ["draw_allocation"]
