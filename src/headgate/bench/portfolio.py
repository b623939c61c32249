"""Arms that share a round's fate, on real solver runs (ASlib): chosen on half of the instances, tried on the others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import headgate as hg
from headgate.bench.harness import AtMost, benchmark, data_file, sized
from headgate.bench.replays import solver_runs
from headgate.rounds.crossfit import SMOOTH, choose

Floats = NDArray[np.float64]
_LEAST = {"ASP-POTASSCO": (0.748, 0.735), "BNSL-2016": (0.853, 0.840), "QBF-2014": (0.607, 0.600)}


def _skipped(required: float) -> AtMost:
    return AtMost(np.nan, np.nan, required, note="skipped: needs real logs (--data)")


def _solved(rows: Floats, x: Floats) -> float:
    return float(np.mean((rows <= x).any(axis=1)))


def _halves(seconds: Floats, split: int) -> tuple[Floats, Floats]:
    order = np.random.default_rng(split).permutation(len(seconds))
    return seconds[order[: len(order) // 2]], seconds[order[len(order) // 2 :]]


def _rows(scenario: str, share: float) -> Callable[[], AtMost]:
    def run() -> AtMost:
        path, least = data_file("aslib_runs.csv.gz"), _LEAST[scenario][0] if share == 0.1 else 0.0
        if path is None:
            return _skipped(1.0 - least)
        seconds, cutoff = solver_runs(path, scenario)
        budget, missed, best, off = share * cutoff, [], [], []
        for split in range(5):
            fit, test = _halves(seconds, split)
            choice = choose(hg.Rounds(fit), budget)
            missed.append(1.0 - _solved(test, choice.x))
            off.append(choice.claim - _solved(test, choice.x))
            arms = np.eye(fit.shape[1]) * budget
            single = arms[int(np.argmax([_solved(fit, x) for x in arms]))]
            best.append(max(_solved(test, single), _solved(test, np.full(fit.shape[1], budget / fit.shape[1]))))
        other = 1.0 - float(np.mean(best))
        note = f"share not solved; claims off by {np.mean(off):+.4f}; reference: the best single arm or the even split"
        return AtMost.of(missed, other, min(other + 0.005, 1.0 - least), note)

    return run


def _censored(scenario: str) -> Callable[[], AtMost]:
    def run() -> AtMost:
        path, least = data_file("aslib_runs.csv.gz"), _LEAST[scenario][1]
        if path is None:
            return _skipped(1.0 - least)
        seconds, cutoff = solver_runs(path, scenario)
        budget, missed = 0.1 * cutoff, []
        for split in range(sized(2, 5)):
            fit, test = _halves(seconds, split)
            limit = cutoff * np.random.default_rng(split).random(fit.shape)
            rounds = hg.Rounds(np.where(fit <= limit, fit, np.inf), limit)
            missed.append(1.0 - _solved(test, rounds.best_static(budget, "cascade", smooth=SMOOTH).x))
        return AtMost.of(
            missed, 1.0 - least, 1.0 - least, "share not solved; rows cut at random amounts up to the cutoff"
        )

    return run


def _online(scenario: str) -> Callable[[], AtMost]:
    def run() -> AtMost:
        path = data_file("aslib_runs.csv.gz")
        if path is None:
            return _skipped(0.05)
        seconds, cutoff = solver_runs(path, scenario)
        budget, lost, even = 0.1 * cutoff, [], []
        for order in range(sized(1, 5)):
            rows = seconds[np.random.default_rng(5000 + order).permutation(len(seconds))[:1000]]
            best = float(hg.Rounds(rows).best_static(budget, "cascade").value)
            policy = hg.Portfolio(hg.Exponential(), rows.shape[1], budget, seed=order, reward="cascade")
            won = 0
            for reach in rows:
                x = policy.allocate(budget)
                success = (reach <= x) & (x > 0.0)
                policy.observe(x, hg.Feedback(success, np.where(success, reach, np.nan)))
                won += bool(success.any())
            lost.append(1.0 - won / len(rows) / best)
            even.append(1.0 - _solved(rows, np.full(rows.shape[1], budget / rows.shape[1])) / best)
        return AtMost.of(lost, float(np.mean(even)), 0.05, "share lost to the best static, 1,000 instances")

    return run


for _scenario in _LEAST:
    for _share in (0.1, 0.3, 1.0):
        benchmark(f"portfolio: ASlib {_scenario}, budget {_share:g} of the cutoff")(_rows(_scenario, _share))
    benchmark(f"portfolio: ASlib {_scenario}, rows cut short, budget 0.1")(_censored(_scenario))
    benchmark(f"portfolio: ASlib {_scenario}, online, budget 0.1")(_online(_scenario))
