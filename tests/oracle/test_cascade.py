"""The cascade reward: the chance of at least one success, 1 - prod(1 - p_i G_i(x_i))."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headgate as hg
from headgate.errors import UnsupportedError
from headgate.laws import Floats, Law, ScaleLaw

from .references import EVERY, Instance, instance

# A hazard that falls and then rises: the curve of such an arm is concave, convex and concave.
BATHTUBS: dict[str, Law] = {
    "nakagami_0.1": hg.Nakagami(0.1),
    "nakagami_0.2": hg.Nakagami(0.2),
    "nakagami_0.4": hg.Nakagami(0.4),
    "exponweib": hg.from_scipy("exponweib", 0.2, 3.0),
}
LAWS = EVERY | BATHTUBS


def doubt(law: Law, weight: np.ndarray, digits: float = 2.0) -> float:
    """How far a tabulated law may be off: the certificate admits it, so small chances have a wide gap.

    `digits` is (|log rate| + |log budget|) / 4, in which log(rate x) loses some.
    """
    error = law.standard().error
    return float(2.1 * np.sum(weight) * np.max(error + digits * np.minimum(error, 1e-13))) + 1e-15


def chance(problem: Instance, x: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):  # by logarithms: small chances keep their digits
        failures = np.log1p(-problem.weight * problem.law.cdf(x, problem.rate))
    return np.asarray(-np.expm1(np.sum(failures, axis=-1)))


def grid(problem: Instance, cells: int) -> np.ndarray:
    """All splits of the budget into whole cells above the lower limits, for three arms."""
    i, j = np.meshgrid(np.arange(cells + 1), np.arange(cells + 1), indexing="ij")
    i, j = i[i + j <= cells], j[i + j <= cells]
    spare = problem.budget - problem.lower.sum()
    x = problem.lower + np.stack([i, j, cells - i - j], axis=-1) * (spare / cells)
    return np.asarray(np.minimum(x, problem.upper))


def sure(problem: Instance, rng: np.random.Generator) -> Instance:
    """Some arms are active for certain."""
    weight = np.where(rng.random(problem.weight.size) < 0.4, 1.0, problem.weight)
    return Instance(problem.law, weight, problem.rate, problem.budget, problem.lower, problem.upper)


@settings(deadline=None, derandomize=True, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), limits=st.booleans())
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_against_a_grid(law: Law, seed: int, limits: bool) -> None:
    problem = sure(instance(law, 3, seed, limits=limits), np.random.default_rng(seed))
    best = problem.solve(reward="cascade")
    assert np.all((best.x >= problem.lower) & (best.x <= problem.upper))
    assert best.x.sum() <= problem.budget * (1.0 + 1e-12)
    assert best.value == pytest.approx(chance(problem, best.x), rel=1e-9, abs=doubt(law, problem.weight))
    assert best.bound - best.value <= 1e-9 * best.bound + doubt(law, problem.weight)
    top = np.max(chance(problem, grid(problem, 120)))
    assert top <= best.bound
    assert top <= best.value * (1.0 + 1e-9) + doubt(law, problem.weight)


@pytest.mark.parametrize("arms", [1, 20, 300])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_many_arms(law: Law, arms: int) -> None:
    problem = instance(law, arms, 9, limits=False)
    problem = Instance(law, 0.3 * problem.weight, problem.rate, problem.budget / 5, problem.lower, problem.upper)
    best, rng = problem.solve(reward="cascade"), np.random.default_rng(0)
    assert best.value == pytest.approx(chance(problem, best.x), rel=1e-9, abs=doubt(law, problem.weight))
    assert best.bound - best.value <= 1e-9 * best.bound + doubt(law, problem.weight)
    for _ in range(30):
        assert chance(problem, problem.random_allocation(rng)) <= best.bound + 1e-15


def test_the_price_is_the_slope_of_the_chance() -> None:
    for law in (hg.Exponential(), hg.Lomax(2.0), hg.Weibull(0.7)):
        problem = instance(law, 6, 3, limits=False)
        one, more = (
            hg.solve(law, problem.weight, problem.rate, b, reward="cascade") for b in (2.0, 2.0 * (1.0 + 1e-6))
        )
        assert (more.value - one.value) / 2e-6 == pytest.approx(one.price, rel=1e-4)


def test_a_sure_arm_with_an_exponential_threshold_is_a_straight_line() -> None:
    """-log(1 - G) = rate x: all of the budget to the largest rate, none to the others."""
    rate = np.array([0.5, 2.0, 1.0, 1.999999])
    for budget in (1e-3, 1.0, 30.0):
        best = hg.solve(hg.Exponential(), np.ones(4), rate, budget, reward="cascade")
        np.testing.assert_allclose(best.x, [0.0, budget, 0.0, 0.0], atol=1e-9 * budget)
        assert best.value == pytest.approx(-np.expm1(-2.0 * budget), rel=1e-12)


def test_sure_equal_lines_share_anyhow() -> None:
    best = hg.solve(hg.Weibull(1.0), np.ones(6), np.full(6, 0.7), 3.0, reward="cascade")
    assert best.x.sum() == pytest.approx(3.0, rel=1e-12)
    assert best.value == pytest.approx(-np.expm1(-2.1), rel=1e-12)
    assert best.gap <= 1e-9


@pytest.mark.parametrize("budget", [1e-6, 1e-2, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_far_out(law: Law, budget: float) -> None:
    rate = np.array([1e-6, 1.5, 3.0, 1e6]) if not isinstance(law, hg.Beta) else np.array([1.5, 2.0, 0.3, 7.0])
    weight = np.array([1.0, 0.9, 1.0, 1e-9])
    best = hg.solve(law, weight, rate, budget, reward="cascade")
    assert np.all(np.isfinite(best.x))
    assert np.all(best.x >= 0.0)
    assert best.x.sum() <= budget * (1.0 + 1e-12)
    assert 0.0 <= best.value <= best.bound <= 1.0 + doubt(law, weight, digits=8.0)
    assert best.bound - best.value <= 1e-9 * best.bound + doubt(law, weight, digits=8.0)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("invgauss", (0.3,)), ("invgauss", (3.0,)), ("exponweib", (0.2, 3.0)), ("exponweib", (4.0, 0.5)),
        ("gengamma", (0.3, 2.0)), ("gengamma", (3.0, 0.6)), ("burr12", (2.0, 0.5)), ("fatiguelife", (1.5,)),
        ("invgamma", (2.0,)), ("invweibull", (1.5,)), ("lognorm", (0.8,)), ("genexpon", (0.5, 2.0, 1.0)),
        ("chi", (0.5,)), ("expon", ()), ("fisk", (3.0,)),
    ],
)  # fmt: skip
def test_wrapped_laws_with_usual_hazards_are_taken(name: str, shapes: tuple[float, ...]) -> None:
    best = hg.solve(hg.from_scipy(name, *shapes), [0.9, 1.0], [1.0, 2.0], 1.5, reward="cascade")
    assert best.gap <= 1e-6


@final
@dataclass(frozen=True)
class Wavy(ScaleLaw):
    """An exponential whose hazard swings around 1: it rises many times, though the density has one peak."""

    name: ClassVar[str] = "wavy"

    def log_sf0(self, z: Floats) -> Floats:
        return np.asarray(-(z + 0.08 * (1.0 - np.cos(6.0 * z)) / 6.0))

    def log_pdf0(self, z: Floats) -> Floats:
        return np.asarray(np.log1p(0.08 * np.sin(6.0 * z)) + self.log_sf0(z))


def test_a_hazard_that_rises_twice_is_refused() -> None:
    assert hg.solve(Wavy(), [0.9, 0.5], [1.0, 2.0], 1.5).gap <= 1e-9
    for law in (Wavy(), [Wavy(), hg.Exponential()], [Wavy(), hg.DiscreteWeibull()]):
        with pytest.raises(UnsupportedError, match=r"Wavy\(\) rises more than once"):
            hg.solve(law, [0.9, 0.5], [1.0, 2.0], 1.5, reward="cascade")


@pytest.mark.parametrize("seed", range(4))
def test_sure_arms_among_others(seed: int) -> None:
    """With weight 1 an exponential arm's curve is a straight line: neither convex nor concave, up to rounding."""
    known = hg.solve(hg.Exponential(), [0.99, 1.0], [1.7289573725310277, 0.17066850996680522], 10.0, reward="cascade")
    assert known.value == pytest.approx(0.9960578121525615, rel=1e-12)
    rng = np.random.default_rng(seed)
    for law in (hg.Exponential(), hg.Weibull(1.0), hg.Gamma(1.0), hg.Weibull(1.5), hg.Weibull(0.7)):
        for _ in range(60):
            arms = int(rng.integers(2, 5))
            weight, rate = rng.choice([1.0, 0.99, 0.5], arms), rng.uniform(0.05, 2.0, arms)
            assert hg.solve(law, weight, rate, float(rng.uniform(1.0, 15.0)), reward="cascade").gap <= 1e-9
