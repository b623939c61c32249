"""What long work tells while it runs: a bar on a terminal, lines elsewhere, and what is left if it is stopped."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

if TYPE_CHECKING:
    from headgate.calibration.calibration import Progress

_TENTHS = 10  # a piece of work is told of so many times, where there is no terminal to draw a bar on
_PAUSE = 5.0  # seconds between lines of progress where nobody watches a bar


@contextmanager
def what_is_left(out: Path | None) -> Iterator[None]:
    """Say, if the work is stopped by Ctrl-C, what there is of it."""
    try:
        yield
    except KeyboardInterrupt:
        files = sorted(path.name for path in out.iterdir()) if out is not None and out.is_dir() else []
        remains = f"{out} has {', '.join(files)}, perhaps of another calibration" if files else "nothing was written"
        typer.echo(f"stopped; {remains}. The log was only read: the same command begins again", err=True)
        raise


@contextmanager
def progress(*, always: bool = False) -> Iterator[Progress]:
    """Show on a terminal what is being done; elsewhere a line every few seconds, or with `always` at every tenth."""
    if not sys.stderr.isatty():
        yield _line if always else _seldom(_PAUSE)
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn  # noqa: PLC0415  # only people need it

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def show(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total or None)

        yield show


def _seldom(pause: float) -> Progress:
    """Say in a line what is being done, if nothing was said for `pause` seconds: a short run says nothing."""
    last = time.monotonic()

    def say(what: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= pause:
            last = time.monotonic()
            typer.echo(f"{what}: {done:,} of {total:,}" if total else what, err=True)

    return say


def _line(what: str, done: int, total: int) -> None:
    """Say in a line what is done, at every tenth of it."""
    if total == 0:
        typer.echo(what, err=True)
    elif done == total or done * _TENTHS // total > (done - 1) * _TENTHS // total:
        typer.echo(f"{what}: {done:,} of {total:,}", err=True)
