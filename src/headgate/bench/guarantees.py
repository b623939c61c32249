"""What is promised, measured: how often LRUCB's sets miss, how often a guard's promise breaks, and what both cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

import headgate as hg
from headgate.bench.harness import AtMost, Result, benchmark, side_by_side
from headgate.bench.learning import Loop, even_split, instances, play

Floats = NDArray[np.float64]
_ACTIVATION, _RATE = np.array([0.9, 0.5, 0.2]), np.array([0.3, 0.6, 1.0])
_BUDGET = 6.0


@benchmark("regret: LRUCB, paper's setting, T = 5,000")
def optimist_in_the_papers_setting() -> AtMost:
    problem = instances(10, (1 / 40, 2.0), (0.05, 1.0), 40, seed=2)
    return AtMost.of(play(hg.LRUCB, problem, 40.0, 5000, 40), even_split(problem, 40.0, 5000), 65.0)


@benchmark("regret: LRUCB, EdNet quiz, T = 1,000")
def optimist_in_the_quiz() -> AtMost:
    quiz = hg.datasets.ednet_quiz()
    return AtMost.of(play(hg.LRUCB, quiz, 694.86, 1000, 20), even_split(quiz, 694.86, 1000), 250.0, "20 seeds")


def _missed(law: hg.laws.Law, delta: float, runs: int = 2000, rounds: int = 150) -> Callable[[], AtMost]:
    def run() -> AtMost:
        problem, rng = hg.Problem(law, _ACTIVATION, _RATE), np.random.default_rng(1)
        policy = hg.LRUCB(law, 3, _BUDGET, delta=delta, seed=np.arange(runs))
        truth = (_ACTIVATION * law.cdf(np.exp(policy.log_places)[:, None], _RATE)).T
        missed = np.zeros(runs, dtype=bool)
        for _ in range(rounds):
            x = policy.allocate(_BUDGET)
            missed |= (policy.state.curves[..., 0] < truth - 1e-9).any(axis=(-1, -2))
            policy.observe(x, problem.play(x, rng))
        return AtMost(float(missed.mean()), delta, delta, f"share of {runs} runs in which an envelope was ever too low")

    return run


for _law in (hg.Exponential(), hg.Weibull(2.0), hg.LogNormal(0.8)):
    for _delta in (0.05, 0.2):
        benchmark(f"coverage: LRUCB, {_law}, delta {_delta:g}")(_missed(_law, _delta))


@benchmark("cost: LRUCB against Thompson")
def optimist_against_thompson() -> Result:
    ours, reference = (
        Loop(partial(make, hg.Exponential(), arms=10, max_budget=40.0), 10) for make in (hg.LRUCB, hg.Thompson)
    )
    mine, theirs = side_by_side(ours, reference, least=(0.2, 0.2))
    return Result(mine / 64, theirs / 64, 1.0 / 20.0, "a round of one learner, K=10")


def guarded_run(problem: hg.Problem, baseline: Floats, rounds: int, runs: int, guard: bool) -> tuple[Floats, Floats]:
    """Regret after each round, (rounds, runs), and whether a run ever fell below .95 of the baseline, (runs,)."""
    bare = hg.Thompson(problem.law, problem.arms, _BUDGET, seed=np.arange(runs))
    policy = hg.Guarded(bare, baseline) if guard else bare
    rng, best = np.random.default_rng(2), problem.solve(_BUDGET).value
    usual = 0.95 * problem.expected_reward(baseline)
    earned, regret, broken = np.zeros(runs), np.zeros((rounds, runs)), np.zeros(runs, dtype=bool)
    for t in range(rounds):
        x = policy.allocate(_BUDGET)
        earned += problem.expected_reward(x)
        regret[t] = (t + 1) * best - earned
        broken |= earned < (t + 1) * usual - 1e-6
        policy.observe(x, problem.play(x, rng))
    return regret, broken


def _broken(name: str, runs: int = 1000, rounds: int = 150) -> Callable[[], AtMost]:
    def run() -> AtMost:
        problem = hg.Problem(hg.Weibull(1.5), _ACTIVATION, _RATE)
        baseline = {"optimal": problem.solve(_BUDGET).x, "even": np.full(3, _BUDGET / 3), "bad": np.array([0, 0, 6.0])}
        (regret, broken), (bare, bare_broken) = (
            guarded_run(problem, baseline[name], rounds, runs, guard) for guard in (True, False)
        )
        extra = (regret - bare).mean(axis=1)
        curve = ", ".join(f"{extra[t - 1]:.1f} at {t}" for t in (rounds // 8, rounds // 4, rounds // 2, rounds))
        return AtMost(float(broken.mean()), float(bare_broken.mean()), 0.05, f"extra regret {curve}; reference: bare")

    return run


for _name in ("optimal", "even", "bad"):
    benchmark(f"guard: promise broken, {_name} baseline")(_broken(_name))
