"""Live rounds: what they earn on real answers against the best plan there is, what they cost, how far the bound is.

"Best plan" is the best fixed allocation in hindsight, found on the very rows that are played; a share of 0.8 means that
a plan which knows everything earns 0.8 of what live rounds do.
"""

from __future__ import annotations

from functools import cache
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

import headgate as hg
from headgate.bench.harness import AtMost, Result, benchmark, data_file, side_by_side
from headgate.calibration.reading.ednet_pseudo import read_answers
from headgate.live.points import curve_points

Floats = NDArray[np.float64]
ORDERS, ROUNDS = 12, 1500
# Budget in seconds: what live rounds must gain on the best plan, curves known, learned, and learned in the second half.
GAINS = {200.0: (0.225, 0.155, 0.18), 400.0: (0.185, 0.15, 0.175), 694.86: (0.14, 0.13, 0.135)}


@cache
def _rows() -> Floats | None:
    """What each answer took, infinite if it was wrong: (orders, rounds, questions)."""
    path = data_file("ednet_pseudo_users.csv")
    if path is None:
        return None
    time, correct = read_answers(path, hg.datasets.ednet_quiz().names)
    reach = np.where(correct, time, np.inf)
    orders = [np.random.default_rng(seed).permutation(len(reach))[:ROUNDS] for seed in range(ORDERS)]
    return np.stack([reach[order] for order in orders])


def _curves(reach: Floats) -> hg.Problem:
    """The rows' own curves: the share that was right within each time, straight between the times seen."""
    columns = [np.unique(column[np.isfinite(column)], return_counts=True) for column in reach.T]
    most = max(times.size for times, _ in columns) + 1
    x, y = np.zeros((len(columns), most)), np.zeros((len(columns), most))
    for arm, (times, counts) in enumerate(columns):
        n = times.size + 1
        x[arm, 1:n], y[arm, 1:n] = times, np.cumsum(counts) / len(reach)
        x[arm, n:], y[arm, n:] = times[-1] + 1.0 + np.arange(most - n), y[arm, n - 1]
    return hg.Problem.from_curves(x, y)


def _gain(live: Floats, planned: Floats, required: float) -> AtMost:
    """The best plan as a share of live rounds, by the mean gain over orders, which is in the note with its error."""
    gain = live / planned - 1.0
    error = gain.std(ddof=1) / np.sqrt(gain.size)
    note = f"gain {gain.mean():+.2%} +- {error:.2%} (at least {required:+.1%}), worst {gain.min():+.2%}"
    return AtMost(1.0 / (1.0 + float(gain.mean())), 1.0, 1.0 / (1.0 + required), note=note)


def _skipped(required: float) -> AtMost:
    return AtMost(np.nan, np.nan, 1.0 / (1.0 + required), note="skipped: needs the EdNet answers (--data)")


def _planned(reach: Floats, budget: float) -> Floats:
    """What the best plan of each order earns a round."""
    return np.array([float(_curves(rows).solve(budget, tol=1e-4).value) for rows in reach])


def _played(x: Floats, y: Floats, reach: Floats, budget: float) -> Floats:
    """What each arm has had at the end of rounds that are played on these curves: (..., K)."""
    from headgate.kernels.live_play import play_round  # noqa: PLC0415  # machine code loads on first use

    arms, unknown = reach.shape[-1], np.empty(0)
    one, none, whole = np.ones(arms), np.zeros(arms), np.zeros(arms, dtype=np.bool_)
    with np.errstate(all="ignore"):
        amounts: Floats = play_round(x, y, one, whole, False, none, x[..., -1], reach, budget, budget, unknown, unknown)
    return amounts


def _knowing(problem: hg.Problem, reach: Floats, budget: float) -> float:
    """What rounds earn on average if the curves are known."""
    most, whole = np.full(problem.arms, budget), np.zeros(problem.arms, dtype=np.bool_)
    x, y = curve_points(problem.law, problem.activation, problem.rate, most, whole)
    return float(np.mean(np.sum(reach <= _played(x, y, reach, budget), axis=-1)))


def _learning(reach: Floats, policy: hg.Policy, budget: float) -> Floats:
    """What a batch of learners earns in each round: (rounds, orders)."""
    state, ask = policy.start(), policy.ask(budget)
    earned = np.empty(reach.shape[1::-1])
    for t in range(reach.shape[1]):
        curves, state = policy.begin_live(state, ask)
        amounts = _played(*curves, reach[:, t], budget)
        won = reach[:, t] <= amounts
        state = policy.absorb(state, amounts, hg.Feedback(won, np.where(won, reach[:, t], np.nan)))
        earned[t] = won.sum(axis=-1)
    return earned


def _known(budget: float) -> AtMost:
    required, reach = GAINS[budget][0], _rows()
    if reach is None:
        return _skipped(required)
    live = np.array([_knowing(_curves(rows), rows, budget) for rows in reach])
    return _gain(live, _planned(reach, budget), required)


