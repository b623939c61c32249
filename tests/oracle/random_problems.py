"""Random problems of every kind the oracle accepts, in batches, and a slow search for something better than its answer.

`python -m tests.oracle.random_problems SEED FROM TO` looks at the batches FROM to TO of a seed, 25 problems each.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field, fields
from functools import cache
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.stats._distr_params import distcont

import headgate as hg
from headgate.errors import HeadgateError, ParameterError, UnsupportedError
from headgate.laws import LAWS, Floats, FromScipy, Law
from headgate.testing import ConformanceError, check_certificate

PROBLEMS = 25  # in a batch
LARGER, PROGRAMMES = 10, 40  # every so many batches: more arms; and the first of these as a mixed-integer programme
SLOW = {"irwinhall", "ksone", "kstwo", "gausshyper", "studentized_range"}
"""SciPy integrates or searches for every value of these: minutes for the table of one."""
MORE: list[tuple[str, tuple[float, ...]]] = [
    ("beta", (2.0, 5.0)), ("beta", (0.7, 3.0)), ("expon", (1.0,)), ("pareto", (2.0,)), ("pareto", (0.6,)),
    ("truncexpon", (2.0,)), ("truncnorm", (0.0, 2.0)), ("truncnorm", (1.0, 3.0)), ("triang", (0.9, 0.3, 2.0)),
    ("uniform", (0.5, 1.0)), ("wald", ()), ("exponweib", (0.6, 3.0)), ("gengamma", (0.4, 3.0)), ("invgauss", (5.0,)),
    ("lognorm", (0.3, 1.0)), ("weibull_min", (0.5, 1.0)), ("weibull_min", (3.0, 0.4)), ("genpareto", (-0.4,)),
    ("powerlaw", (0.5,)), ("truncweibull_min", (2.0, 0.2, 1.5)), ("loguniform", (0.2, 3.0)),
]  # fmt: skip
"""Beside the parameters that SciPy documents for each of its distributions: edges that an oracle may stumble over."""


def scipy_parameters() -> list[tuple[str, tuple[float, ...]]]:
    """All of SciPy's continuous distributions with the parameters it documents, moved to begin at 0 if that helps."""
    found = list(MORE)
    for name, shapes in distcont:
        low = float(getattr(stats, name)(*shapes).support()[0])
        found.append((name, (*map(float, shapes), *((-low,) if -np.inf < low < 0.0 else ()))))
    return [(name, parameters) for name, parameters in found if name not in SLOW]


@cache
def scipy_laws() -> tuple[list[Law], dict[str, str]]:
    """Return SciPy's distributions that are accepted as laws, and why each of the others is refused."""
    laws: list[Law] = []
    refused: dict[str, str] = {}
    for name, parameters in scipy_parameters():
        try:
            law = hg.from_scipy(name, *parameters)
            law.standard()
        except (ParameterError, UnsupportedError) as reason:
            refused[f"{name}{parameters}"] = str(reason)
        else:
            laws.append(law)
    return laws, refused


def scipy_law(rng: np.random.Generator) -> Law:
    """A distribution of SciPy's, its parameters sometimes moved at random, if that is still a law."""
    laws, _ = scipy_laws()
    law = laws[rng.integers(len(laws))]
    if rng.random() < 0.3 and isinstance(law, FromScipy):
        moved = np.array(law.parameters) * np.exp(rng.normal(0.0, 0.3, len(law.parameters)))
        try:
            law = hg.from_scipy(law.distribution, *moved.tolist())
            law.standard()
        except HeadgateError:
            return laws[0]
    return law


def own_law(rng: np.random.Generator, *, whole: bool = False) -> Law:
    """A registered law with numbers for its shapes, mild or extreme."""
    kinds = [kind for kind in LAWS.values() if kind.name not in {"points", "scipy"} and kind.integer == whole]
    kind: Any = kinds[rng.integers(len(kinds))]
    shape = float(np.exp(rng.normal(0.3, 0.8)) * (20.0 if rng.random() < 0.1 else 1.0))
    law: Law = kind(*(1.0 / shape if part.name == "sigma" else shape for part in fields(kind)))
    return law


