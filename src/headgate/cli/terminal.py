"""What the commands share: where they print, and with how many digits."""

from __future__ import annotations

from rich.console import Console


def stdout() -> Console:
    """Return the console for results."""
    return Console(highlight=False)


def decimals(amount: float) -> int:
    """Return how many decimals show six digits of an amount this large.

    >>> decimals(40.0), decimals(0.001), decimals(1e9)
    (4, 8, 0)
    """
    if not 0.0 < amount < float("inf"):
        return 4
    digits = len(f"{amount:.0f}") if amount >= 1.0 else int(f"{amount:e}".partition("e")[2]) + 1
    return max(0, 6 - digits)
