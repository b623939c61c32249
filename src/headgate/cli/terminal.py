"""What the commands share: where they print, and the sign that kernels are being compiled."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

import headgate


def stdout() -> Console:
    """Return the console for results."""
    return Console(highlight=False)


@contextmanager
def compiling() -> Iterator[None]:
    """Say on a terminal why the first call ever takes so long: Numba compiles the kernels."""
    console = Console(stderr=True)
    if not console.is_terminal or _compiled():
        yield
        return
    with console.status("compiling kernels (only the first time, up to a minute)"):
        yield


def _compiled() -> bool:
    """Whether Numba's cache holds any of our kernels."""
    elsewhere = os.environ.get("NUMBA_CACHE_DIR")
    place = Path(elsewhere) if elsewhere else Path(headgate.__file__).parent / "kernels" / "__pycache__"
    return any(place.rglob("*.nbi"))


def decimals(amount: float) -> int:
    """Return how many decimals show six digits of an amount this large.

    >>> decimals(40.0), decimals(0.001), decimals(1e9)
    (4, 8, 0)
    """
    if not 0.0 < amount < float("inf"):
        return 4
    digits = len(f"{amount:.0f}") if amount >= 1.0 else int(f"{amount:e}".partition("e")[2]) + 1
    return max(0, 6 - digits)