@dataclass(frozen=True)
class Batch:
    """Problems of one law, with everything that is handed to `solve`."""

    problem: hg.Problem
    budget: Floats
    options: dict[str, Any]
    name: str

    @property
    def reward(self) -> Any:
        return self.options.get("reward", "sum")

    def limits(self) -> tuple[Floats, Floats]:
        shape, whole = self.problem.rate.shape, self.problem.law.whole_arms(self.problem.arms)
        lower = np.broadcast_to(self.options.get("lower", 0.0), shape)
        upper = np.broadcast_to(self.options.get("upper", np.inf), shape)
        return np.where(whole, np.ceil(lower), lower), np.where(whole, np.floor(upper), upper)

    def solve(self) -> hg.Allocation:
        return self.problem.solve(self.budget, **self.options)

    def worth(self, x: Floats) -> Floats:
        return self.problem.expected_reward(x, self.reward)

    def describe(self, row: int) -> str:
        p = self.problem
        options = {name: v if isinstance(v, str) else v[row].tolist() for name, v in self.options.items()}
        return (
            f"{self.name}, row {row}: {p.law!r} p={p.activation[row].tolist()} rate={p.rate[row].tolist()} "
            f"value={p.value[row].tolist()} B={self.budget[row]!r} {options}"
        )


def random_batch(seed: int, number: int, arms: int | None = None, count: int = PROBLEMS) -> Batch:
    """Random problems: one law or mixed ones, limits or none, values, sums or cascades, continuous or whole numbers."""
    rng = np.random.default_rng([seed, number])
    arms = arms or int(rng.integers(1, 4))
    kind = str(rng.choice(["own", "scipy", "mixed", "whole", "both"], p=[0.3, 0.35, 0.2, 0.1, 0.05]))
    whole = kind in {"whole", "both"}

    def one() -> Law:
        if kind == "whole" or (kind == "both" and rng.random() < 0.5):
            return own_law(rng, whole=True)
        return scipy_law(rng) if kind == "scipy" or (kind == "mixed" and rng.random() < 0.4) else own_law(rng)

    law: Any = [one() for _ in range(arms)] if kind in {"mixed", "both"} else one()
    shape = (count, arms)
    rate = np.exp(rng.normal(0.0, rng.choice([1e-6, 1e-3, 0.3, 1.5], size=(count, 1)), shape))
    rate *= 0.3 if whole else rng.choice([1.0, 1.0, 1.0, 1e-12, 1e9], size=(count, 1))
    activation = rng.random(shape) ** rng.choice([0.0, 0.3, 1.0, 4.0], size=(count, 1))
    cascade = rng.random() < 0.3
    value = np.exp(rng.normal(0.0, 1.0, shape)) if not cascade and rng.random() < 0.3 else 1.0
    problem = hg.Problem(law, activation, rate, value=value)
    with np.errstate(all="ignore"):
        typical = problem.law.quantile(0.6, rate).sum(axis=-1)
    typical = np.where(np.isfinite(typical) & (typical > 0.0), typical, np.sum(1.0 / rate, axis=-1))
    budget = np.exp(rng.uniform(-2.5, 1.5, count)) * typical * rng.choice([1.0] * 9 + [1e-4], count)
    if whole:
        budget = np.minimum(np.ceil(budget), 60.0)
    options: dict[str, Any] = {"reward": "cascade"} if cascade else {}
    if rng.random() < 0.3:
        share = budget[:, None] / arms
        low = np.where(rng.random(shape) < 0.4, rng.random(shape) * share, 0.0)
        high = low + np.where(rng.random(shape) < 0.5, rng.random(shape) * 2.0 * share, np.inf)
        options |= {"lower": np.floor(low), "upper": np.floor(high)} if whole else {"lower": low, "upper": high}
    return Batch(problem, budget, options, f"seed {seed}, batch {number}")


