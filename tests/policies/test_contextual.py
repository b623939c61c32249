"""Contextual: regression on features against slow references, worlds that are hard, and bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special

import headgate as hg
from headgate.errors import AllocationError, FeatureError, HeadgateError, ParameterError, UnsupportedError
from headgate.laws import Floats, Law
from headgate.laws.learned import open_form
from headgate.policies.candidates import candidates

BUDGET = 10.0


def world(z: Floats, law: Law | None = None) -> hg.Problem:
    """Activation and rate by the first two features."""
    return hg.Problem(law or hg.Exponential(), special.expit(-0.3 + z[:, 1]), np.exp(0.2 + 0.6 * z[:, 0]))


def play(
    policy: hg.Contextual, rounds: int, arms: int = 8, seed: int = 0, law: Law | None = None, **ask: Any
) -> Floats:
    """Play rounds whose features are ~ N(0, 1); return the share of the optimum in each."""
    rng, shares = np.random.default_rng(seed), np.zeros(rounds)
    for t in range(rounds):
        z = rng.normal(size=(arms, policy.width))
        problem = world(z, law)
        x = policy.allocate(BUDGET, features=z, **ask)
        assert np.isfinite(x).all()
        assert x.sum() <= BUDGET
        shares[t] = problem.expected_reward(x) / problem.solve(BUDGET).value
        policy.observe(x, problem.play(x, rng), features=z)
    return shares


@pytest.mark.parametrize(
    "law", [hg.Exponential(), hg.LogNormal(0.8), hg.DiscreteWeibull(0.8), hg.Lomax(2.0), hg.Gamma(2.0)]
)
def test_information_is_the_mean_square_of_gradients(law: Law) -> None:
    from headgate.kernels.regression import FAILED, SEEN, row_information, row_likelihood

    laws, theta, x, count = candidates([law], 1), np.array([0.7, 0.4, 0.1]), 3.0, 100_000
    rng = np.random.default_rng(0)
    thresholds = law.sample(float(laws.rates(theta[:1])[0]), rng, count)
    won = (rng.random(count) < special.expit(theta[1])) & (thresholds <= x)
    found = row_likelihood(
        laws.columns[0, 0], laws.maps, laws.table, np.where(won, SEEN, FAILED), np.where(won, thresholds, x), theta,
        np.empty(4),
    )[:, 1:3]  # fmt: skip
    square = found.T @ found / count
    info = row_information(laws.columns[0, 0], laws.maps, laws.table, x, 1.0, theta, np.empty(6))
    # Five standard errors of a mean of 100,000 squares: a chance of 1e-6.
    assert np.allclose(found.mean(axis=0), 0.0, atol=5.0 * np.sqrt(np.diagonal(square).max() / count))
    assert np.allclose([square[0, 0], square[0, 1], square[1, 1]], info[:3], rtol=0.03)


@pytest.mark.parametrize(
    "law", [hg.Exponential(), hg.Weibull(1.6), hg.LogLogistic(2.0), hg.Beta(20.0), hg.Weibull("learn")]
)
def test_derivatives_are_those_of_the_value(law: Law) -> None:
    from headgate.kernels.regression import row_likelihood

    laws, rng = candidates([law], 1), np.random.default_rng(1)
    theta = np.stack([rng.normal(1.0, 1.0, 300), rng.normal(0.0, 2.0, 300), rng.normal(0.2, 0.3, 300)], axis=1)
    kind, amount = rng.integers(0, 3, 300), np.minimum(np.exp(rng.normal(1.0, 1.0, 300)), 19.0)

    def at(point: Floats) -> Floats:
        return np.asarray(row_likelihood(laws.columns[0, 0], laws.maps, laws.table, kind, amount, point, np.empty(4)))

    found = at(theta)
    for j in range(2):
        step = np.eye(3)[j] * 1e-5
        slope = (at(theta + step) - at(theta - step)) / 2e-5
        assert np.allclose(slope[:, 0], found[:, 1 + j], rtol=1e-5, atol=1e-6)
    p, rate = special.expit(theta[:, 1]), None
    if not law.is_open:
        rate = laws.repeated(300).rates(theta[:, 0])
        reached = law.cdf(amount, rate)
        assert np.allclose(found[kind == 0, 0], np.log1p(-p * reached)[kind == 0])
        assert np.allclose(found[kind == 2, 0], np.log(p * reached)[kind == 2])


def test_a_first_round_finds_the_mode_of_the_exact_posterior() -> None:
    policy, rng = hg.Contextual(hg.Exponential(), features=2, max_budget=BUDGET), np.random.default_rng(3)
    z = rng.normal(size=(40, 2))
    x = np.full(40, 2.0)
    feedback = world(z).play(x, rng)
    policy.observe(x, feedback, features=z)
    mean, unit = z.mean(axis=0), np.maximum(z.std(axis=0), np.ptp(z, axis=0) / 6.0)
    columns = np.column_stack([np.ones(40), (z - mean) / unit])
    prior = np.array([np.log(BUDGET / 40.0) + np.log(np.log(2.0)), 0.0, 0.0, 0.0, 0.0, 0.0])
    variance = np.array([1.0, 0.002, 0.002, 3.0, 0.03, 0.03])

    def loss(theta: Floats) -> float:
        log_median, logit = columns @ theta[:3], columns @ theta[3:]
        rate, p = np.log(2.0) * np.exp(-log_median), special.expit(logit)
        won, seen = feedback.success, np.nan_to_num(feedback.threshold)
        rows = np.where(won, np.log(p) + np.log(rate) - rate * seen, np.log1p(p * np.expm1(-rate * x)))
        return float(-rows.sum() + 0.5 * np.sum((theta - prior) ** 2 / variance))

    best = optimize.minimize(loss, prior, method="BFGS", options={"gtol": 1e-8}).x
    found = policy.estimate(features=z).predictors
    assert np.allclose(found[:, 0], columns @ best[:3], atol=2e-2)
    assert np.allclose(found[:, 1], columns @ best[3:], atol=2e-2)


@pytest.fixture(scope="module")
def played() -> tuple[hg.Contextual, Floats]:
    """A learner after 300 rounds, and its share of the optimum in each."""
    policy = hg.Contextual(hg.Exponential(), features=2, max_budget=BUDGET)
    return policy, play(policy, 300)


def test_what_is_learned_round_by_round_is_near_the_truth_and_known_to_be(
    played: tuple[hg.Contextual, Floats],
) -> None:
    policy, _ = played
    z = np.random.default_rng(9).normal(size=(50, 2))
    found, truth = policy.estimate(features=z), world(z)
    away = found.predictors[:, :2] - np.stack(
        [np.log(np.log(2.0) / truth.rate), special.logit(truth.activation)], axis=1
    )
    spread = np.sqrt(np.diagonal(found.covariance, axis1=1, axis2=2)[:, :2])
    # 6 coefficients stand behind the 100 deviations: a mean square above 4 has a chance below 1e-3.
    assert np.mean(np.square(away / spread)) < 4.0
    assert np.abs(away).max() < 0.5
    chance = found.success(2.0)
    assert np.all((chance.interval[:, 0] < chance.chance) & (chance.chance < chance.interval[:, 1]))
    assert np.mean(np.abs(chance.chance - truth.activation * truth.law.cdf(2.0, truth.rate))) < 0.05


def test_features_are_worth_their_while(played: tuple[hg.Contextual, Floats]) -> None:
    _, shares = played
    assert shares[100:].mean() > 0.97


@pytest.mark.parametrize("law", [hg.Weibull("learn"), hg.DiscreteWeibull(1.0), "auto"])
def test_shapes_laws_and_whole_units_are_learned_too(law: Any) -> None:
    truth = hg.DiscreteWeibull(1.0) if isinstance(law, hg.DiscreteWeibull) else hg.Weibull(1.6)
    policy = hg.Contextual(law, features=2, max_budget=BUDGET)
    assert play(policy, 70, law=truth)[40:].mean() > 0.9


def test_units_of_features_do_not_matter() -> None:
    scale, shift = np.array([1e-9, 1e9]), np.array([5.0, -3e10])
    plain, other = (hg.Contextual(hg.Exponential(), features=2, max_budget=BUDGET) for _ in range(2))
    rng = np.random.default_rng(0)
    for _ in range(30):
        z = rng.normal(size=(6, 2))
        x, y = plain.allocate(BUDGET, features=z), other.allocate(BUDGET, features=z * scale + shift)
        assert np.allclose(x, y, atol=1e-3 * BUDGET)
        feedback = world(z).play(x, rng)
        plain.observe(x, feedback, features=z)
        other.observe(x, feedback, features=z * scale + shift)


WORLDS: dict[str, Callable[[Floats], Floats]] = {
    "all fail": lambda z: np.full(len(z), np.inf),
    "all succeed": lambda z: np.full(len(z), 1e-3),
    "complete separation": lambda z: np.where(z[:, 0] > 0.0, 0.5, np.inf),
    "thresholds beyond all sense": lambda z: np.exp(8.0 * z[:, 0]),
}


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("features", ["normal", "collinear", "constant", "huge"])
def test_hard_worlds_leave_numbers(name: str, features: str) -> None:
    kinds: dict[str, Callable[[Floats], Floats]] = {
        "normal": lambda z: z,
        "collinear": lambda z: np.column_stack([z[:, 0], 2.0 * z[:, 0], z[:, 0] + 1e-9 * z[:, 1]]),
        "constant": lambda z: np.column_stack([z[:, :2], np.ones(len(z))]),
        "huge": lambda z: z * 1e80,
    }
    make = kinds[features]
    for law in (hg.Exponential(), hg.Weibull("learn"))[features != "normal" :]:
        policy, rng = hg.Contextual(law, features=3, max_budget=BUDGET), np.random.default_rng(0)
        for _ in range(16):
            z = rng.normal(size=(6, 3))
            x = policy.allocate(BUDGET, features=make(z))
            assert np.isfinite(x).all()
            reach = WORLDS[name](z)
            won = reach <= x
            policy.observe(x, hg.Feedback(won & (x > 0.0), np.where(won & (x > 0.0), reach, np.nan)), features=make(z))
        for field in ("precision", "vector", "variances"):
            assert np.isfinite(getattr(policy.state, field)).all()
        assert np.isfinite(policy.estimate(features=make(z)).success(1.0).interval).all()


def test_merged_learners_know_what_both_have_seen() -> None:
    first, second = (hg.Contextual(hg.Exponential(), features=2, max_budget=BUDGET, seed=s) for s in (0, 1))
    play(first, 80, seed=1)
    play(second, 80, seed=2)
    z = np.random.default_rng(5).normal(size=(20, 2))
    apart = [p.estimate(features=z).covariance for p in (first, second)]
    trials = first.evidence.trials + second.evidence.trials
    first.merge(second)
    both = first.estimate(features=z)
    for one in apart:
        assert np.all(np.diagonal(both.covariance - one, axis1=1, axis2=2)[:, :2] < 0.0)
    truth = world(z)
    assert np.abs(both.predictors[:, 1] - special.logit(truth.activation)).mean() < 0.35
    assert np.array_equal(first.evidence.trials, trials)
    with pytest.raises(ParameterError, match="one configuration"):
        first.merge(hg.Contextual(hg.Exponential(), features=3, max_budget=BUDGET))
    with pytest.raises(ParameterError, match="itself"):
        first.merge(first)
    assert np.array_equal(first.evidence.trials, trials)


def test_arms_of_their_own_differ_where_features_do_not() -> None:
    policy = hg.Contextual(hg.Exponential(), features=2, arms=3, max_budget=BUDGET)
    problem, rng = hg.Problem(hg.Exponential(), [0.9, 0.5, 0.1], [1.0, 0.5, 0.5]), np.random.default_rng(0)
    for _ in range(200):
        z = rng.normal(size=2)
        x = policy.allocate(BUDGET, features=z)
        policy.observe(x, problem.play(x, rng), features=z)
    found = policy.estimate()
    assert np.allclose(found.activation, [0.9, 0.5, 0.1], atol=0.12)


def test_rounds_may_have_any_number_of_arms_values_limits_and_be_live() -> None:
    policy = hg.Contextual(hg.Exponential(), features=2, max_budget=BUDGET, upper=5.0)
    rng = np.random.default_rng(0)
    for arms in (3, 1, 7):
        z = rng.normal(size=(arms, 2))
        x = policy.allocate(BUDGET, features=z, value=np.ones(arms), eligible=np.arange(arms) != 2)
        assert x.shape == (arms,)
        assert x.max() <= 5.0
        assert arms < 3 or x[2] == 0.0
        policy.observe(x, world(z).play(x, rng), features=z)
    z = rng.normal(size=(4, 2))
    live = policy.live(BUDGET, features=z)
    while (step := live.next()) is not None:
        live.report(success=False, spent=step.amount)
    policy.observe(live, features=z)
    assert policy.plan(features=z).order.size == 4
    assert all(arm < 4 for arm, _ in policy.pour(1.0, features=z))


def test_bad_features_are_refused_and_change_nothing() -> None:
    policy = hg.Contextual(hg.Exponential(), features=2, max_budget=BUDGET)
    play(policy, 5)
    z = np.zeros((3, 2))
    x = policy.allocate(BUDGET, features=z)
    good, before = hg.Feedback([False] * 3, [np.nan] * 3), policy.to_json()
    for bad in (
        None,
        np.zeros((3, 3)),
        np.zeros(2),
        np.full((3, 2), np.nan),
        [[0.0, np.inf]] * 3,
        "ab",
        np.full((3, 2), 1e200),
        np.zeros((0, 2)),
    ):
        with pytest.raises(FeatureError):
            policy.allocate(BUDGET, features=bad)
        with pytest.raises(HeadgateError):
            policy.observe(x, good, features=bad)
    with pytest.raises(HeadgateError):
        policy.observe(x, good, features=np.zeros((4, 2)))
    with pytest.raises(AllocationError, match=r"more than max_budget 10, got 10\.05"):
        policy.observe([1.005 * BUDGET, 0.0, 0.0], good, features=z)
    assert policy.to_json() == before
    with pytest.raises(FeatureError, match="takes no features"):
        hg.Thompson(hg.Exponential(), 3, BUDGET).allocate(BUDGET, features=z)
    with pytest.raises(ParameterError, match="there must be features"):
        hg.Contextual(hg.Exponential(), max_budget=BUDGET)
    with pytest.raises(UnsupportedError, match="features"):
        hg.Guarded(hg.Contextual(hg.Exponential(), features=1, arms=2, max_budget=BUDGET))


def test_named_features_go_to_json_with_the_policy() -> None:
    known = hg.Features(numbers=["age"], categories={"job": ["cook", "nurse"]}, logs=["debt"], missing=["debt"])
    policy = hg.Contextual(hg.Exponential(), features=known, max_budget=BUDGET)
    customers = [{"age": 40, "job": "cook", "debt": 100.0}, {"age": 20, "job": "pilot"}]
    x = policy.allocate(BUDGET, features=customers)
    policy.observe(
        x,
        hg.Feedback([True, False], [0.5 * x[0], np.nan]) if x[0] else hg.Feedback([False] * 2, [np.nan] * 2),
        features=customers,
    )
    twin = hg.load_policy(policy.to_json())
    assert twin.to_json() == policy.to_json()
    assert np.array_equal(twin.allocate(BUDGET, features=customers), policy.allocate(BUDGET, features=customers))


def test_shapes_are_told() -> None:
    law = hg.Weibull("learn")
    policy = hg.Contextual(law, features=2, arms=2, max_budget=BUDGET)
    found = policy.estimate()
    opened = open_form(law, 2)
    assert opened is not None
    assert found.shape is not None
    assert np.all((found.shape > 0.5) & (found.shape < 5.0))
