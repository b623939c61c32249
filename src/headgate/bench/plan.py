"""Plans for budgets that nobody knows: how good, how long, and what simpler ways lose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import headgate as hg
from headgate.bench.harness import AtMost, Result, benchmark, side_by_side
from headgate.kernels.plan import amounts_in_order
from headgate.oracle.line import Arms, Budgets, Line
from headgate.oracle.plan import arms_of, worth

Floats = NDArray[np.float64]
_LAWS = (hg.Exponential(), hg.Weibull(1.6), hg.LogNormal(0.8), hg.Gamma(2.5), hg.Weibull(0.7))


def _instance(seed: int, law: hg.laws.Law, arms: int = 20) -> tuple[hg.Problem, Floats]:
    """Arms that would like twice as much as an average budget, and 200 budgets."""
    rng = np.random.default_rng(seed)
    rate = rng.uniform(0.2, 2.0, arms)
    problem = hg.Problem(law, rng.uniform(0.2, 1.0, arms), rate)
    return problem, 0.5 * np.sum(1.0 / rate) * rng.gamma(4.0, 0.25, 200)


def _arms(problem: hg.Problem) -> Arms:
    return arms_of(problem.law, problem.activation, problem.rate, np.full(problem.arms, np.inf))


def _in_numpy(problem: hg.Problem, budgets: Floats, cells: int = 64) -> float:
    """The obvious way: worths of all slots between 64 nodes, then the best insertion as long as there is one."""
    nodes = np.linspace(0.0, budgets.max(), cells + 1)
    lasted = np.maximum(np.minimum(budgets[:, None], nodes)[:, None, :] - nodes[None, :, None], 0.0)
    slots = np.stack([
        p * problem.law.of_arm(i).cdf(lasted, r).mean(axis=0)
        for i, (p, r) in enumerate(zip(problem.activation, problem.rate, strict=True))
    ])  # fmt: skip
    slots = np.where(np.triu(np.ones_like(slots[0])) > 0.0, slots, -np.inf)

    def value(order: list[int]) -> float:
        after = np.zeros(cells + 1)
        for arm in reversed(order):
            after = np.max(slots[arm] + after, axis=1)
        return float(after[0])

    order = np.argsort(-slots[:, 0, 1]).tolist()
    best = value(order)
    while True:
        neighbours = [
            (value(moved), moved)
            for arm in order
            for place in range(len(order))
            if (moved := _moved(order, arm, place)) != order
        ]
        top, moved = max(neighbours)
        if top <= best * (1.0 + 1e-9):
            return best
        best, order = top, moved


def _moved(order: list[int], arm: int, place: int) -> list[int]:
    rest = [other for other in order if other != arm]
    return [*rest[:place], arm, *rest[place:]]


@benchmark("plan, K=20, 200 budgets, against NumPy")
def against_numpy() -> Result:
    problem, budgets = _instance(0, hg.Weibull(1.6))
    values: list[float] = []
    ours, reference = side_by_side(
        lambda: problem.plan(budgets),
        lambda: values.append(_in_numpy(problem, budgets)),
        repeats=3,
        least=(0.2, 0.0),
    )
    plan = problem.plan(budgets)
    note = (
        f"gap {100.0 * plan.gap:.3f}%; NumPy, 64 nodes, insertions only, no bound: {values[0] / plan.value - 1.0:+.3%}"
    )
    return Result(ours, reference, 5.0, note, plan.gap <= 2e-3 and values[0] <= plan.bound)


@benchmark("plan, K=20: gap, %")
def gaps() -> AtMost:
    plans = [_instance(seed, law) for law in _LAWS for seed in range(10)]
    values = [100.0 * problem.plan(budgets).gap for problem, budgets in plans]
    return AtMost.of(values, 0.2, 0.15, "five laws, ten problems each", worst=0.2)


@benchmark("plan, K=20: what simpler ways lose, %")
def baselines() -> AtMost:
    """Ours is what the plan loses to its bound; the reference what the static optimum of the largest budget does."""
    rng = np.random.default_rng(0)
    lost: dict[str, list[float]] = {"plan": [], "static": [], "random": [], "random, its amounts": []}
    for law in _LAWS:
        for seed in range(4):
            problem, budgets = _instance(seed, law)
            plan, static = problem.plan(budgets), problem.solve(float(budgets.max())).x
            with np.errstate(invalid="ignore"):
                index = np.nan_to_num(problem.success_probability(static) / static)
            line, order = Line.of(_arms(problem), Budgets.of(budgets), 1024), rng.permutation(problem.arms)
            best = line.width * amounts_in_order(line.gain, line.survival, order)[0]
            for name, way in (
                ("plan", (plan.order, plan.amounts)),
                ("static", (np.argsort(-index), static)),
                ("random", (order, best)),
                ("random, its amounts", (order, plan.amounts)),
            ):
                lost[name].append(100.0 * (1.0 - worth(_arms(problem), Budgets.of(budgets), *way) / plan.bound))
    mean = {name: float(np.mean(shares)) for name, shares in lost.items()}
    note = (
        f"static optimum of the largest budget in index order {mean['static']:.3g}%; random orders with the best "
        f"amounts for them {mean['random']:.3g}%, with the plan's {mean['random, its amounts']:.3g}%"
    )
    return AtMost(mean["plan"], mean["static"], 0.15, note)
