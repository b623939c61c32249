"""Whole commands: what a simulation of many rounds holds in memory, and how long the paper's figures take."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from headgate.bench.harness import Regret, benchmark

_SIMULATE = """
import resource
import headgate as hg
hg.simulate(hg.datasets.saved_instance(), {{"thompson": hg.Thompson}}, budget=40.0, rounds={rounds}, runs=15)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def _megabytes(rounds: int) -> float:
    code = _SIMULATE.format(rounds=rounds)
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(found.stdout)


@benchmark("memory: 50,000 rounds of 15 runs, against 1,000 rounds")
def memory() -> Regret:
    """Peak memory does not depend on the rounds, so that of a million is that of fifty thousand."""
    long, short = _megabytes(50_000), _megabytes(1000)
    return Regret(
        long, short, 1000.0, note="MB at the most, K=10; a million rounds: the same", holds=long < 1.2 * short
    )


@benchmark("time: every figure of the paper, quick")
def reproduction() -> Regret:
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
    return Regret(seconds, 120.0, 120.0, note="seconds, of the two minutes allowed; needs headgate[all]")