def larger_batch(seed: int, number: int) -> Batch:
    """Five problems of 4 to 12 arms, many of them nearly equal."""
    return random_batch(seed, number, arms=4 + (7 * seed + number // LARGER) % 9, count=5)


def best_found(batch: Batch, levels: int = 4) -> Floats:
    """The best allocations of up to three arms on a lattice that is refined around its best point: (problems, K)."""
    problem, budget = batch.problem, batch.budget
    arms, count = problem.arms, len(budget)
    (lower, upper), whole = batch.limits(), problem.law.whole_arms(arms)
    cells = {1: 1, 2: 400, 3: 110}[arms]
    start, best, top = lower, lower, batch.worth(lower)
    rows = np.arange(count)
    for _ in range(1 if arms == 1 or whole.all() else levels):
        spare = np.maximum(budget - start.sum(axis=-1), 0.0)
        steps = np.floor(spare).astype(int) if whole.all() else np.full(count, cells)
        step = np.where(steps > 0, spare, 0.0) / np.maximum(steps, 1)
        n = int(steps.max())
        amounts = start[..., None] + step[:, None, None] * np.arange(n + 1)
        amounts = np.clip(amounts, lower[..., None], np.maximum(upper, lower)[..., None])
        amounts = np.where(whole[:, None], np.floor(amounts), amounts)
        success = np.moveaxis(problem.success_probability(np.moveaxis(amounts, -1, 0)), 0, -1)
        with np.errstate(divide="ignore"):
            f = -np.log1p(-success) if batch.reward == "cascade" else success * problem.value[..., None]
        taken = _best_on_lattice(f, steps)
        found = np.take_along_axis(amounts, taken[..., None], axis=-1)[..., 0]
        for _ in range(4):  # what rounding added to the sum
            over = found.sum(axis=-1) - budget
            arm = np.argmax(found - lower, axis=-1)
            found[rows, arm] -= np.where(over > 0.0, np.maximum(over, np.spacing(found[rows, arm])), 0.0)
        worth = np.where((found >= lower).all(axis=-1) & (found.sum(axis=-1) <= budget), batch.worth(found), -np.inf)
        best, top = np.where((worth > top)[:, None], found, best), np.maximum(worth, top)
        start = np.maximum(best - 4.0 * step[:, None], lower)
    return best


def _best_on_lattice(f: Floats, steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many steps each arm takes, all of `steps` together, so that the curves f (problems, K, n) add up to most."""
    count, arms, n = f.shape
    rows, axis, taken = np.arange(count), np.arange(n), np.zeros((count, arms), dtype=np.int64)
    if arms == 3:
        rest = steps[:, None, None] - axis[:, None] - axis
        last = f[rows[:, None, None], 2, np.maximum(rest, 0)]
        total = np.where(rest >= 0, f[:, 0, :, None] + f[:, 1, None, :] + last, -np.inf).reshape(count, -1)
        taken[:, 0], taken[:, 1] = np.divmod(np.argmax(total, axis=-1), n)
    elif arms == 2:
        rest = steps[:, None] - axis
        total = np.where(rest >= 0, f[:, 0] + f[rows[:, None], 1, np.maximum(rest, 0)], -np.inf)
        taken[:, 0] = np.argmax(total, axis=-1)
    taken[:, -1] = steps - taken[:, :-1].sum(axis=-1)
    return taken


@dataclass
class Tally:
    """What was looked at, and what was found wrong."""

    problems: int = 0
    wrong: list[str] = field(default_factory=list)
    gaps: Counter[str] = field(default_factory=Counter)
    worst: float = 0.0

    def look_at(self, seed: int, number: int) -> None:
        """Look at the batch of this number, a usual or a larger one."""
        if number % LARGER == LARGER - 1:
            self.look_closely(larger_batch(seed, number), programmed=number % PROGRAMMES == PROGRAMMES - 1)
        else:
            self.look(random_batch(seed, number))

    def look_closely(self, batch: Batch, *, programmed: bool = False) -> None:
        """Hold the oracle's answers to larger problems against even splits, the shipped check, and HiGHS if asked."""
        from .programme import programme  # HiGHS is not needed otherwise

        problem, (lower, upper) = batch.problem, batch.limits()
        try:
            answer = batch.solve()
        except UnsupportedError:
            return
        for row in range(len(batch.budget)):
            self.problems += 1
            budget, bound = float(batch.budget[row]), float(answer.bound[row])
            one = hg.Problem(problem.law, problem.activation[row], problem.rate[row], value=problem.value[row])
            options: dict[str, Any] = {n: v if isinstance(v, str) else v[row] for n, v in batch.options.items()}
            alone = one.solve(budget, **options)
            limits = {n: v for n, v in options.items() if n != "reward"}
            try:
                check_certificate(alone, one, **limits)
            except ConformanceError as reason:
                self.wrong.append(f"{batch.describe(row)}: {reason}")
            if alone.bound != bound:
                self.wrong.append(f"{batch.describe(row)}: alone {alone}, in the batch {answer.x[row].tolist()}")
            heaviest = np.argsort(-one.expected_reward(np.eye(one.arms) * budget))
            for m in range(1, one.arms + 1):  # m arms with the same amount, if limits let them
                x = np.maximum(np.where(np.isin(np.arange(one.arms), heaviest[:m]), budget / m, 0.0), lower[row])
                x = np.minimum(np.where(one.law.whole_arms(one.arms), np.floor(x), x), upper[row])
                if x.sum() <= budget and np.all(x >= lower[row]) and one.expected_reward(x, batch.reward) > bound:
                    self.wrong.append(f"{batch.describe(row)}: {x.tolist()} is worth more than the bound {bound!r}")
            plain = not limits and batch.reward == "sum" and not one.law.whole_arms(one.arms).any()
            if programmed and plain and row == 0:
                proved, _ = programme(one, budget)
                self.gaps["programmes"] += 1
                if alone.value > proved * (1.0 + 1e-6):  # HiGHS's feasibility tolerance
                    self.wrong.append(f"{batch.describe(row)}: worth {alone.value!r}, HiGHS proves {proved!r}")
            self.gaps["larger"] += 1
            self.gaps["larger, gap > 1e-9"] += int(alone.gap > 1e-9)

    def look(self, batch: Batch) -> None:
        """Hold the oracle's answers to a batch against the limits, the law itself and the search."""
        try:
            answer = batch.solve()
        except UnsupportedError as reason:  # a law whose hazard rises twice has no cascade
            self.gaps[f"refused: {str(reason).split('(')[0]}"] += len(batch.budget)
            return
        x, budget, (lower, upper) = answer.x, batch.budget, batch.limits()
        self.problems += len(budget)
        truth, found = batch.worth(x), best_found(batch)
        better = batch.worth(found)
        row = self.problems % len(budget)
        alone = Batch(
            hg.Problem(batch.problem.law, *(getattr(batch.problem, n)[row] for n in ("activation", "rate")),
                       value=batch.problem.value[row]),
            budget[row], {n: v if isinstance(v, str) else v[row] for n, v in batch.options.items()}, batch.name,
        ).solve()  # fmt: skip
        checks = {
            "leaves its limits": (x < lower).any(axis=-1) | (x > upper).any(axis=-1),
            "exceeds the budget": x.sum(axis=-1) > np.maximum(budget, lower.sum(axis=-1)),
            "is worth more than its bound": truth > answer.bound,
            "is worth less than it says": truth < answer.value * (1.0 - 1e-12) - 1e-300,
            "is beaten by more than its bound": better > answer.bound,
            "is none": ~np.isfinite(answer.value + answer.bound) | np.isnan(x).any(axis=-1),
        }
        for what, where in checks.items():
            for k in np.flatnonzero(where)[:3]:
                self.wrong.append(
                    f"{batch.describe(int(k))}: {x[k].tolist()} {what}: value {answer.value[k]!r}, truth {truth[k]!r}, "
                    f"bound {answer.bound[k]!r}, found {found[k].tolist()} worth {better[k]!r}"
                )
        if alone.x.tolist() != x[row].tolist() or alone.bound != answer.bound[row]:
            self.wrong.append(f"{batch.describe(row)}: alone {alone.x.tolist()}, in the batch {x[row].tolist()}")
        for level in (1e-9, 1e-6, 1e-3):
            self.gaps[f"gap > {level:g}"] += int(np.sum(answer.gap > level))
        self.worst = max(self.worst, float(np.max(answer.gap)))

    def __str__(self) -> str:
        return f"{self.problems} problems, {len(self.wrong)} violations, worst gap {self.worst:.2g}, {dict(self.gaps)}"


def main(seed: int, first: int, last: int) -> int:
    """Look at batches; print what is wrong with any; return 1 if anything is."""
    tally, begun = Tally(), monotonic()
    for number in range(first, last):
        before = len(tally.wrong)
        tally.look_at(seed, number)
        for trouble in tally.wrong[before:]:
            print(trouble, flush=True)
        if (number + 1) % 200 == 0:
            print(f"seed {seed}, up to batch {number}: {tally}, {monotonic() - begun:.0f} s", flush=True)
    print(f"seed {seed}, batches {first} to {last}: {tally}, {monotonic() - begun:.0f} s")
    return int(bool(tally.wrong))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:4])))
