"""What is promised, measured: how often sets and intervals miss, how often a guard's promise breaks, what both cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

import headgate as hg
from headgate.bench.harness import AtMost, Result, benchmark, side_by_side, sized
from headgate.bench.learning import Loop, even_split, instances, play
from headgate.estimators.success import success
from headgate.experiments.report.optimist import DELTAS, LAWS, count_missed

Floats = NDArray[np.float64]
_ACTIVATION, _RATE = np.array([0.9, 0.5, 0.2]), np.array([0.3, 0.6, 1.0])
_BUDGET = 6.0


@benchmark("regret: LRUCB, paper's setting, T = 5,000")
def optimist_in_the_papers_setting() -> AtMost:
    runs = sized(4, 40)
    problem = instances(10, (1 / 40, 2.0), (0.05, 1.0), runs, seed=2)
    return AtMost.of(play(hg.LRUCB, problem, 40.0, 5000, runs), even_split(problem, 40.0, 5000), 65.0)


@benchmark("regret: LRUCB, EdNet quiz, T = 1,000")
def optimist_in_the_quiz() -> AtMost:
    quiz = hg.datasets.ednet_quiz("untrimmed")
    return AtMost.of(play(hg.LRUCB, quiz, 694.86, 1000, sized(4, 20)), even_split(quiz, 694.86, 1000), 250.0)


def _missed(law: hg.laws.Law, delta: float) -> Callable[[], AtMost]:
    def run() -> AtMost:
        runs = sized(200, 2000)
        share = count_missed(law, delta, runs, rounds=150) / runs
        return AtMost(share, delta, delta, f"share of {runs} runs in which an envelope was ever too low")

    return run


for _law in LAWS:
    for _delta in DELTAS:
        benchmark(f"coverage: LRUCB, {_law}, delta {_delta:g}")(_missed(_law, _delta))


def _uncovered(law: hg.laws.Law, activation: float, rate: float, most: float, at: float) -> Callable[[], AtMost]:
    def run() -> AtMost:
        """300 rounds at U(most / 5, most), then the interval of the chance of success at `at`."""
        rng, runs, rounds, hits = np.random.default_rng(12345), sized(1000, 4000), 300, 0
        truth = activation * float(law.cdf(at, rate))
        for _ in range(runs):
            x, threshold = rng.uniform(0.2 * most, most, rounds), law.sample(np.full(rounds, rate), rng)
            won = (rng.random(rounds) < activation) & (threshold <= x)
            rows = hg.Evidence.of_rows(
                np.zeros(rounds, int), x, won, np.where(won, threshold, np.nan), arms=1, max_budget=40.0
            )
            low, high = success(law, rows, np.array([at]), 0.9).interval[0]
            hits += bool(low <= truth <= high)
        note = f"covered in {hits / runs:.3f} of {runs} data sets; ours: how far that is from .9"
        return AtMost(abs(hits / runs - 0.9), 0.1, 0.03, note)

    return run


for _case, _arguments in (
    ("exponential", (hg.Exponential(), 0.6, 0.15, 12.0, 6.0)),
    ("exponential, a ridge", (hg.Exponential(), 0.9, 0.08, 3.0, 3.0)),
    ("exponential, a ridge, beyond what was given", (hg.Exponential(), 0.9, 0.08, 3.0, 6.0)),
    ("Weibull(3), a ridge", (hg.Weibull(3.0), 0.9, 0.15, 4.0, 4.0)),
):
    benchmark(f"coverage: success(x), {_case}")(_uncovered(*_arguments))


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


def _guarded_problem(name: str) -> tuple[hg.Problem, Floats]:
    """Three S-shaped arms, and a baseline that is optimal, even or terrible."""
    problem = hg.Problem(hg.Weibull(1.5), _ACTIVATION, _RATE)
    baseline = {"optimal": problem.solve(_BUDGET).x, "even": np.full(3, _BUDGET / 3), "bad": np.array([0, 0, 6.0])}
    return problem, baseline[name]


def _broken(name: str, rounds: int = 150) -> Callable[[], AtMost]:
    def run() -> AtMost:
        (problem, baseline), runs = _guarded_problem(name), sized(200, 1000)
        _, broken = guarded_run(problem, baseline, rounds, runs, guard=True)
        _, bare_broken = guarded_run(problem, baseline, rounds, runs, guard=False)
        return AtMost(float(broken.mean()), float(bare_broken.mean()), 0.05, f"share of {runs} runs; reference: bare")

    return run


def _extra(name: str, rounds: int = 1600) -> Callable[[], AtMost]:
    def run() -> AtMost:
        """What the guard costs in the second half of the rounds, against the first: a bounded cost stops growing."""
        (problem, baseline), runs = _guarded_problem(name), sized(20, 200)
        with_guard, bare = (guarded_run(problem, baseline, rounds, runs, guard)[0] for guard in (True, False))
        extra = (with_guard - bare).mean(axis=1)
        curve = ", ".join(f"{extra[t - 1]:.1f} at {t}" for t in (rounds >> k for k in range(5, -1, -1)))
        late, early = float(extra[-1] - extra[rounds // 2 - 1]), float(np.max(np.abs(extra[: rounds // 2])))
        return AtMost(late, early, 0.2 * early, f"{runs} runs: extra regret {curve}; reference: the most it was before")

    return run


for _name in ("optimal", "even", "bad"):
    benchmark(f"guard: promise broken, {_name} baseline")(_broken(_name))
    benchmark(f"guard: extra regret in the second half, {_name} baseline")(_extra(_name))
