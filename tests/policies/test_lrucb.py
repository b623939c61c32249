"""LRUCB: its sets against a dense grid, their coverage under its own allocations, and the split of a budget."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom

import headgate as hg
from headgate.errors import ParameterError, UnsupportedError
from headgate.laws import Floats, Law
from headgate.policies import LRUCB
from headgate.policies.confidence import Confidence

BUDGET = 6.0
ACTIVATION, RATE = np.array([0.9, 0.5, 0.2]), np.array([0.3, 0.6, 1.0])


def log_of(law: Law, rounds: int, seed: int, p: float = 0.6, rate: float = 0.5) -> hg.Evidence:
    """Evidence of one arm that was given all kinds of amounts."""
    rng = np.random.default_rng(seed)
    x = np.minimum(np.exp(rng.normal(0.5, 0.7, rounds)), BUDGET)
    threshold = law.sample(np.full(rounds, rate), rng)
    success = (rng.random(rounds) < p) & (threshold <= x)
    where = np.zeros(rounds, dtype=np.int64)
    return hg.Evidence.of_rows(where, x, success, np.where(success, threshold, np.nan), arms=1, max_budget=BUDGET)


def dense(law: Law, evidence: hg.Evidence, confidence: Confidence, places: Floats) -> tuple[float, Floats]:
    """The floor and the envelope by brute force: a fine grid of log rates and activations, and nothing clever."""
    failed, seen = (evidence.counts(kind)[0] for kind in ("failed", "seen"))
    x, threshold = evidence.means("failed")[0][failed > 0], evidence.means("seen")[0][seen > 0]
    failed, seen = failed[failed > 0], seen[seen > 0]
    centre, (low, high) = np.log(confidence.arms / confidence.max_budget), np.log(confidence.rates)

    def table(log_rate: Floats, p: Floats) -> Floats:
        rate = np.exp(log_rate)[:, None]
        reached = law.cdf(x, rate)
        miss = np.stack([np.log1p(-np.minimum(q * reached, 1.0 - 1e-15)) @ failed for q in p], axis=1)
        density = (law.log_pdf(threshold, rate) + np.log(threshold)) @ seen
        return np.asarray(density[:, None] + seen.sum() * np.log(p) + miss)

    log_rate, p = np.linspace(low, high, 300), (np.arange(300) + 0.5) / 300
    for _ in range(2):  # the second time on the part that matters
        heights = table(log_rate, p)
        rows, columns = (np.flatnonzero(heights.max(axis=axis) > heights.max() - 30.0) for axis in (1, 0))
        step = log_rate[1] - log_rate[0], p[1] - p[0]
        ends = [log_rate[rows[0]] - step[0], log_rate[rows[-1]] + step[0], p[columns[0]], p[columns[-1]]]
        log_rate = np.linspace(max(ends[0], low), min(ends[1], high), 600)
        first, last = max(ends[2] - step[1], 0.0), min(ends[3] + step[1], 1.0)
        p = first + (last - first) * (np.arange(600) + 0.5) / 600
    heights = table(log_rate, p)
    off = np.abs(log_rate - centre) / 0.55
    prior = -off - 2.0 * np.log1p(np.exp(-off)) - np.log(0.55)
    cell = (log_rate[1] - log_rate[0]) * (p[1] - p[0])
    floor = logsumexp(heights + prior[:, None]) + np.log(cell) - np.log(confidence.arms / confidence.delta)
    inside = heights >= floor
    most = np.where(inside, p, 0.0).max(axis=1)
    return float(floor), np.max(most * law.cdf(np.exp(places)[:, None], np.exp(log_rate)), axis=1)


@pytest.mark.parametrize("rounds", [3, 25, 400])
@pytest.mark.parametrize("law", [hg.Exponential(), hg.Weibull(2.5), hg.LogNormal(0.7)], ids=str)
def test_sets_and_envelopes_equal_those_of_a_dense_grid(law: Law, rounds: int) -> None:
    policy = LRUCB(law, 1, BUDGET, delta=0.05)
    state = policy.start(log_of(law, rounds, seed=rounds))
    drawn = policy.confidence.draw(state.evidence, policy.confidence.start(()).places, state.due)
    policy.decide(state, policy.ask(BUDGET))
    floor, envelope = dense(law, state.evidence, policy.confidence, policy.log_places)
    # The integral is cut off, and the set made a little wider for what lies between its places: never narrower.
    assert floor - 0.35 < drawn.floor[0] < floor + 0.01
    upper = state.curves[0, :, 0]
    assert np.all(upper > envelope - 0.003)
    assert np.all(upper < envelope + 0.03)


@pytest.mark.long
@pytest.mark.parametrize("law", [hg.Weibull(2.0), hg.LogNormal(0.8)], ids=str)
def test_the_truth_stays_below_the_envelopes_at_all_times(law: Law) -> None:
    """60 runs under its own allocations; at delta .2 more than 21 misses have probability below .002."""
    runs, delta, problem = 60, 0.2, hg.Problem(law, ACTIVATION, RATE)
    policy, rng = LRUCB(law, 3, BUDGET, delta=delta, seed=np.arange(runs)), np.random.default_rng(1)
    true = (ACTIVATION * law.cdf(np.exp(policy.log_places)[:, None], RATE)).T
    missed = np.zeros(runs, dtype=bool)
    for _ in range(40):
        x = policy.allocate(BUDGET)
        missed |= (policy.state.curves[..., 0] < true - 1e-9).any(axis=(-1, -2))
        policy.observe(x, problem.play(x, rng))
    assert missed.sum() <= binom.ppf(0.998, runs, delta)


def test_sets_miss_where_they_may() -> None:
    """The sets are not wide for want of trying: what may miss half of the time misses at least now and then."""
    runs, law = 60, hg.Exponential()
    policy, rng = LRUCB(law, 3, BUDGET, delta=0.999, seed=np.arange(runs)), np.random.default_rng(1)
    problem = hg.Problem(law, ACTIVATION, RATE)
    true = (ACTIVATION * law.cdf(np.exp(policy.log_places)[:, None], RATE)).T
    missed = np.zeros(runs, dtype=bool)
    for _ in range(60):
        x = policy.allocate(BUDGET)
        missed |= (policy.state.curves[..., 0] < true - 1e-9).any(axis=(-1, -2))
        policy.observe(x, problem.play(x, rng))
    assert 4 <= missed.sum() <= binom.ppf(0.998, runs, 0.999)


def test_envelopes_never_rise_while_the_law_is_right() -> None:
    policy, problem = LRUCB(hg.Weibull(1.6), 3, BUDGET), hg.Problem(hg.Weibull(1.6), ACTIVATION, RATE)
    rng, before = np.random.default_rng(3), np.ones((3, 40))
    for _ in range(80):
        x = policy.allocate(BUDGET)
        assert np.all(policy.state.curves[..., 0] <= before + 1e-12)
        before = policy.state.curves[..., 0].copy()
        policy.observe(x, problem.play(x, rng))
    assert before.max() < 0.999


def test_a_learned_shape_is_in_the_set() -> None:
    for law, shape, rate in (
        (hg.Weibull("learn"), 3.0, 0.5),
        (hg.Gamma("learn"), 6.0, 4.0),
        (hg.LogNormal("learn"), 0.3, 0.5),
    ):
        true = law.with_shape(shape)
        for rounds in (10, 300):
            policy = LRUCB(law, 1, BUDGET)
            state = policy.start(log_of(true, rounds, seed=rounds, rate=rate))
            policy.decide(state, policy.ask(BUDGET))
            truth = 0.6 * true.cdf(np.exp(policy.log_places), rate)
            assert np.all(state.curves[0, :, 0] > truth)
        assert np.max(state.curves[0, :, 0] - truth) < 0.35  # 300 rounds say something


@pytest.mark.long
def test_it_learns() -> None:
    """Less is lost in the second hundred rounds than a third of what an even split loses."""
    law = hg.Weibull(1.6)
    problem = hg.Problem(law, [0.9, 0.8, 0.1, 0.1], [0.25, 0.9, 0.2, 0.3])
    policy, rng = LRUCB(law, 4, BUDGET, seed=np.arange(8)), np.random.default_rng(0)
    best, lost = problem.solve(BUDGET).value, np.zeros(8)
    for t in range(200):
        x = policy.allocate(BUDGET)
        lost += (best - problem.expected_reward(x)) * (t >= 100)
        policy.observe(x, problem.play(x, rng))
    assert lost.mean() < 100 * (best - problem.expected_reward(np.full(4, BUDGET / 4))) / 3.0


def test_a_budget_is_split_as_well_as_by_trying_everything() -> None:
    """Three arms, curves of all shapes: by looks at every pair of amounts in steps of 1/100."""
    rng, share = np.random.default_rng(0), np.arange(101) / 100
    for _ in range(30):
        law, rate = hg.Weibull(rng.uniform(0.6, 6.0, 3)), np.exp(rng.uniform(-0.5, 2.5, 3))
        p, value = rng.uniform(0.2, 1.0, 3), rng.uniform(0.5, 2.0, 3)
        policy = LRUCB(law, 3, 1.0)
        x = np.exp(policy.log_places)[:, None]
        curve = np.stack([p * law.cdf(x, rate), p * law.pdf(x, rate) * x], axis=-1)
        policy.state.curves, policy.state.due = np.moveaxis(curve, 0, 1).copy(), np.full(3, np.inf)
        out = policy.allocate(1.0, value=value)
        first, second, third = (value[i] * p[i] * law.of_arm(i).cdf(share, rate[i]) for i in range(3))
        best = max(first[i] + (second[: 101 - i] + third[100 - i :: -1]).max() for i in range(101))
        assert out.sum() <= 1.0
        assert (value * p * law.cdf(out, rate)).sum() > best - 0.006


def test_whole_units_and_what_nobody_asks_for() -> None:
    """Before anything is known every arm is sure to succeed with a little: the rest goes to all, in whole units."""
    policy = LRUCB(hg.DiscreteWeibull(0.8), 3, 20.0)
    x = policy.allocate(20.0, upper=[2.0, np.inf, np.inf])
    assert x[0] <= 2.0
    assert np.all(x == np.floor(x))
    assert x.sum() >= 18.0
    assert abs(x[1] - x[2]) <= 2.0
    curve = np.zeros((3, 40, 2))
    curve[:, :, 0] = [[0.2], [0.5], [0.1]] * np.minimum(np.exp(policy.log_places) / [[7.0], [4.0], [9.0]], 1.0)
    policy.state.curves, policy.state.due = curve, np.full(3, np.inf)
    x = policy.allocate(12.0)
    assert np.all(x == np.floor(x))
    assert x[1] >= 4.0
    assert x[0] >= 7.0
    assert x.sum() <= 12.0


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 1.5, np.nan, "small", [0.1, 0.2]])
def test_delta_must_be_a_probability(delta: object) -> None:
    with pytest.raises(ParameterError, match="delta"):
        LRUCB(hg.Exponential(), 2, 1.0, delta=delta)  # type: ignore[arg-type]  # that is the point


def test_what_it_cannot_promise_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="none is known to be right"):
        LRUCB("auto", 2, 1.0)
    with pytest.raises(UnsupportedError, match="none is known to be right"):
        LRUCB(hg.OneOf((hg.Exponential(), hg.Weibull(2.0))), 2, 1.0)
    with pytest.raises(UnsupportedError, match=r"discount must be 1, got 0\.9"):
        LRUCB(hg.Exponential(), 2, 1.0, discount=0.9)
    for wrong in ((1.0, 0.5), (0.0, 1.0), (1.0,), 3.0):
        with pytest.raises(ParameterError, match="rate_range"):
            LRUCB(hg.Exponential(), 2, 1.0, rate_range=wrong)  # type: ignore[arg-type]  # that is the point
