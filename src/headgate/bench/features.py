"""Features: customers of a bank replayed, worlds with known coefficients, features that say nothing, many arms."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np
from scipy import special

import headgate as hg
from headgate.bench.harness import AtMost, Result, benchmark, data_file, side_by_side, sized
from headgate.laws import Floats

_CUSTOMERS = 50  # customers of a round
_CATEGORIES = ("job", "marital", "education", "default", "housing", "loan", "contact", "month", "poutcome")
_BARS = {25: (95.0, 103.0), 50: (26.0, 31.0), 100: (3.0, 6.0)}
"""Calls, and the gain over an even split in percent, whole run and second half."""


@cache
def _bank(path: Path) -> tuple[Floats, Floats]:
    """Features of each customer, and how many calls he needs: infinitely many if he never says yes."""
    with path.open() as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    kinds = {name: sorted({row[name] for row in rows}) for name in _CATEGORIES}
    features = hg.Features(
        numbers=["age", "old or young", "day"], logs=["balance", "pdays", "previous"], categories=kinds
    )
    records = [
        {name: row[name] for name in _CATEGORIES}
        | {name: float(row[name]) for name in ("age", "day", "balance", "pdays", "previous")}
        | {"old or young": (float(row["age"]) - 40.0) ** 2}
        for row in rows
    ]
    needed = np.array([float(row["campaign"]) if row["y"] == "yes" else np.inf for row in rows])
    return features.rows(records), needed


def _replayed(calls: int, seed: int) -> Floats:
    """Successes of the learner and of an even split in each round, customers in a random order: (2, rounds)."""
    path = data_file("bank_marketing.csv")
    if path is None:
        return np.full((2, 2), np.nan)
    z, needed = _bank(path)
    order = np.random.default_rng(seed).permutation(len(needed))
    policy = hg.Contextual(hg.DiscreteWeibull(), features=z.shape[1], max_budget=float(calls), seed=seed)
    rounds = len(needed) // _CUSTOMERS
    even = np.full(_CUSTOMERS, float(calls // _CUSTOMERS))
    even[: calls % _CUSTOMERS] += 1.0
    won = np.zeros((2, rounds))
    for t in range(rounds):
        who = order[_CUSTOMERS * t : _CUSTOMERS * (t + 1)]
        x = policy.allocate(float(calls), features=z[who])
        yes = needed[who] <= x
        policy.observe(x, hg.Feedback(yes, np.where(yes, needed[who], np.nan)), features=z[who])
        won[:, t] = yes.sum(), (needed[who] <= even).sum()
    return won


def _bank_row(calls: int, part: int) -> AtMost:
    runs = [_replayed(calls, seed) for seed in range(sized(1, 5))]
    half = runs[0].shape[1] // 2 * part
    sums = np.array([run[:, half:].sum(axis=1) for run in runs]).sum(axis=0)
    gain = 100.0 * (sums[0] / sums[1] - 1.0)
    per_round = sums[0] / (len(runs) * (runs[0].shape[1] - half))
    return AtMost(-gain, 0.0, -_BARS[calls][part], f"minus the gain in %; {per_round:.2f} successes a round")


for _calls in _BARS:
    for _part, _what in enumerate(("whole run", "second half")):
        benchmark(f"features: bank marketing, {_calls} calls for 50 customers, {_what}")(
            lambda calls=_calls, part=_part: _bank_row(calls, part)
        )


class Worlds:
    """Rounds of 12 arms with known coefficients, exponential thresholds and a budget of 10."""

    def __init__(self, features: int, seed: int) -> None:
        self.rng = np.random.default_rng(100 + seed)
        self.by_rate, self.by_activation = self.rng.normal(0.0, 0.4, features), self.rng.normal(0.0, 0.6, features)
        self.best = self.got = 0.0

    def next(self) -> tuple[Floats, hg.Problem]:
        """Return the features of the next round, and the truth."""
        z = self.rng.normal(size=(12, len(self.by_rate)))
        activation = special.expit(z @ self.by_activation - 0.5)
        return z, hg.Problem(hg.Exponential(), activation, np.exp(z @ self.by_rate + 0.2))

    def play(self, problem: hg.Problem, x: Floats) -> hg.Feedback:
        """Play an allocation, and count what is expected of it."""
        self.best += float(problem.solve(10.0).value)
        self.got += float(problem.expected_reward(x))
        return problem.play(x, self.rng)


def _played(seed: int, rounds: int, features: int) -> Worlds:
    """What our learner makes of a world."""
    world = Worlds(features, seed)
    policy = hg.Contextual(hg.Exponential(), features=features, max_budget=10.0, seed=seed)
    for _ in range(rounds):
        z, problem = world.next()
        x = policy.allocate(10.0, features=z)
        policy.observe(x, world.play(problem, x), features=z)
    return world


def _exact(seed: int, rounds: int, features: int) -> Worlds:
    """What a learner makes of it that keeps every row, and draws from the exact posterior by Metropolis' walk.

    The walk goes on from round to round, so that it has always arrived; its steps have the posterior's own spread.
    """
    world, walk, size = Worlds(features, seed), np.random.default_rng(seed), features + 1
    rows, at = np.empty((0, size + 3)), np.zeros(2 * size)  # columns, x, success, threshold; log rate, logit p
    spread = np.sqrt(np.repeat([1.0, 3.0], size))

    def log_posterior(theta: Floats) -> float:
        z, x, won, threshold = rows[:, :size], rows[:, size], rows[:, size + 1], rows[:, size + 2]
        log_rate, logit = z @ theta[:size], z @ theta[size:]
        rate, p = np.exp(np.clip(log_rate, -30.0, 30.0)), special.expit(logit)
        log_success = special.log_expit(logit) + log_rate - rate * threshold
        log_likelihood = np.where(won > 0.0, log_success, np.log1p(p * np.expm1(-rate * x)))
        return float(log_likelihood.sum() - 0.5 * np.sum(np.square(theta / spread)))

    for t in range(rounds):
        height, wide = log_posterior(at), 1.2 / np.sqrt(1.0 / spread**2 + 1.5 * t)
        for _ in range(6):
            trial = at + wide * walk.normal(size=at.size)
            there = log_posterior(trial)
            if np.log(walk.random()) < there - height:
                at, height = trial, there
        z, problem = world.next()
        columns = np.column_stack([np.ones(12), z])
        believed = hg.Problem(
            hg.Exponential(), special.expit(columns @ at[size:]), np.exp(np.clip(columns @ at[:size], -12.0, 12.0))
        )
        x = believed.solve(10.0).x
        feedback = world.play(problem, x)
        more = np.column_stack([columns, x, feedback.success, np.nan_to_num(feedback.threshold)])
        rows = np.concatenate([rows, more[x > 0.0]])
    return world


@benchmark("features: share of the optimum with known coefficients, d=6, K=12, T=3,000")
def synthetic() -> AtMost:
    """The reference is a learner that knows the coefficients, which loses nothing."""
    worlds = [_played(seed, 3000, 6) for seed in range(sized(2, 20))]
    return AtMost.of([100.0 * (1.0 - w.got / w.best) for w in worlds], 0.0, 5.0, "% of the optimum lost")


@benchmark("features: regret beside draws from the exact posterior, d=2, K=12, T=3,000")
def exact() -> AtMost:
    """The reference keeps all rows, and walks."""
    count = sized(2, 8)
    ours, reference = (
        np.mean([w.best - w.got for w in (play(seed, 3000, 2) for seed in range(count))]) for play in (_played, _exact)
    )
    return AtMost(float(ours), float(reference), 1.5 * float(reference), f"{count} worlds")


@benchmark("features: regret where they say nothing, beside Thompson's")
def nothing() -> AtMost:
    """d = 6 numbers of noise for each of 10 arms, T = 800."""
    pairs = np.array([_beside(seed) for seed in range(sized(4, 30))])
    ours, reference = pairs.mean(axis=0)
    return AtMost(ours, reference, 1.1 * reference, f"worst {pairs[:, 0].max():.0f} and {pairs[:, 1].max():.0f}")


def _beside(seed: int, rounds: int = 800, arms: int = 10, budget: float = 40.0) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    problem = hg.Problem(hg.Exponential(), rng.uniform(0.1, 0.95, arms), np.exp(rng.normal(-1.0, 0.8, arms)))
    best = float(problem.solve(budget).value)
    policies: tuple[hg.Policy, hg.Policy] = (
        hg.Contextual(hg.Exponential(), arms, budget, features=6, seed=seed),
        hg.Thompson(hg.Exponential(), arms, budget, seed=seed),
    )
    regrets = []
    for policy in policies:
        world, lost = np.random.default_rng(1000 + seed), 0.0
        for _ in range(rounds):
            noise = world.normal(size=(arms, 6))
            options = {"features": noise} if isinstance(policy, hg.Contextual) else {}
            x = policy.allocate(budget, **options)
            lost += best - float(problem.expected_reward(x))
            policy.observe(x, problem.play(x, world), **options)
        regrets.append(lost)
    return regrets[0], regrets[1]


@benchmark("features: a round of 10,000 arms, d=50, beside a product of the features with themselves")
def many() -> Result:
    """The reference is ten products Z' Z, (50, 10,000) by (10,000, 50)."""
    rng, count = np.random.default_rng(0), 10_000
    z = rng.normal(size=(count, 50))
    problem = hg.Problem(hg.Exponential(), special.expit(0.2 * z[:, 0]), np.exp(0.2 * z[:, 1]))
    policy = hg.Contextual(hg.Exponential(), features=50, max_budget=float(count))

    def one_round() -> None:
        x = policy.allocate(0.5 * count, features=z)
        policy.observe(x, problem.play(x, rng), features=z)

    for _ in range(70):
        one_round()
    ours, reference = side_by_side(one_round, lambda: [z.T @ z for _ in range(10)], least=(0.0, 0.0))
    return Result(ours, reference, 0.0, f"{1000.0 * ours:.0f} ms, of the 50 allowed", holds=ours <= 0.05)
