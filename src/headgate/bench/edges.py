"""Edges: what a decision costs in the caller's process, and what is paid for knowledge that comes late.

`python -m headgate.bench.edges docs/images/edges.png` draws regret against the number of edges and the delay.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import headgate as hg
from headgate.bench.harness import AtMost, Result, benchmark, sized
from headgate.client import Retry

Floats = NDArray[np.float64]
BUDGET, ROUNDS = 40.0, 20_000
_TOGETHER = 500
"""Edges whose decisions are made in one batch; they see the same evidence, so they may be made in any order."""


def regret(
    edges: int, *, delay: int = 1, rounds: int = ROUNDS, seed: int = 0, prior: hg.Evidence | None = None
) -> float:
    """Return the expected regret of all rounds together, on the paper's saved instance at a budget of 40.

    Every edge plays rounds / edges rounds and pushes and pulls after each `delay` of its own; `prior` is a warm start.
    """
    problem = hg.datasets.saved_instance()
    best, rng = float(problem.solve(BUDGET).value), np.random.default_rng(seed)
    total = hg.Evidence.empty(problem.arms, BUDGET) if prior is None else prior.copy()
    loss, each = 0.0, max(rounds // edges, 1)
    some = np.array_split(seed * 1_000_003 + np.arange(edges), -(-edges // _TOGETHER))
    policies = [hg.Thompson(problem.law, problem.arms, BUDGET, seed=seeds) for seeds in some]
    states: list[Any] = [None] * len(policies)
    for start in range(0, each, delay):
        news = np.zeros_like(total.bins)
        for place, policy in enumerate(policies):
            count = len(some[place])
            evidence = replace(total, bins=np.repeat(total.bins[None], count, axis=0))
            state = policy.start(evidence) if states[place] is None else replace(states[place], evidence=evidence)
            policy.renew(state)
            for _ in range(start, min(start + delay, each)):
                x, state = policy.decide(state, policy.ask(BUDGET))
                loss += best * count - float(problem.expected_reward(x).sum())
                state = policy.absorb(state, x, problem.play(x, rng))
            news += (state.evidence.bins - total.bins).sum(axis=0)
            states[place] = replace(state, evidence=total)  # what it saw is all that needs room
        total.bins[...] += news
    return loss


def warm(rows: int = 2000, seed: int = 9) -> hg.Evidence:
    """Return the evidence of a log of so many rounds that were split evenly."""
    problem = hg.datasets.saved_instance()
    x = np.full((rows, problem.arms), BUDGET / problem.arms)
    evidence = hg.Evidence.empty(problem.arms, BUDGET)
    feedback = problem.play(x, np.random.default_rng(seed))
    for row in range(rows):
        evidence.record(x[row], hg.Feedback(feedback.success[row], feedback.threshold[row]))
    return evidence


@contextmanager
def serving(database: str) -> Iterator[hg.Client]:
    """Run a service in a process of its own, and talk to it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "headgate.cli", "serve", "--database", database, "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with hg.Client(f"http://127.0.0.1:{port}", retry=Retry(deadline=120.0)) as client:
            client.health()
            yield client
    finally:
        process.terminate()
        process.wait()


@benchmark("cost: a decision at an edge, against one over HTTP")
def decision() -> Result:
    """One caller, one decision after the other, the paper's ten arms; the service here, on SQLite."""
    with tempfile.TemporaryDirectory() as folder, serving(f"sqlite:///{folder}/bench.db") as client:
        client.put_allocator("quiz", [f"q{i}" for i in range(10)], hg.Exponential(), BUDGET)
        client.import_evidence("quiz", warm(), "log")
        edge = hg.Edge(client, "quiz", keep_decisions=False)
        edge.pull()
        least = [np.inf, np.inf]
        for _ in range(60):
            ways: tuple[tuple[Callable[[], object], int], ...] = (
                (lambda: edge.decide(BUDGET), 64),
                (lambda: client.decide("quiz", BUDGET), 8),
            )
            for place, (decide, calls) in enumerate(ways):
                began = time.perf_counter()
                for _ in range(calls):
                    decide()
                least[place] = min(least[place], (time.perf_counter() - began) / calls)
    return Result(least[0], least[1], required=50.0, note="the least of 60 repeats in turn")


@benchmark("regret: ten edges that merge after every round of theirs")
def ten() -> AtMost:
    runs = sized(5, 40)
    alone = float(np.mean([regret(1, seed=s) for s in range(sized(2, 10))]))
    return AtMost.of([regret(10, seed=s) for s in range(runs)], alone, required=75.0, note="the reference: one learner")


@benchmark("regret: a thousand edges, one round of ignorance each, after a warm start")
def thousand() -> AtMost:
    runs = sized(5, 20)
    cold = float(np.mean([regret(1000, seed=s) for s in range(2)]))
    prior = warm()
    return AtMost.of(
        [regret(1000, seed=s, prior=prior) for s in range(runs)], cold, required=300.0,
        note="2,000 rounds of a log, split evenly; the reference: without",
    )  # fmt: skip


def _mean(edges: int, delay: int, prior: hg.Evidence | None) -> float:
    """The mean regret of two runs; of one edge alone, however often it pushes."""
    return float(np.mean([regret(edges, delay=delay, seed=seed, prior=prior) for seed in range(2)]))


def draw(file: Path) -> dict[str, list[float]]:
    """Draw regret against edges, for several delays and after a warm start; return the means that are drawn."""
    from headgate.figures import style  # noqa: PLC0415  # plotting is an extra

    edges, prior = [1, 10, 100, 1_000, 10_000], warm()
    regrets: dict[str, list[float]] = {}
    points: dict[str, list[int]] = {}
    for name, delay, start in (
        ("after every round of theirs", 1, None),
        ("after every 10 rounds", 10, None),
        ("after every 100 rounds", 100, None),
        ("after every round, warm start", 1, prior),
    ):
        points[name] = [n for n in edges if ROUNDS // n >= delay]
        # One edge alone has all the evidence already: it exchanges nothing.
        regrets[name] = [_mean(n, delay if n > 1 else ROUNDS, start) for n in points[name]]

    def lines(figure: Any) -> None:
        axes = figure.subplots()
        for name, means in regrets.items():
            axes.loglog(points[name], means, marker="o", label=name)
        axes.set(xlabel="edges", ylabel=f"regret of {ROUNDS:,} rounds in all")
        axes.legend(title="pushes and pulls")

    style.write(file, (7.0, 4.2), lines)
    return regrets


if __name__ == "__main__":
    for line, means in draw(Path(sys.argv[1])).items():
        print(line, [round(mean, 1) for mean in means])  # what the figure shows
