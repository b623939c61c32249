"""The demo's calls to customers: other people every day, told apart by what is known of them beforehand (simulated)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

import headgate as hg
from headgate.laws import Floats

_CUSTOMERS = 40
_BUDGETS = (20.0, 40.0, 80.0)
_JOBS, _BEFORE = ("student", "employed", "retired"), ("never asked", "said no", "bought")
KNOWN = hg.Features(numbers=["age"], categories={"job": _JOBS, "before": _BEFORE})


class Calls(NamedTuple):
    """What each way of calling sold."""

    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    """One for each budget."""
    days: int
    runs: int

    @property
    def words(self) -> str:
        """What the numbers are."""
        return (
            f"Sales a day to be expected, {_CUSTOMERS} new customers a day, {self.days} days, mean of {self.runs} runs "
            "with the half-width of its 95% interval. The customers are simulated: who bought before buys again more "
            "readily, the retired need fewer calls. The learner starts from nothing and sees a customer once."
        )


def customers(rng: np.random.Generator) -> tuple[list[dict[str, object]], hg.Problem]:
    """A day's customers: what is known of them, and what nobody knows."""
    age, job, before = (
        rng.uniform(18.0, 80.0, _CUSTOMERS),
        rng.integers(0, 3, _CUSTOMERS),
        rng.integers(0, 3, _CUSTOMERS),
    )
    interest = -2.6 + 0.01 * age + np.array([0.5, 0.0, 0.8])[job] + np.array([0.0, -0.7, 2.2])[before]
    rate = np.exp(-0.9 + np.array([0.0, -0.3, 0.7])[job])
    records = [
        {"age": float(a), "job": _JOBS[j], "before": _BEFORE[b]} for a, j, b in zip(age, job, before, strict=True)
    ]
    return records, hg.Problem(hg.DiscreteWeibull(1.0), 1.0 / (1.0 + np.exp(-interest)), rate)


def call_customers(*, days: int, runs: int) -> Calls:
    """Split every day's calls evenly, by a learner, and by one who knows all."""
    rows: list[tuple[str, ...]] = []
    for budget in _BUDGETS:
        played = np.array([_play(budget, days, run) for run in range(runs)])  # (runs, days, ways)
        even, learned, best = played.mean(axis=(0, 1))
        gain = played[..., 1].mean(axis=1) / played[..., 0].mean(axis=1) - 1.0
        late = played[:, days // 2 :, 1].mean() / played[:, days // 2 :, 0].mean() - 1.0
        width = stats.t.ppf(0.975, runs - 1) * stats.sem(gain)
        rows.append((
            f"{budget:g} calls", f"{even:.2f}", f"{learned:.2f}", f"{best:.2f}",
            f"{gain.mean():+.0%} ± {100.0 * width:.0f}", f"{late:+.0%}",
        ))  # fmt: skip
    head = ("a day", "even split", "learned", "all known", "learned gains", "second half")
    return Calls(head, rows, days, runs)


def _play(budget: float, days: int, seed: int) -> Floats:
    """What a run's days were worth, (days, 3): even split, learned, best."""
    rng = np.random.default_rng(seed)
    policy = hg.Contextual(hg.DiscreteWeibull(1.0), features=KNOWN, max_budget=budget, seed=seed)
    spread = hg.Uniform(hg.DiscreteWeibull(1.0), arms=_CUSTOMERS, max_budget=budget)
    worth = np.empty((days, 3))
    for day in range(days):
        records, truth = customers(rng)
        x = policy.allocate(budget, features=records)
        policy.observe(x, truth.play(x, rng), features=records)
        worth[day] = [
            float(truth.expected_reward(spread.allocate(budget))),
            float(truth.expected_reward(x)),
            float(truth.solve(budget).value),
        ]
    return worth
