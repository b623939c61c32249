"""Constants of the paper's assumptions, against their definitions at random points, and the check that reads them."""

from __future__ import annotations

import numpy as np
import pytest

import headgate as hg
from headgate import theory
from headgate.errors import AssumptionWarning, ParameterError, UnsupportedError
from headgate.laws import Floats, Law
from headgate.policies import MGUCB, RAUCB

B, RATES = 40.0, (1.0 / 40.0, 0.2)
LAWS: list[Law] = [hg.Exponential(), hg.Lomax(2.0), hg.Weibull(1.6), hg.Gamma(2.5), hg.HalfNormal(), hg.Beta(50.0)]


def points(count: int = 4000) -> list[Floats]:
    rng = np.random.default_rng(8)
    x = B * rng.random(count)
    low, high = np.log(RATES)
    return [x, *np.exp(rng.uniform(low, high, (4, count)))]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_no_pair_of_points_exceeds_a_constant(law: Law) -> None:
    c = theory.surrogate_constants(law, B, RATES)
    x, a, b, boosted, other = points()
    room = 1.0 + 2e-2  # what a grid leaves

    def surrogate(rate: Floats, boost: Floats) -> Floats:
        return 1.0 - law.boost(rate, boost) * np.exp(law.log_sf(x, rate))

    assert np.all(np.abs(law.cdf(x, a) - law.cdf(x, b)) <= room * c.L_lambda * np.abs(a - b))
    assert np.all(np.abs(surrogate(a, b) - law.cdf(x, a)) <= room * c.L_delta * np.abs(a - b))
    moved = np.abs(surrogate(a, boosted) - surrogate(b, other))
    assert np.all(moved <= room * (c.L_tilde * np.abs(a - b) + c.L_tilde_boosted * np.abs(boosted - other)))
    slope, slope_b = (law.boost(r, s) * law.pdf(x, r) for r, s in ((a, boosted), (b, other)))
    assert np.all(slope <= room * c.g_max)
    assert np.all(np.abs(slope - slope_b) <= room * (c.L_g * np.abs(a - b) + c.L_g_boosted * np.abs(boosted - other)))
    y = np.clip(x * 1.01, 0.0, B * (1.0 - 1e-9))
    bend = (slope - law.boost(a, boosted) * law.pdf(y, a)) / np.maximum(y - x, 1e-12)
    assert np.all(bend[y > x] <= room * c.L_G + 1e-9)
    assert np.all(bend[y > x] >= c.mu_G - 0.02 * abs(c.mu_G) - 1e-9)


def test_constants_of_the_exponential_law_are_the_papers_or_tighter() -> None:
    m, M = 1.0, 80.0
    c = theory.surrogate_constants(hg.Exponential(), B)
    assert c.L_delta == pytest.approx(B / m)
    assert c.L_tilde_boosted == pytest.approx(B / m)
    assert c.L_tilde == pytest.approx(M * B / m**2, rel=1e-6)  # the paper has M B (m + 1) / m^2
    assert c.g_max == pytest.approx(M / B)
    assert pytest.approx(M**2 / B**2, rel=1e-4) == c.L_G
    assert c.L_g <= M
    assert c.L_g_boosted == pytest.approx(1.0)
    assert c.mu_G >= m**2 * np.exp(-M) / B**2


def test_bounds_of_other_laws() -> None:
    saved = hg.datasets.saved_instance()
    lomax, shaped = (hg.Problem(law, saved.activation, saved.rate) for law in (hg.Lomax(2.0), hg.Weibull(1.6)))
    c = theory.surrogate_constants(lomax.law, B)
    x = lomax.solve(B).x
    S = x > 0.0
    p, C, T = lomax.activation[S], lomax.law.cdf(x[S], 1.0 / B), 1e4
    q = p * lomax.law.cdf(x[S], lomax.rate[S])
    one = 2.0 * np.sqrt(2.0) * B * c.L_lambda / c.L_mu * np.sum((1.0 + p) / (C * np.sqrt(q)))
    two = np.sqrt(2.0) * B / c.L_mu * (c.L_tilde + c.L_lambda + c.L_tilde_boosted + 2.0 * c.L_delta) * np.sum(1.0 / q)
    expected = np.sqrt(96.0) * (one + two) * np.sqrt(10 * T * np.log(T)) + 300.0 * np.log(T) + 800.0
    assert theory.sqrt_upper_bound(lomax, B, T) == pytest.approx(expected)
    assert np.isfinite(theory.log_upper_bound(lomax, B, T))
    assert np.isinf(theory.log_upper_bound(shaped, B, T))  # not concave
    pole = hg.Problem(hg.Weibull(0.7), saved.activation, saved.rate)
    assert np.isinf(theory.log_upper_bound(pole, B, T))  # not smooth


