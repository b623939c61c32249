"""A progress bar on a terminal: rounds per second and time left; silence everywhere else."""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np

_EVERY = 0.2  # seconds between two looks at the counters


@final
@dataclass(frozen=True, slots=True)
class Counters:
    """How many rounds each unit has played, in a small file that workers on this machine share."""

    path: str | None = None

    def add(self, unit: int, rounds: int) -> None:
        """Count rounds of a unit; workers elsewhere do not see the file, and their units count when finished."""
        self._change(unit, lambda before: before + rounds)

    def set(self, unit: int, rounds: int) -> None:
        """Say how far a unit is: 0 when it begins, perhaps not for the first time, and all rounds when finished."""
        self._change(unit, lambda _: rounds)

    def _change(self, unit: int, change: Callable[[int], int]) -> None:
        if self.path is not None:
            with suppress(OSError):
                counters = np.memmap(self.path, dtype=np.int64, mode="r+")
                counters[unit] = change(int(counters[unit]))


@contextmanager
def progress(units: int, rounds: int, *, shown: bool | None) -> Iterator[Counters]:
    """Show a bar for `rounds` rounds in all; by default if stderr is a terminal."""
    if not (sys.stderr.isatty() if shown is None else shown):
        yield Counters()
        return
    from rich.console import Console  # noqa: PLC0415  # only people need it
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415  # rich
    from rich.text import Text  # noqa: PLC0415  # rich

    class Speed(ProgressColumn):
        def render(self, task: object) -> Text:
            speed = getattr(task, "speed", None)
            return Text("" if speed is None else f"{speed:,.0f} rounds/s", style="dim")

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"), Speed())
    console = Console(stderr=True, force_terminal=shown)
    bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True, refresh_per_second=5)
    with tempfile.TemporaryDirectory(prefix="headgate-") as folder, bar:
        path = Path(folder) / "rounds"
        path.write_bytes(bytes(8 * max(units, 1)))
        task = bar.add_task("simulating", total=rounds)
        stop = threading.Event()

        def look() -> None:
            while not stop.wait(_EVERY):
                bar.update(task, completed=int(np.fromfile(path, dtype=np.int64).sum()))

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield Counters(str(path))
        finally:
            stop.set()
            watcher.join()