def _learned(budget: float, *, second_half: bool) -> AtMost:
    required, reach = GAINS[budget][2 if second_half else 1], _rows()
    if reach is None:
        return _skipped(required)
    earned = _learners(budget)
    return _gain(earned[ROUNDS // 2 if second_half else 0 :].mean(axis=0), _planned(reach, budget), required)


@cache
def _learners(budget: float) -> Floats:
    reach = _rows()
    if reach is None:
        raise AssertionError("asked for without the answers")
    policy = hg.Thompson(hg.Weibull(shape="learn"), reach.shape[-1], budget, seed=np.arange(ORDERS))
    return _learning(reach, policy, budget)


for _budget in GAINS:
    benchmark(f"live: EdNet replayed, {_budget:g} s, curves known")(lambda b=_budget: _known(b))
    benchmark(f"live: EdNet replayed, {_budget:g} s, learned")(lambda b=_budget: _learned(b, second_half=False))
    benchmark(f"live: EdNet replayed, {_budget:g} s, learned, second half")(
        lambda b=_budget: _learned(b, second_half=True)
    )


def _one_round(policy: hg.Policy, budget: float, reach: Floats, most: int) -> int:
    """Play a round, at most so many steps of it, as a program would that knows what arms have had."""
    live, steps, missing = policy.live(budget), 0, reach.tolist()
    while steps < most and (step := live.next()) is not None:
        amount = min(missing[step.arm], step.amount)
        live.report(success=amount == missing[step.arm], spent=amount)
        missing[step.arm] -= amount
        steps += 1
    return steps


@benchmark("live: a round of 20 arms in 30 steps against a planned one")
def cost_of_a_round() -> Result:
    """The same learner, which has seen 200 rounds; the round is stopped after 30 steps."""
    rng = np.random.default_rng(0)
    problem = hg.Problem(hg.Weibull(1.6), rng.uniform(0.3, 1.0, 20), rng.uniform(0.1, 2.0, 20))
    policy = hg.Thompson(problem.law, 20, 40.0)
    for _ in range(200):
        x = policy.allocate(40.0)
        policy.observe(x, problem.play(x, rng))
    reach = np.where(rng.random(20) < problem.activation, problem.law.sample(problem.rate, rng, 20), np.inf)
    steps, all_of_them = (_one_round(policy, 40.0, reach, most) for most in (30, 1000))
    ours, theirs = side_by_side(lambda: _one_round(policy, 40.0, reach, 30), lambda: policy.allocate(40.0))
    whole, plan = side_by_side(lambda: _one_round(policy, 40.0, reach, 1000), lambda: policy.allocate(40.0))
    note = f"{ours / theirs:.1f} times as long; to its end {all_of_them} steps and {whole / plan:.1f} times as long"
    return Result(ours, theirs, 0.2, note=note, holds=steps == 30)


@benchmark("live: a step among 10,000 arms, ms")
def step_of_many() -> AtMost:
    rng = np.random.default_rng(0)
    problem = hg.Problem(hg.Weibull(1.6), rng.uniform(0.3, 1.0, 10_000), rng.uniform(0.1, 2.0, 10_000))
    start = perf_counter()
    live = problem.live(1000.0)
    live.next()
    opening = perf_counter() - start
    milliseconds = []
    for _ in range(300):
        start = perf_counter()
        step = live.next()
        if step is None:
            break
        live.report(success=bool(rng.random() < 0.5), spent=step.amount)
        milliseconds.append(1e3 * (perf_counter() - start))
    return AtMost.of(milliseconds[1:], float("nan"), 2.0, note=f"opening it {1e3 * opening:.0f} ms")


@benchmark("live: the bound above the index, EdNet's fits")
def bound_above_index() -> AtMost:
    """The largest distance over the budgets, in expectation over 20,000 simulated quizzes each."""
    quiz, rng = hg.datasets.ednet_quiz("untrimmed"), np.random.default_rng(0)
    size = (20_000, quiz.arms)
    reach = np.where(rng.random(size) < quiz.activation, quiz.law.sample(quiz.rate, rng, size), np.inf)
    gaps, notes = [], []
    for budget in GAINS:
        worth, error = _worth(quiz, reach, budget)
        gaps.append(float(quiz.live_bound(budget).bound) / worth - 1.0)
        notes.append(f"{budget:g} s {gaps[-1]:+.2%} +- {error / worth:.2%}")
    return AtMost(max(gaps), float("nan"), 0.015, note=", ".join(notes))


def _worth(problem: hg.Problem, reach: Floats, budget: float) -> tuple[float, float]:
    """What rounds are worth in expectation if the curves are known, and the standard error of that.

    Of an arm that was served up to x, successes less the hazard that it has met, -log S(x), have mean 0 in every way of
    playing. A regression on these takes most of the chance out of the mean.
    """
    most, whole = np.full(problem.arms, budget), np.zeros(problem.arms, dtype=np.bool_)
    amounts = _played(*curve_points(problem.law, problem.activation, problem.rate, most, whole), reach, budget)
    won = (reach <= amounts).astype(np.float64)
    with np.errstate(divide="ignore"):
        hazard = -np.log1p(-problem.success_probability(amounts))
    columns = np.column_stack([np.ones(len(reach)), won - hazard])
    earned = won.sum(axis=-1)
    fitted, *_ = np.linalg.lstsq(columns, earned, rcond=None)
    return float(fitted[0]), float(np.std(earned - columns @ fitted) / np.sqrt(len(earned)))


@benchmark("live: the paper's setting, known curves, best plan as a share of live")
def paper_setting() -> AtMost:
    """K = 10, B = 40, exponential, 40 instances of 500 simulated rounds."""
    gains, bounds = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        problem = hg.Problem(hg.Exponential(), rng.uniform(0.05, 1.0, 10), rng.uniform(1 / 40, 2.0, 10))
        size = (500, 10)
        reach = np.where(rng.random(size) < problem.activation, problem.law.sample(problem.rate, rng, size), np.inf)
        best = float(problem.solve(40.0).value)
        gains.append(_knowing(problem, reach, 40.0) / best - 1.0)
        bounds.append(float(problem.live_bound(40.0).bound) / best - 1.0)
    error = np.std(gains, ddof=1) / np.sqrt(len(gains))
    note = f"gain {np.mean(gains):+.2%} +- {error:.2%}, most {np.max(gains):+.2%}; at most {np.mean(bounds):+.2%}"
    return AtMost.of(1.0 / (1.0 + np.array(gains)), 1.0, 1.0, note=note)