def failed(assumptions: theory.Assumptions) -> set[str]:
    return {assumption.name for assumption in assumptions.failed}


def test_the_papers_own_setting_meets_every_assumption() -> None:
    found = theory.check(hg.datasets.saved_instance(), B)
    assert found.holds, found
    assert not found.failed
    assert len(str(found).splitlines()) == len(found.listed)


def test_each_assumption_fails_where_it_should() -> None:
    p, rate = [0.5, 0.6], [0.1, 0.2]
    concave, strong = "G is concave on [0, B]", "G~ is strongly concave and smooth"
    assert failed(theory.check(hg.Problem(hg.Weibull(1.6), p, rate), B)) == {concave, strong}
    assert failed(theory.check(hg.Problem(hg.LogNormal(1.0), p, rate), B)) == {concave, strong, "g~ falls in lambda"}
    assert failed(theory.check(hg.Problem(hg.Exponential(), p, [0.1, 20.0]), B)) == {"rates lie within Lambda"}
    assert failed(theory.check(hg.Problem(hg.Exponential(), [0.0, 0.5], rate), B)) == {"p >= p_min > 0"}
    weak = hg.Problem(hg.Exponential(), p, rate)
    assert failed(theory.check(weak, B, least_activation=0.55)) == {"p >= p_min > 0"}
    assert not failed(theory.check(weak, B))


def test_a_policy_is_checked_by_its_configuration() -> None:
    found = theory.check(RAUCB(hg.Gamma(2.0), 3, B, rounds=100))
    assert failed(found) == {"G is concave on [0, B]", "G~ is strongly concave and smooth"}
    assert [assumption.holds for assumption in found.listed].count(None) == 2  # the true parameters are not known


def test_it_says_what_it_cannot_check() -> None:
    saved = hg.datasets.saved_instance()
    with pytest.raises(ParameterError, match="check\\(problem, budget\\)"):
        theory.check(saved)
    with pytest.raises(ParameterError, match="its own"):
        theory.check(RAUCB(hg.Exponential(), 3, B, rounds=100), 10.0)
    with pytest.raises(UnsupportedError, match="Problem or of one of the paper's policies"):
        theory.check(hg.Uniform(hg.Exponential(), 3, B))
    with pytest.raises(UnsupportedError, match="smooth law"):
        theory.check(hg.Problem(hg.DiscreteWeibull(1.0), [0.5], [0.2]), B)


def play(policy: RAUCB | MGUCB, world: hg.Problem, rng: np.random.Generator) -> None:
    for _ in range(150):
        x = policy.allocate(B)
        policy.observe(x, world.play(x, rng))


@pytest.mark.parametrize("make", [RAUCB, MGUCB])
def test_the_papers_policies_warn_outside_of_its_assumptions(make: type[RAUCB | MGUCB]) -> None:
    with pytest.warns(AssumptionWarning, match="arm 1 follows the S-shaped"):
        make([hg.Exponential(), hg.LogNormal(1.0)], 2, B, rounds=50)
    world, rng = hg.Problem(hg.Exponential(), [1.0, 0.9], [9.0, 0.3]), np.random.default_rng(0)  # 9 > 80 / B
    policy = make(world.law, 2, B, rounds=400, scale=1e-6)
    with pytest.warns(AssumptionWarning, match="that of arm 0 is estimated at .*wider rate_range"):
        play(policy, world, rng)


@pytest.mark.filterwarnings("error")
def test_no_warning_within_them() -> None:
    """Rates at the very ends of Lambda, 20 learners at once; the paper's own estimator is biased beyond them."""
    rng = np.random.default_rng(0)
    world = hg.Problem(hg.Exponential(), [1.0, 0.9, 0.9], [2.0, 0.3, 1.0 / B])
    policy = RAUCB(world.law, 3, B, rounds=400, scale=1e-6, seed=np.arange(20))
    play(policy, world, rng)


def test_it_warns_once() -> None:
    world, rng = hg.Problem(hg.Exponential(), [1.0, 0.9], [9.0, 0.3]), np.random.default_rng(0)
    with pytest.warns(AssumptionWarning) as caught:
        play(RAUCB(world.law, 2, B, rounds=400, scale=1e-6), world, rng)
    assert len(caught) == 1
