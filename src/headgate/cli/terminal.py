"""What the commands share: where they print, and with how many digits."""

from __future__ import annotations

import math
import shlex
import shutil
import sys
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text


def stdout() -> Console:
    """Return the console for results."""
    return Console(highlight=False)


def table(first: str, *others: str) -> Table:
    """Return an empty table: a column of texts, which may be broken, and columns of numbers."""
    empty = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    empty.add_column(Text(first), overflow="fold")
    for heading in others:
        empty.add_column(Text(heading), justify="right")
    return empty


def command() -> str:
    """Return how to call this program again: by its name where that finds it, else as it was called."""
    program = Path(sys.argv[0])
    path = shutil.which("headgate")
    if path is not None and program.exists() and Path(path).resolve() == program.resolve():
        return "headgate"
    if program.name == "headgate" and program.exists():
        return shlex.quote(str(program))
    return f"{shlex.quote(sys.executable)} -m headgate.cli"


def finite(number: float) -> float | None:
    """Return the number, or None where JSON has none: NaN, or the infinite slope of a curve at 0."""
    return number if math.isfinite(number) else None


def decimals(amount: float) -> int:
    """Return how many decimals show six digits of an amount this large.

    >>> decimals(40.0), decimals(0.001), decimals(1e9)
    (4, 8, 0)
    """
    if not 0.0 < amount < float("inf"):
        return 4
    digits = len(f"{amount:.0f}") if amount >= 1.0 else int(f"{amount:e}".partition("e")[2]) + 1
    return max(0, 6 - digits)
