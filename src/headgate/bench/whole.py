"""Whole processes: how soon a clean install answers, what a simulation holds in memory, how long the figures take."""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from headgate.bench.harness import AtMost, Result, benchmark, process

TEN_LINES = """
import headgate as hg
import numpy as np
quiz = hg.Problem(hg.Weibull(shape=1.6), activation=[0.9, 0.6, 0.4], rate=[0.02, 0.05, 0.03])
best = quiz.solve(budget=90.0)
best.x.round(1), round(float(best.value), 4), bool(best.gap <= 1e-9)
policy = hg.Thompson(hg.Weibull(shape=1.6), arms=3, max_budget=90.0, seed=0)
rng = np.random.default_rng(1)
for student in range(600):
    x = policy.allocate(90.0)
    policy.observe(x, quiz.play(x, rng))
bool(quiz.expected_reward(policy.allocate(90.0)) > 0.95 * best.value)
"""
"""The README's, without its comments."""

_SIMULATE = """
import headgate as hg
hg.simulate(hg.datasets.saved_instance(), {{"thompson": hg.Thompson}}, budget=40.0, rounds={rounds}, runs=15)
"""


_NUMBA = """
import numba
import numpy as np
for function in (
    lambda x: np.median(x), lambda x: np.unique(x), lambda x: np.quantile(x, 0.5),
    lambda x: np.argsort(x, kind="mergesort"), lambda x: np.interp(x, x, x),
):
    numba.njit(function)(np.ones(3))
"""
"""What Numba takes for five functions of its own: the measure of a machine, and of how busy it is."""


@benchmark("cost: the README's ten lines, cold")
def cold_start() -> AtMost:
    """Processor time of a process that finds no machine code; the reference is Numba, on something else, just then."""
    with TemporaryDirectory() as folder:
        cold, numba = process(TEN_LINES, HEADGATE_CACHE=folder), process(_NUMBA)
        warm = process(TEN_LINES, HEADGATE_CACHE=folder)
    return AtMost(cold.cpu, numba.cpu, 22.0, note=f"CPU seconds; {warm.cpu:.1f} when the code is kept")


@benchmark("start: import headgate, against import numpy")
def start() -> Result:
    pairs = [(process("import headgate").cpu, process("import numpy").cpu) for _ in range(5)]
    ours, reference = (statistics.median(column) for column in zip(*pairs, strict=True))
    return Result(ours, reference, 1.0, "CPU time of whole processes")


@benchmark("memory: 50,000 rounds of 15 runs, against 1,000 rounds")
def memory() -> AtMost:
    """Peak memory does not depend on the rounds, so that of a million is that of fifty thousand."""
    long, short = (process(_SIMULATE.format(rounds=rounds)).megabytes for rounds in (50_000, 1000))
    return AtMost(
        long, short, 1000.0, note="MB at the most, K=10; a million rounds: the same", holds=long < 1.2 * short
    )


@benchmark("time: every figure of the paper, quick")
def reproduction() -> AtMost:
    with TemporaryDirectory() as folder:
        begun = perf_counter()
        command = [
            sys.executable,
            "-m",
            "headgate.cli",
            "reproduce",
            "all",
            "--quick",
            "--out",
            str(Path(folder) / "out"),
        ]
        subprocess.run(command, check=True, capture_output=True)
        seconds = perf_counter() - begun
    return AtMost(seconds, 120.0, 120.0, note="seconds, of the two minutes allowed; needs headgate[all]")
