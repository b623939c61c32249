"""Random problems of every kind the oracle accepts, and a slow search for something better than its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import headgate as hg
from headgate.errors import HeadgateError
from headgate.laws import Floats, Law

SCIPY: list[tuple[str, tuple[float, ...]]] = [
    ("beta", (2.0, 5.0)), ("beta", (0.7, 3.0)), ("beta", (4.0, 0.6)), ("expon", (1.0,)), ("expon", ()),
    ("pareto", (2.0,)), ("pareto", (0.6,)), ("truncexpon", (2.0,)), ("truncnorm", (0.0, 2.0)),
    ("truncnorm", (1.0, 3.0)), ("triang", (0.4,)), ("triang", (0.9, 0.3, 2.0)), ("uniform", ()),
    ("uniform", (0.5, 1.0)), ("wald", ()), ("exponweib", (2.0, 1.5)), ("exponweib", (0.6, 3.0)),
    ("gengamma", (2.0, 1.5)), ("gengamma", (0.4, 3.0)), ("invgauss", (0.8,)), ("invgauss", (5.0,)), ("fisk", (2.0,)),
    ("burr12", (2.0, 1.5)), ("burr", (3.0, 0.7)), ("halfcauchy", ()), ("halflogistic", ()), ("lognorm", (0.3,)),
    ("lognorm", (0.3, 1.0)), ("weibull_min", (0.5, 1.0)), ("weibull_min", (3.0, 0.4)), ("gamma", (2.0, 0.7)),
    ("rayleigh", (0.2,)), ("chi", (3.0,)), ("chi2", (1.5,)), ("erlang", (3.0,)), ("gompertz", (0.2,)),
    ("genpareto", (-0.4,)), ("genpareto", (0.5,)), ("genhalflogistic", (0.4,)), ("foldnorm", (1.5,)),
    ("foldcauchy", (1.2,)), ("fatiguelife", (0.7,)), ("invgamma", (2.0,)), ("invweibull", (2.0,)), ("kstwobign", ()),
    ("levy", ()), ("loguniform", (0.2, 3.0)), ("lomax", (1.5,)), ("mielke", (2.0, 1.3)), ("nakagami", (0.3,)),
    ("powerlaw", (2.5,)), ("powerlaw", (0.5,)), ("rice", (1.0,)), ("bradford", (3.0,)), ("betaprime", (2.0, 3.0)),
    ("alpha", (2.0,)), ("argus", (1.0,)), ("cosine", (3.2,)), ("f", (4.0, 6.0)), ("kappa3", (1.2,)),
    ("rdist", (3.0, 1.2)), ("semicircular", (1.5,)), ("anglit", (1.0,)), ("recipinvgauss", (0.7,)),
    ("truncpareto", (1.5, 4.0)), ("truncweibull_min", (2.0, 0.2, 1.5)),
    ("jf_skew_t", (4.0, 2.0, 9.0)), ("ncx2", (3.0, 1.0)),
]  # fmt: skip


def accepted() -> list[Law]:
    """The laws of SciPy that Headgate accepts."""
    laws: list[Law] = []
    for name, parameters in SCIPY:
        try:
            law = hg.from_scipy(name, *parameters)
            law.standard()
        except HeadgateError:
            continue
        laws.append(law)
    return laws


def closed_law(rng: np.random.Generator) -> Law:
    """A law with a closed form, its shape mild or extreme."""
    shape = float(np.exp(rng.normal(0.3, 0.8)))
    steep = shape * (20.0 if rng.random() < 0.1 else 1.0)
    kinds: list[Law] = [
        hg.Exponential(), hg.Weibull(steep), hg.Gamma(steep), hg.HalfNormal(), hg.Rayleigh(), hg.Maxwell(),
        hg.Nakagami(shape), hg.Nakagami(0.2), hg.Lomax(shape), hg.LogNormal(1.0 / steep), hg.LogLogistic(steep),
        hg.Beta(float(np.exp(rng.normal()))),
    ]  # fmt: skip
    return kinds[rng.integers(len(kinds))]


@dataclass(frozen=True)
class Case:
    """One problem, with everything that is handed to `solve`."""

    problem: hg.Problem
    budget: float
    options: dict[str, Any]

    def solve(self) -> hg.Allocation:
        return self.problem.solve(self.budget, **self.options)


def random_case(rng: np.random.Generator, tables: list[Law], arms: int) -> Case:
    """A random problem: one law or mixed ones, limits or none, sums or cascades, continuous or whole numbers."""
    kind = rng.choice(["closed", "table", "mixed", "whole", "both"], p=[0.35, 0.3, 0.2, 0.1, 0.05])

    def one() -> Law:
        if kind == "whole" or (kind == "both" and rng.random() < 0.5):
            return hg.DiscreteWeibull(float(np.exp(rng.normal(0.2, 0.5))))
        if kind == "table" or (kind == "mixed" and tables and rng.random() < 0.3):
            return tables[rng.integers(len(tables))] if tables else closed_law(rng)
        return closed_law(rng)

    law: Any = [one() for _ in range(arms)] if kind in {"mixed", "both"} or rng.random() < 0.2 else one()
    rate = np.exp(rng.normal(0.0, rng.choice([1e-3, 0.3, 1.5]), arms))
    if kind in {"whole", "both"}:
        rate = rate * 0.3
    weight = rng.random(arms) ** rng.choice([0.0, 0.3, 1.0, 4.0])
    problem = hg.Problem(law, weight, rate)
    budget = float(np.exp(rng.uniform(-2.5, 1.2)) * np.sum(1.0 / rate))
    if kind in {"whole", "both"}:
        budget = float(min(np.ceil(budget), 60.0))
    options: dict[str, Any] = {}
    if rng.random() < 0.25:
        share = budget / arms
        options["lower"] = np.where(rng.random(arms) < 0.4, rng.random(arms) * share, 0.0)
        options["upper"] = options["lower"] + np.where(rng.random(arms) < 0.5, rng.random(arms) * 2.0 * share, np.inf)
        if kind in {"whole", "both"}:
            options = {name: np.floor(limit) for name, limit in options.items()}
    if rng.random() < 0.3:
        options["reward"] = "cascade"
    return Case(problem, budget, options)


def best_found(case: Case, cells: int = 160, levels: int = 4) -> tuple[float, Floats]:
    """The best allocation of up to three arms on a lattice that is refined around its best point."""
    problem, budget = case.problem, case.budget
    arms = problem.arms
    lower = np.broadcast_to(case.options.get("lower", 0.0), (arms,)).astype(float)
    upper = np.broadcast_to(case.options.get("upper", np.inf), (arms,)).astype(float)
    whole = problem.law.whole_arms(arms)
    cascade = case.options.get("reward") == "cascade"
    lower = np.where(whole, np.ceil(lower), lower)
    upper = np.where(whole, np.floor(upper), upper)
    top, at = -np.inf, lower
    start, spare = lower, budget - lower.sum()
    for _ in range(levels):
        n = int(min(cells, max(spare, 1.0))) if whole.all() else cells
        step = spare / n
        x = np.clip(start[:, None] + step * np.arange(n + 1), lower[:, None], upper[:, None])
        x = np.where(whole[:, None], np.floor(x), x)
        success = problem.success_probability(x.T).T
        with np.errstate(divide="ignore"):
            f = -np.log1p(-success) if cascade else success
        if arms == 1:
            index: tuple[int, ...] = (n,)
        elif arms == 2:
            index = (int(np.argmax(f[0] + f[1, ::-1])),)
            index = (*index, n - index[0])
        else:
            i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
            total = np.where(i + j <= n, f[0][i] + f[1][j] + f[2][np.maximum(n - i - j, 0)], -np.inf)
            i0, j0 = np.unravel_index(int(np.argmax(total)), total.shape)
            index = (int(i0), int(j0), n - int(i0) - int(j0))
        found = np.array([x[arm, k] for arm, k in enumerate(index)])
        if found.sum() <= budget * (1.0 + 1e-14):
            worth = float(problem.expected_reward(found, "cascade" if cascade else "sum"))
            if worth > top:
                top, at = worth, found
        start = np.maximum(at - 4.0 * step, lower)
        spare = max(budget - start.sum(), 0.0)
    return top, at
