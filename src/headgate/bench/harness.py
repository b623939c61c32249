"""Measure two functions side by side or a process by itself, and collect the benchmarks of all modules.

A benchmark is a function without arguments that returns a `Result` (ours must be so many times faster than the
reference) or an `AtMost` (ours must not exceed a bar); `@benchmark("name")` registers it, `headgate bench --only name`
runs it. A row is five lines::

    @benchmark("regret: my policy on my problem")
    def mine() -> AtMost:
        regrets = play(MyPolicy, problem, 40.0, rounds=10_000, runs=40)
        return AtMost.of(regrets, even_split(problem, 40.0, 10_000), required=35.0)  # mean; p95 and worst in the note
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike


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
        """How many times faster ours is; infinity if ours is 0, such as a share of runs that break a promise."""
        return self.reference / self.ours if self.ours != 0.0 else inf

    @property
    def met(self) -> bool:
        """Whether the requirement is met."""
        return bool(self.holds and self.ratio >= self.required)  # of NumPy's numbers too

    def cells(self) -> tuple[str, str, str, str]:
        """Ours, the reference, the ratio and the requirement, for people to read."""
        return _seconds(self.ours), _seconds(self.reference), _factor(self.ratio), f">= {_factor(self.required)}"


@dataclass(frozen=True)
class AtMost(Result):
    """A figure of ours, such as regret or megabytes, and of the reference; ours must be at most `required`.

    NaN: skipped, as what it needs is not at hand.
    """

    @classmethod
    def of(cls, values: ArrayLike, reference: float, required: float, note: str = "", worst: float = inf) -> Self:
        """The mean of some runs beside the bar, with p95 and the worst of them, which may be at most `worst`."""
        runs = np.asarray(values, dtype=np.float64)
        spread = f"p95 {np.percentile(runs, 95):.4g}, worst {runs.max():.4g} of {runs.size}"
        return cls(
            float(runs.mean()), reference, required, "; ".join(filter(None, (spread, note))), bool(runs.max() <= worst)
        )

    @property
    def met(self) -> bool:
        """Whether the requirement is met."""
        return bool(self.ours != self.ours or (self.holds and self.ours <= self.required))  # NaN

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
_FULL = [False]


def use_full(full: bool) -> None:
    """Say whether figures are taken in full, or quickly from fewer runs."""
    _FULL[0] = full


def sized(quick: int, full: int) -> int:
    """How many runs a figure is taken from: so many quickly, so many in full."""
    return full if _FULL[0] else quick


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


def once(function: Callable[[], Any], calls: int, clock: Callable[[], float] = perf_counter) -> float:
    """Seconds per call, of `calls` in a row."""
    gc.disable()
    start = clock()
    for _ in range(calls):
        function()
    spent = clock() - start
    gc.enable()
    return spent / calls


def side_by_side(
    ours: Callable[[], Any],
    reference: Callable[[], Any],
    *,
    repeats: int = 7,
    least: tuple[float, float] = (0.02, 0.02),
    clock: Callable[[], float] = perf_counter,
) -> tuple[float, float]:
    """Median seconds of both, measured in turn so that a busy machine slows both.

    Each repeat takes at least so many seconds, in as many calls as that needs; 0: a single call. `clock` may be
    `time.process_time`, for work of one thread that a busy machine would interrupt more often than its reference.
    """
    calls = []
    for function, enough in zip((ours, reference), least, strict=True):
        once(function, 1, clock)  # warm-up: caches, lazy imports, machine code
        calls.append(max(1, int(enough / max(once(function, 1, clock), 1e-9))))
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for seconds, function, count in zip(times, (ours, reference), calls, strict=True):
            seconds.append(once(function, count, clock))
    return statistics.median(times[0]), statistics.median(times[1])


class Process(NamedTuple):
    """What a process of its own took: seconds by the clock and of the processors, and megabytes at its peak."""

    seconds: float
    cpu: float
    megabytes: float


# The peak of the process itself: the kernel counts in `ru_maxrss` what its parent held when it was forked.
_PEAK = """
import re, resource
with open("/proc/self/status") as status:
    peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read())[1]) / 1024
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print()
print(sum(usage.ru_utime + usage.ru_stime for usage in used), peak)
"""


def process(code: str, *arguments: str, **environment: str) -> Process:
    """Run Python code in a process of its own, so that nothing that this one holds or has imported counts."""
    start = perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code + _PEAK, *arguments],
        env=os.environ | environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    seconds = perf_counter() - start
    cpu, megabytes = map(float, done.stdout.splitlines()[-1].split())
    return Process(seconds, cpu, megabytes)
