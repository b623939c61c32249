"""Measure two functions side by side, and collect the benchmarks of all modules.

A benchmark is a function without arguments that returns a `Result`; `@benchmark("name")` registers it.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar


@dataclass(frozen=True)
class Result:
    """Seconds of ours and of the reference, and how many times faster ours must be at least.

    A required ratio below 1 says how much slower it may be.
    """

    ours: float
    reference: float
    required: float
    note: str = ""
    holds: bool = True
    """Whatever else must be true, such as a value that is never worse."""

    @property
    def ratio(self) -> float:
        """How many times faster ours is."""
        return self.reference / self.ours

    @property
    def met(self) -> bool:
        """Whether the requirement is met."""
        return self.holds and self.ratio >= self.required

    def cells(self) -> tuple[str, str, str, str]:
        """Ours, the reference, the ratio and the requirement, for people to read."""
        return _seconds(self.ours), _seconds(self.reference), _factor(self.ratio), f">= {_factor(self.required)}"


@dataclass(frozen=True)
class Regret(Result):
    """Regret of ours and of the reference; ours must be at most `required`. NaN: skipped."""

    @property
    def met(self) -> bool:
        """Whether the requirement is met."""
        return self.ours != self.ours or (self.holds and self.ours <= self.required)  # NaN

    def cells(self) -> tuple[str, str, str, str]:
        """Ours, the reference, the ratio and the requirement, for people to read."""
        return f"{self.ours:,.4g}", f"{self.reference:,.4g}", _factor(self.ratio), f"<= {self.required:,.4g}"


def _seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def _factor(value: float) -> str:
    return f"{value:,.0f}x" if value >= 10.0 else f"{value:.2f}x"


BENCHMARKS: dict[str, Callable[[], Result]] = {}
_DATA: list[Path] = []


def use_data(folder: Path) -> None:
    """Say where data that may not be shipped lies."""
    _DATA[:] = [folder]


def data_file(name: str) -> Path | None:
    """Return the path of a data file, or None if it is not at hand."""
    return next((folder / name for folder in _DATA if (folder / name).is_file()), None)


_Benchmark = TypeVar("_Benchmark", bound=Callable[[], Result])


def benchmark(name: str) -> Callable[[_Benchmark], _Benchmark]:
    """Register a benchmark under a name."""

    def register(function: _Benchmark) -> _Benchmark:
        BENCHMARKS[name] = function
        return function

    return register


def once(function: Callable[[], Any], calls: int) -> float:
    """Seconds per call, of `calls` in a row."""
    gc.disable()
    start = perf_counter()
    for _ in range(calls):
        function()
    spent = perf_counter() - start
    gc.enable()
    return spent / calls


def side_by_side(
    ours: Callable[[], Any],
    reference: Callable[[], Any],
    *,
    repeats: int = 7,
    least: tuple[float, float] = (0.02, 0.02),
) -> tuple[float, float]:
    """Median seconds of both, measured in turn so that a busy machine slows both.

    Each repeat takes at least so many seconds, in as many calls as that needs; 0: a single call.
    """
    calls = []
    for function, enough in zip((ours, reference), least, strict=True):
        once(function, 1)  # warm-up: caches, lazy imports, machine code
        calls.append(max(1, int(enough / once(function, 1))))
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for taken, function, count in zip(times, (ours, reference), calls, strict=True):
            taken.append(once(function, count))
    return statistics.median(times[0]), statistics.median(times[1])
