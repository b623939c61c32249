"""Learners on real logs, thresholds and successes as logged: EdNet answers, bank marketing calls, solver runs (ASlib).

The reference is an even split; what is lost is counted against the best static allocation, chosen in hindsight.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import headgate as hg
from headgate.bench.harness import AtMost, benchmark, data_file, sized
from headgate.calibration.reading.ednet_pseudo import read_answers
from headgate.kernels.cells import best_cells
from headgate.policies import Policy

Floats = NDArray[np.float64]
_CELLS = 4000  # steps of the budget in which a static allocation is looked for


def replayed(policy: Policy, thresholds: Floats, budget: float) -> Floats:
    """Successes of each run and round, (runs, rounds), of thresholds (runs, rounds, K), infinite where none is."""
    won = np.zeros(thresholds.shape[:2])
    for t in range(thresholds.shape[1]):
        x, reach = policy.allocate(budget), thresholds[:, t]
        success = (reach <= x) & (x > 0.0)
        policy.observe(x, hg.Feedback(success, np.where(success, reach, np.nan)))
        won[:, t] = success.sum(axis=-1)
    return won


def best_static(thresholds: Floats, budget: float, cells: int = _CELLS) -> Floats:
    """The best of all fixed allocations for thresholds (rounds, K): dynamic programming in steps of the budget."""
    grid = np.arange(cells + 1) * (budget / cells)
    worth = np.stack([np.searchsorted(np.sort(arm), grid, side="right") for arm in thresholds.T]).astype(np.float64)
    worth[:, 0] = 0.0
    chosen = best_cells(worth, np.full(len(worth), cells), cells)
    return np.asarray(chosen * (budget / cells))


def _skipped(required: float) -> AtMost:
    return AtMost(np.nan, np.nan, required, note="skipped: needs real logs (--data)")


def _quiz(law: Callable[[hg.Problem], Any], at_most: float) -> Callable[[], AtMost]:
    def run() -> AtMost:
        quiz, path = hg.datasets.ednet_quiz("untrimmed"), data_file("ednet_pseudo_users.csv")
        if path is None:
            return _skipped(at_most)
        time, correct = read_answers(path, quiz.names)
        budget, batch = 694.86, np.repeat(np.arange(5), sized(2, 8))  # 5 batches of 1,000 students, seeds of each
        reach = np.where(correct, time, np.inf)[1000 * batch[:, None] + np.arange(1000)]
        best, even = quiz.solve(budget).x, budget / 20
        policy = hg.Thompson(law(quiz), arms=20, max_budget=budget, seed=np.arange(batch.size))
        optimum = (reach <= best).sum(axis=(1, 2))
        loss = optimum - replayed(policy, reach, budget).sum(axis=1)
        lost_even = float(np.mean(optimum - (reach <= even).sum(axis=(1, 2))))
        return AtMost.of(loss, lost_even, at_most, "answers lost against x* of the untrimmed fits, the same students")

    return run


benchmark("replay: EdNet, shapes known")(_quiz(lambda quiz: quiz.law, 115.0))
benchmark("replay: EdNet, shapes learned")(_quiz(lambda _: hg.Weibull(shape="learn"), 45.0))
benchmark("replay: EdNet, law learned")(_quiz(lambda _: "auto", 55.0))


@benchmark("replay: bank marketing, months as arms, whole units, law learned")
def bank_marketing() -> AtMost:
    """Every round a customer of each month, drawn at random; two calls a month on average. Second half of 2,000."""
    path, required = data_file("bank_marketing.csv"), 0.03
    if path is None:
        return _skipped(required)
    months: dict[str, list[float]] = {}
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter=";"):
            months.setdefault(row["month"], []).append(float(row["campaign"]) if row["y"] == "yes" else np.inf)
    runs, rounds, budget = sized(2, 10), 2000, 2 * len(months)
    rng = np.random.default_rng(11)
    reach = np.stack([rng.choice(np.array(calls), (runs, rounds)) for calls in months.values()], axis=-1)
    policy = hg.Thompson("auto-whole", arms=len(months), max_budget=float(budget), seed=np.arange(runs))
    return _second_half(policy, reach, float(budget), budget, required)


def _second_half(policy: Policy, reach: Floats, budget: float, cells: int, required: float) -> AtMost:
    half = reach.shape[1] // 2
    won = replayed(policy, reach, budget)[:, half:].sum(axis=1)
    static = np.stack([best_static(run[half:], budget, cells) for run in reach])
    best = (reach[:, half:] <= static[:, None]).sum(axis=(1, 2))
    even = (reach[:, half:] <= np.floor(budget / reach.shape[-1])).sum(axis=(1, 2))
    return AtMost.of(1.0 - won / best, float(np.mean(1.0 - even / best)), required, "share lost to the best static")


def solver_runs(path: Path, scenario: str) -> tuple[Floats, float]:
    """Seconds that each algorithm needs for each instance, infinite where it fails, and the cutoff."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["scenario"] == scenario]
    instances, algorithms = ({row[key]: None for row in rows} for key in ("instance_id", "algorithm"))
    place = {name: {v: k for k, v in enumerate(sorted(values))} for name, values in
             (("instance_id", instances), ("algorithm", algorithms))}  # fmt: skip
    seconds = np.full((len(instances), len(algorithms)), np.inf)
    for row in rows:
        if row["ok"] == "1":
            at = place["instance_id"][row["instance_id"]], place["algorithm"][row["algorithm"]]
            seconds[at] = float(row["runtime"])
    return seconds, float(rows[0]["cutoff"])


def _solvers(scenario: str, share: float) -> Callable[[], AtMost]:
    def run() -> AtMost:
        path = data_file("aslib_runs.csv.gz")
        if path is None:
            return _skipped(0.03)
        seconds, cutoff = solver_runs(path, scenario)
        budget, arms, orders = share * cutoff, seconds.shape[1], sized(1, 3)
        reach = np.stack([seconds[np.random.default_rng(5000 + o).permutation(len(seconds))[:1000]]
                          for o in range(orders)])  # fmt: skip
        policy = hg.Thompson("auto", arms=arms, max_budget=budget, seed=30 + np.arange(orders))
        static = np.stack([best_static(order, budget) for order in reach])
        best = (reach <= static[:, None]).sum(axis=(1, 2))
        won, even = replayed(policy, reach, budget).sum(axis=1), (reach <= budget / arms).sum(axis=(1, 2))
        lost_even = float(np.mean(1.0 - even / best))
        required = min(0.03, lost_even + 0.005)
        return AtMost.of(1.0 - won / best, lost_even, required, "share lost to the best static, 1,000 instances")

    return run


for _scenario in ("ASP-POTASSCO", "QBF-2014", "BNSL-2016"):
    for _share in (0.1, 0.3):
        benchmark(f"replay: ASlib {_scenario}, budget {_share:g} of the cutoff, law learned")(
            _solvers(_scenario, _share)
        )
