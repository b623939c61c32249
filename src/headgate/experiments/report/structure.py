"""Checks of the paper's structural claims, on random instances: monotonicity, pouring, steps, stability."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import headgate as hg
from headgate import theory
from headgate.datasets import ednet_quiz
from headgate.experiments.lineup import SCALE
from headgate.experiments.synthetic.exponential import BUDGET, RATES, draw_problem
from headgate.laws import Floats, Law
from headgate.oracle import solve
from headgate.simulation import Draws

_LAWS: dict[str, Law] = {
    "exponential": hg.Exponential(),
    "Weibull 0.7": hg.Weibull(shape=0.7),
    "Weibull 1.6": hg.Weibull(shape=1.6),
    "Weibull 4": hg.Weibull(shape=4.0),
    "gamma 0.7": hg.Gamma(shape=0.7),
    "gamma 2.5": hg.Gamma(shape=2.5),
    "half-normal": hg.HalfNormal(),
    "Maxwell": hg.Maxwell(),
    "Nakagami 1.5": hg.Nakagami(shape=1.5),
    "Lomax 2": hg.Lomax(shape=2.0),
    "beta on [0, 50]": hg.Beta(50.0),
    "log-normal 1": hg.LogNormal(sigma=1.0),
}


def oracle_monotonicity(instances: int) -> dict[str, Any]:
    """How often boosting arm 0 lowers its share, by law: never if G~ is strongly concave (the paper's lemma)."""
    rng = np.random.default_rng(2)
    arms, rates = 4, (1.0 / BUDGET, 10.0 / BUDGET)  # budgets are scarce: arms compete
    rate, p = rng.uniform(*rates, (instances, arms)), rng.random((instances, arms))
    down, up, less, more = rng.uniform(0.0, 0.5, (4, instances, arms))
    low, high = np.clip(rate * np.exp(-down), *rates), np.clip(rate * np.exp(up), *rates)
    p_low, p_high = p * (1.0 - less), p + (1.0 - p) * more
    boosted = np.arange(arms) == 0
    new_rate, other = np.where(boosted, low, high), np.where(boosted, high, low)
    by_law = {}
    for name in ("exponential", "Weibull 0.7", "Weibull 1.6", "Weibull 4"):
        law = _LAWS[name]
        before = solve(law, p, rate, BUDGET, tol=1e-11, max_nodes=5000).x[:, 0]
        weight = np.where(boosted, p_high, p_low) * law.boost(new_rate, other)
        after = solve(law, weight, new_rate, BUDGET, tol=1e-11, max_nodes=5000).x[:, 0]
        loss = np.maximum(before - after, 0.0)
        by_law[name] = {"violations": int(np.sum(loss > 1e-3 * BUDGET)), "worst": float(loss.max())}
    return {"instances": instances, "laws": by_law}


def boosting_monotonicity() -> dict[str, Any]:
    """The share of (x, lambda) at which g~ grows with lambda, and the largest d log g~ / d log lambda: by law."""
    x, rate = np.meshgrid(BUDGET * np.geomspace(1e-5, 1.0, 161), np.geomspace(*RATES, 41))
    h, by_law = 1e-4, {}
    for name, law in _LAWS.items():
        with np.errstate(divide="ignore"):
            before, after = (
                np.log(law.boost(r, RATES[1])) + law.log_pdf(x, r) for r in (rate * np.exp(-h), rate * np.exp(h))
            )
        slope = (after - before) / (2.0 * h)
        by_law[name] = {"share": float(np.mean(slope > 1e-6)), "steepest": float(slope.max())}
    return by_law


def equivalence(rounds: int) -> dict[str, Any]:
    """RA-UCB that is told the budget and MG-UCB that pours it: the same evidence, the largest difference of shares."""
    rng = np.random.default_rng(3)
    problem = draw_problem(rng)
    knowing, pours = (
        make(problem.law, problem.arms, BUDGET, rounds=rounds, scale=SCALE, seed=1) for make in (hg.RAUCB, hg.MGUCB)
    )
    block = BUDGET / 1024.0
    at_blocks, anywhere = 0.0, 0.0
    for t in range(rounds):
        whole = t % 2 == 0
        budget = block * int(rng.integers(64, 1025)) if whole else float(rng.uniform(2.0, BUDGET))
        x, poured = knowing.allocate(budget), _pour(pours, budget)
        off = float(np.max(np.abs(x - poured)))
        at_blocks, anywhere = max(at_blocks, off if whole else 0.0), max(anywhere, off)
        feedback = problem.play(x, rng)
        knowing.observe(x, feedback)
        pours.observe(x, feedback)
    return {"rounds": rounds, "at_blocks": at_blocks, "anywhere": anywhere, "block": block}


def _pour(policy: hg.Policy, budget: float) -> Floats:
    x, rest = np.zeros(policy.arms), budget
    for arm, amount in policy.pour():
        x[arm] += min(amount, rest)
        rest -= amount
        if rest <= 0.0:
            break
    return x


def steps(instances: int) -> dict[str, Any]:
    """Pouring in steps: by gains over the step, by the marginal where the arm stands (as written), and the best."""
    rng = np.random.default_rng(4)
    arms, count, budget = 4, 12, 12.0
    delta = budget / count
    grid = delta * np.arange(count + 1)
    gains_off, written_off, written_wrong, rounding = 0.0, 0.0, 0, 0.0
    for _ in range(instances):
        p, rate = rng.random(arms), rng.uniform(1.0, 20.0, arms) / budget
        value = p[:, None] * -np.expm1(-rate[:, None] * grid)
        slope = p[:, None] * rate[:, None] * np.exp(-rate[:, None] * grid)
        best = _best_steps(value)
        gains_off = max(gains_off, best - _greedy(value, np.diff(value, axis=1)))
        lost = best - _greedy(value, slope[:, :-1])
        written_wrong += lost > 1e-9
        written_off = max(written_off, lost / best)
        optimum = float(solve(hg.Exponential(), p, rate, budget).value)
        rounding = max(rounding, (optimum - best) / (arms * float(slope.max()) * delta))
    return {
        "instances": instances,
        "gains_off": gains_off,
        "written_wrong": int(written_wrong),
        "written_off": written_off,
        "rounding": rounding,
    }


def _greedy(value: Floats, priority: Floats) -> float:
    return float(value[np.arange(len(value)), _greedy_steps(len(value), priority)].sum())


def _greedy_steps(arms: int, priority: Floats) -> NDArray[np.int64]:
    """How many steps each arm gets, one after the other, each to the arm whose next has the largest priority."""
    at = np.zeros(arms, dtype=np.int64)
    for _ in range(priority.shape[1]):
        at[np.argmax(priority[np.arange(arms), at])] += 1
        if at.max() >= priority.shape[1]:
            break
    return at


def _best_steps(value: Floats) -> float:
    """The best number of steps for each arm, by dynamic programming."""
    best = value[0]
    for curve in value[1:]:
        best = np.array([np.max(best[: j + 1] + curve[j::-1]) for j in range(best.size)])
    return float(best[-1])


def refinement(instances: int) -> dict[str, Any]:
    """How far greedy allocations in steps of B/12, B/24, ... lie from the optimum, at most."""
    rng = np.random.default_rng(9)
    arms, budget, counts = 4, 12.0, [12 * 2**m for m in range(6)]
    farthest = np.zeros(len(counts))
    for _ in range(max(instances // 10, 4)):
        p, rate = rng.uniform(0.2, 1.0, arms), rng.uniform(1.0, 10.0, arms) / budget
        best = solve(hg.Exponential(), p, rate, budget).x
        for m, count in enumerate(counts):
            grid = budget / count * np.arange(count + 1)
            value = p[:, None] * -np.expm1(-rate[:, None] * grid)
            at = _greedy_steps(value.shape[0], np.diff(value, axis=1))
            farthest[m] = max(farthest[m], float(np.abs(grid[at] - best).max()))
    return {"steps": [budget / count for count in counts], "farthest": farthest.tolist()}


def assumptions(problems: int) -> dict[str, Any]:
    """Which of the paper's assumptions fail, on problems of its own setting and on the quiz."""
    drawn = [Draws(draw_problem).problem(0, run) for run in range(problems)]
    return {
        "listed": len(theory.check(drawn[0], BUDGET).listed),
        "problems": problems,
        "own": sorted({a.name for problem in drawn for a in theory.check(problem, BUDGET).failed}),
        "quiz": [a.name for a in theory.check(ednet_quiz(), 700.0).failed],
    }


def stability(instances: int) -> dict[str, Any]:
    """mu |x(a) - x(b)| / |grad difference at x(b)| on random pairs with B = 1: at most 1 by the lemma."""
    rng = np.random.default_rng(5)
    arms = 5
    p, rate = rng.uniform(0.2, 1.0, (2, instances, arms)), rng.uniform(1.0, 4.0, (2, instances, arms))
    x = np.stack([solve(hg.Exponential(), p[i], rate[i], 1.0).x for i in (0, 1)])

    def gradient(i: int) -> Floats:
        return np.asarray(p[i] * rate[i] * np.exp(-rate[i] * x[1]))

    mu = np.min(p * rate**2 * np.exp(-rate), axis=(0, 2))  # strong concavity of both on [0, 1]
    moved = np.linalg.norm(x[1] - x[0], axis=-1)
    return {
        "instances": instances,
        "worst": float(np.max(mu * moved / np.linalg.norm(gradient(0) - gradient(1), axis=-1))),
    }
