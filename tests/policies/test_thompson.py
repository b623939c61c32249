"""Thompson: its noise, its pooled prior, its shapes, and that it learns; tests/kernels has its posterior."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

import headgate as hg
from headgate.kernels.columns import ACTIVATION, DUE, MEAN, RATE, VARIANCE
from headgate.laws import Floats, Law
from headgate.policies.thompson import Thompson

LAWS = [hg.Exponential(), hg.Weibull(1.6), hg.LogNormal(0.8)]


def played(law: Law, policy: Thompson, rounds: int, seed: int) -> tuple[Floats, Floats, np.ndarray, hg.Problem]:
    """Feed a policy `rounds` rounds at varied allocations; return them as rows of raw history."""
    rng = np.random.default_rng(seed)
    problem = hg.Problem(law, activation=np.full(policy.arms, 0.6), rate=np.full(policy.arms, 0.15))
    allocations, thresholds, successes = [], [], []
    for _ in range(rounds):
        x = rng.uniform(1.0, 12.0, policy.arms)
        feedback = problem.play(x, rng)
        policy.observe(x, feedback)
        allocations.append(x)
        thresholds.append(feedback.threshold)
        successes.append(feedback.success)
    return np.array(allocations), np.array(thresholds), np.array(successes), problem


def settle(policy: Thompson) -> None:
    """Let the Newton steps arrive: rounds without news."""
    for _ in range(200):
        policy.allocate(policy.max_budget)


def draw_of(policy: Thompson, turn: int) -> Floats:
    """The draw of a round, were it the next."""
    policy.state.round = turn
    return policy.draw(policy.state)


@pytest.mark.parametrize("law", [hg.Exponential(), hg.Weibull(3.0), hg.LogNormal(0.5)], ids=lambda law: law.name)
@pytest.mark.parametrize("idle", [False, True])
def test_noise_is_calmed_by_what_is_known_of_the_curve(law: Law, idle: bool) -> None:
    """The variance of l is that of so many exponential thresholds, of which n leave 1 / n, or n thresholds of the law.

    Two standard deviations from 2,000 draws each: an error of 6%.
    """
    loud, quiet = (Thompson(law, arms=1, max_budget=40.0, seed=5, calm=calm) for calm in (np.inf, 10.0))
    for policy in (loud, quiet):
        played(law, policy, 300, seed=6)
        settle(policy)
        policy.state.idle = np.array([idle])
    log_rate = [np.log([draw_of(policy, t)[0, RATE] for t in range(500, 2500)]) for policy in (loud, quiet)]
    middle = 3.0 if idle else np.inf  # of an idle arm, the bold draws are left out: those far away
    spread = [np.std(v[np.abs(v - np.median(v)) < middle * np.std(v)]) for v in log_rate]
    quartiles = law.quantile(np.array([0.25, 0.75]), 1.0)
    unit = np.log(quartiles[1] / quartiles[0]) / np.log(np.log(4.0) / np.log(4.0 / 3.0))
    known = unit**2 / float(np.var(log_rate[0]))
    calmed = 1.0 / np.sqrt(1.0 + known / (50.0 if idle else 10.0))
    assert calmed < 0.9
    assert spread[1] / spread[0] == pytest.approx(calmed, rel=0.25 if idle else 0.1)


def test_successes_on_a_ridge_do_not_calm() -> None:
    """Small amounts do not tell a slow arm of large p from a fast one of small p: draws stay as wide as before."""
    rng, spread, successes = np.random.default_rng(3), [], []
    x = np.array([1.0])
    for rounds, rate in ((4000, 0.03), (40, 30.0)):  # hundreds of successes on a ridge; a few that tell all
        problem = hg.Problem(hg.Exponential(), [0.9], [rate])
        policy = Thompson(hg.Exponential(), arms=1, max_budget=40.0, seed=5)
        for _ in range(rounds):
            policy.allocate(40.0)
            policy.observe(x, problem.play(x, rng))
        settle(policy)
        draws = np.log([draw_of(policy, t)[0, RATE] for t in range(5000, 6000)])
        spread.append(np.std(draws) / np.sqrt(policy.state.memory[0, VARIANCE]))
        successes.append(float(policy.evidence.successes[0]))
    assert successes[0] > 2.0 * successes[1]
    assert spread[0] > 1.5 * spread[1]


@pytest.mark.parametrize("idle", [False, True])
def test_bold_draws_are_those_of_idle_arms(idle: bool) -> None:
    """Calm is so strong that all but the bold draws are at the median: counts within 4.5 standard deviations."""
    policy = Thompson(hg.Exponential(), arms=1, max_budget=40.0, seed=5, calm=1e-9)
    played(hg.Exponential(), policy, 300, seed=6)
    settle(policy)
    policy.state.idle = np.array([idle])
    log_rate = np.array([np.log(draw_of(policy, turn)[0, RATE]) for turn in range(1000, 5000)])
    away = log_rate - np.median(log_rate)
    for side in (np.count_nonzero(away < -0.01), np.count_nonzero(away > 0.01)):  # half of one in ten
        assert side == (pytest.approx(200, abs=4.5 * np.sqrt(200.0)) if idle else 0)


def test_an_unknown_arm_is_expected_to_be_like_the_others() -> None:
    policy = Thompson(hg.Exponential(), arms=6, max_budget=40.0, seed=7)
    rng = np.random.default_rng(8)
    problem = hg.Problem(hg.Exponential(), activation=np.full(6, 0.9), rate=np.full(6, 1.5))
    x = np.array([4.0, 4.0, 4.0, 4.0, 4.0, 0.0])  # the last arm never gets anything
    for _ in range(300):
        policy.allocate(40.0)
        policy.observe(x, problem.play(x, rng))
    settle(policy)
    rate, activation = (
        np.log(2.0) / np.exp(policy.state.memory[5, MEAN]),
        special.expit(policy.state.memory[5, MEAN + 1]),
    )
    assert rate == pytest.approx(1.5, rel=0.5)  # it began at K / B = 0.15
    assert activation > 0.75  # and at 0.5


def test_every_arm_is_refreshed_at_least_every_32_rounds() -> None:
    policy = Thompson(hg.Exponential(), arms=40, max_budget=40.0, seed=9)
    played(hg.Exponential(), policy, 2000, seed=10)
    settle(policy)
    due = policy.state.memory[:, DUE]
    assert np.all(due - (policy.round - 1) <= 32)
    assert len(np.unique(due)) > 8  # they take turns


@pytest.mark.parametrize(
    ("law", "truth"),
    [
        (hg.Weibull(shape="learn"), hg.Weibull(2.2)),
        (hg.Gamma(shape="learn"), hg.Gamma(12.0)),
        (hg.Weibull(shape="learn"), hg.Weibull(9.0)),
        (hg.Lomax(shape="learn"), hg.Lomax(0.3)),
        (hg.Nakagami(shape="learn"), hg.Nakagami(4.0)),
        (hg.LogNormal(sigma="learn"), hg.LogNormal(0.1)),
    ],
)
def test_a_shape_is_learned(law: Law, truth: Law) -> None:
    policy = Thompson(law, arms=3, max_budget=40.0, seed=11)
    first, median, third = (float(truth.quantile(q, 1.0)) for q in (0.25, 0.5, 0.75))
    problem = hg.Problem(truth, activation=[0.9, 0.7, 0.5], rate=[0.2 * median, 0.3 * median, 0.4 * median])
    rng = np.random.default_rng(12)
    for _ in range(800):
        x = policy.allocate(40.0)
        policy.observe(x, problem.play(x, rng))
    # About 400 successes an arm: s is known to some 5%. Of a Lomax law this heavy many thresholds exceed the budget:
    # its spread stays open, and only what is earned is asked of it.
    if not isinstance(truth, hg.Lomax):
        np.testing.assert_allclose(policy.state.memory[:, MEAN + 2], np.log(np.log(third / first)), atol=0.2)
    best = problem.solve(40.0)
    assert problem.expected_reward(policy.allocate(40.0)) > 0.97 * best.value


def test_it_learns_and_an_even_split_does_not() -> None:
    problem = hg.datasets.saved_instance()
    best = problem.solve(40.0).value
    policy = Thompson(hg.Exponential(), arms=10, max_budget=40.0, seed=np.arange(8))
    rng = np.random.default_rng(13)
    regret = np.zeros(8)
    for _ in range(1000):
        x = policy.allocate(40.0)
        policy.observe(x, problem.play(x, rng))
        regret += best - problem.expected_reward(x)
    even = 1000 * (best - problem.expected_reward(np.full(10, 4.0)))
    # Measured over 96 other runs: 31 +- 7, at most 55, against 485.
    assert np.all(regret < 80.0)
    assert even > 400.0


def test_a_shape_to_be_learned_needs_a_learner() -> None:
    with pytest.raises(hg.errors.UnsupportedError, match="does not know its shape"):
        hg.Weibull(shape="learn").cdf(1.0, 1.0)
    with pytest.raises(hg.errors.UnsupportedError, match="does not know its shape"):
        hg.RAUCB(hg.Weibull(shape="learn"), arms=3, max_budget=40.0, rounds=100)


@pytest.mark.parametrize("law", [hg.Weibull(shape="learn"), hg.LogNormal(sigma="learn"), hg.Gamma(shape="learn")])
@pytest.mark.parametrize("faster", [100.0, 1e4])
def test_learned_shapes_survive_evidence_without_spread(law: Law, faster: float) -> None:
    rng = np.random.default_rng(0)
    problem = hg.Problem(hg.Weibull(3.3), rng.uniform(0.05, 1.0, 5), faster * rng.uniform(0.05, 2.0, 5))
    policy = Thompson(law, arms=5, max_budget=20.0, seed=0)
    for _ in range(120):
        x = policy.allocate(20.0)
        seen = problem.play(x, rng)
        # Every other round with thresholds rounded to the same number.
        alike = hg.Feedback(seen.success & (x >= 0.5), np.where(seen.success & (x >= 0.5), 0.5, np.nan))
        policy.observe(x, seen if policy.round % 2 else alike)
        assert np.all(np.isfinite(x))
    assert np.all(np.isfinite(policy.state.memory))


def test_learned_shapes_and_a_cascade() -> None:
    policy = Thompson(hg.Weibull(shape="learn"), arms=3, max_budget=10.0, reward="cascade")
    assert policy.allocate(5.0).sum() == pytest.approx(5.0)


def test_idle_arms_are_those_that_got_nothing_of_something() -> None:
    policy = Thompson(hg.Exponential(), arms=3, max_budget=10.0)
    policy.allocate(10.0, upper=[10.0, 0.0, 10.0], lower=[5.0, 0.0, 5.0])
    assert policy.state.idle.tolist() == [False, False, False]  # the second could not have anything
    served = policy.allocate(1e-6)
    assert served.tolist().count(0.0) == 2
    assert policy.state.idle.tolist() == (served == 0.0).tolist()
    policy.allocate(0.0)  # a round without money says nothing
    assert policy.state.idle.tolist() == (served == 0.0).tolist()
    policy.observe([0.0, 4.0, 0.0], hg.Feedback([False] * 3, [np.nan] * 3))  # it is the decision that counts
    assert policy.state.idle.tolist() == (served == 0.0).tolist()


def test_no_noise_comes_twice() -> None:
    policy = Thompson(hg.Exponential(), arms=3, max_budget=10.0, seed=4)
    state = policy.start()
    noise = []
    for state.round in range(200):
        noise.append(np.stack([policy.normals(state, 6), policy.uniforms(state, 6)]))
    normals, uniforms = np.moveaxis(np.array(noise), 1, 0)
    for numbers in (normals, uniforms, np.stack([normals, special.ndtri(uniforms)])):
        assert len(np.unique(numbers.round(12))) == numbers.size
    # 1,200 draws: the Kolmogorov-Smirnov distance exceeds 1.95 / sqrt(1200) = .056 with probability .001.
    assert stats.kstest(normals.ravel(), "norm").statistic < 0.056
    assert stats.kstest(uniforms.ravel(), "uniform").statistic < 0.056


def test_rounds_draw_noise_of_their_own() -> None:
    """Two rounds with the same posterior differ by their noise alone: no arm's draw comes again as another's."""
    policy = Thompson(hg.Exponential(), arms=4, max_budget=10.0, seed=1)
    first = policy.start()
    draws = np.stack([policy.draw(replace(first.copy(), round=turn)) for turn in range(250)])
    rate, activation = draws[..., RATE].ravel(), draws[..., ACTIVATION].ravel()
    for numbers in (rate, activation):
        assert len(np.unique(numbers.round(12))) == numbers.size
    # Nor does an arm's second number come as the next one's first: of 1,000 pairs of independent numbers the rank
    # correlation exceeds 4 / sqrt(1000) = .126 with probability 6e-5.
    for earlier, later in ((rate, activation), (activation, rate), (rate, rate), (activation, activation)):
        assert abs(float(stats.spearmanr(earlier[:-1], later[1:]).statistic)) < 0.126


def test_the_prior_pools_means_and_variances() -> None:
    """The variance of the prior by hand: (3 v0 + sum (theta_i - m)^2 + half of each arm's own) / (K + 3)."""
    policy = Thompson(hg.Exponential(), arms=4, max_budget=40.0, seed=1)
    played(hg.Exponential(), policy, 60, seed=2)
    policy.allocate(40.0)
    theta, own = (policy.state.memory[:, c : c + 3] for c in (MEAN, VARIANCE))
    m0, v0 = np.array([np.log(10.0 * np.log(2.0)), 0.0, np.log(1.2)]), np.array([1.0, 3.0, 0.5])
    mean = (2.0 * m0 + theta.sum(axis=0)) / (4 + 2)
    variance = (3.0 * v0 + np.sum((theta - mean) ** 2 + 0.5 * own, axis=0)) / (4 + 3)
    np.testing.assert_allclose(policy.state.prior, [mean, variance], rtol=1e-12)


def test_the_memory_of_an_earlier_form_is_found_again_from_the_evidence() -> None:
    """It held a number more of each arm: a state written then is read, and goes on as one that is renewed."""
    policy = Thompson(hg.Exponential(), arms=3, max_budget=40.0, seed=5)
    played(hg.Exponential(), policy, 50, seed=6)
    data = json.loads(policy.to_json())
    memory = data["state"]["memory"]
    wide = np.zeros((3, 76))
    memory.update(shape=[3, 76], values=wide.ravel().tolist())
    former = hg.load_policy(json.dumps(data))
    assert isinstance(former, Thompson)
    np.testing.assert_array_equal(former.evidence.bins, policy.evidence.bins)
    assert former.state.round == policy.state.round
    fresh = Thompson(hg.Exponential(), arms=3, max_budget=40.0, seed=5)
    fresh.state.evidence, fresh.state.round = policy.evidence, policy.state.round
    np.testing.assert_array_equal(former.allocate(40.0), fresh.allocate(40.0))
