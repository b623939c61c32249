"""The net under the law: it stays away where the law fits, and saves a learner whose law does not."""

from __future__ import annotations

import numpy as np
import pytest

import headgate as hg
from headgate.estimators.hazards import ALPHAS, STARTS, Hazards
from headgate.laws import Floats
from headgate.policies import net
from tests.estimators.hazards_reference import gains

_BUDGET = 12.0


def found(seen: Floats, expected: Floats, cumulative: Floats) -> Hazards:
    """What a comparison of these numbers finds."""
    return Hazards(np.zeros(len(seen)), seen, expected, expected, cumulative, gains(seen, expected, ALPHAS))


def test_checks_are_many_at_first_and_ever_rarer() -> None:
    checked = [clock for clock in range(100_001) if net.due(clock)]
    assert checked[:4] == [32, 64, 96, 128]
    assert len(checked) < 100


def test_the_posterior_of_a_ratio_is_gamma() -> None:
    """Mean and deviation of the drawn ratios against Gamma(alpha + d, alpha + E); 20,000 draws, 2%."""
    bins = 130
    cumulative = np.linspace(0.0, 1.0, bins)[None]
    seen, expected = np.full((1, len(STARTS)), 12.0), np.full((1, len(STARTS)), 5.0)
    rng = np.random.default_rng(0)
    hazard = []
    for _ in range(600):
        y = net.corrected(found(seen, expected, cumulative), np.array([3.0]), rng.standard_normal((1, len(STARTS))))
        total = -np.log1p(-y[0])
        hazard.append(np.diff(total)[STARTS[1:]] / (1.0 / (bins - 1)))
    ratio = np.array(hazard).ravel()
    assert ratio.mean() == pytest.approx(15.0 / 8.0, rel=0.02)
    assert ratio.std() == pytest.approx(np.sqrt(15.0) / 8.0, rel=0.03)


def test_infinity_changes_nothing() -> None:
    cumulative = np.linspace(0.0, 2.0, 130)[None]
    here = found(np.zeros((1, len(STARTS))), np.ones((1, len(STARTS))), cumulative)
    y = net.corrected(here, np.array([np.inf]), np.ones((1, len(STARTS))))
    assert y == pytest.approx(-np.expm1(-cumulative), rel=1e-12)


def test_alpha_follows_the_misfit() -> None:
    """Region by region what is expected, then 4 times too many and too few."""
    expected = np.full((2, len(STARTS)), 20.0)
    off = np.where(np.arange(len(STARTS)) % 2, 40.0, 5.0)
    alpha, shares = net.choose(found(np.stack([expected[0], off]), expected, expected), net.PRIOR)
    assert alpha[0] == np.inf
    assert alpha[1] <= 10.0
    assert shares.sum() == pytest.approx(1.0)
    assert shares[-1] < net.PRIOR[-1]


def _learn(runs: int, rounds: int, *, with_net: bool, world: str) -> tuple[hg.Thompson, Floats]:
    """A learner that believes in exponential thresholds; its successes a round in the second half.

    In the world "two" half of the thresholds are below .2 and the others between 3 and 5.
    """
    rng, policy = np.random.default_rng(1), hg.Thompson(hg.Exponential(), 3, _BUDGET, seed=np.arange(runs))
    p, earned, shape = np.array([0.9, 0.8, 0.3]), np.zeros(runs), (runs, 3)
    for t in range(rounds):
        x = policy.allocate(_BUDGET)
        threshold = rng.exponential(2.0, shape)
        if world == "two":
            threshold = np.where(rng.random(shape) < 0.5, rng.uniform(0.05, 0.2, shape), rng.uniform(3.0, 5.0, shape))
        success = (rng.random(shape) < p) & (threshold <= x)
        policy.observe(x, hg.Feedback(success, np.where(success, threshold, np.nan)))
        earned += success.sum(axis=1) * (t >= rounds // 2)
        if not with_net:
            policy.state.alpha[:] = np.inf
    return policy, earned / (rounds - rounds // 2)


def test_it_stays_away_where_the_law_fits() -> None:
    policy, _ = _learn(30, 300, with_net=True, world="exponential")
    assert np.isfinite(policy.state.alpha).mean() < 0.05


@pytest.mark.long
def test_it_finds_what_the_law_cannot_say() -> None:
    """On common random numbers; the standard error of the difference is about .01."""
    caught, with_net = _learn(24, 600, with_net=True, world="two")
    _, without = _learn(24, 600, with_net=False, world="two")
    assert np.isfinite(caught.state.alpha).all()
    assert with_net.mean() > without.mean() + 0.02


def test_a_row_of_a_batch_is_the_single_learner_with_a_net_too() -> None:
    batch, _ = _learn(2, 80, with_net=True, world="two")
    batch.state.alpha[0] = (3.0, np.inf, np.inf)
    single = hg.Thompson(hg.Exponential(), 3, _BUDGET, seed=0)
    row = single.start(hg.Evidence(_BUDGET, batch.evidence.bins[0].copy(), batch.evidence.edges))
    row.round = batch.round
    for name in ("memory", "beliefs", "prior", "shares", "idle", "alpha", "looseness"):
        setattr(row, name, getattr(batch.state, name)[0].copy())
    x = single.decide(row.copy(), single.ask(5.0))[0]
    assert np.array_equal(batch.decide(batch.state.copy(), batch.ask(5.0))[0][0], x)
    assert x.sum() <= 5.0
    limited = single.decide(row.copy(), single.ask(5.0, upper=2.0, value=[1.0, 0.0, 0.0]))[0]
    assert limited[0] == pytest.approx(2.0)


def test_json_keeps_the_net() -> None:
    policy, _ = _learn(1, 70, with_net=True, world="two")
    policy.state.alpha[0, 0] = 3.0
    again = hg.load_policy(policy.to_json())
    assert np.array_equal(again.state.alpha, policy.state.alpha)
    assert np.array_equal(again.allocate(5.0), policy.allocate(5.0))


def test_in_a_batch_only_those_who_need_it_are_corrected() -> None:
    """Two learners whose world fits and one whose world does not, with values and limits: each as if alone, to the bit.

    What a learner is corrected by must not depend on who else is in its batch.
    """
    rng, runs, rounds, law = np.random.default_rng(4), 3, 200, hg.Weibull([1.0, 1.5, 0.8])
    value, upper = np.array([1.0, 2.0, 0.5]), np.array([9.0, 5.0, 12.0])
    thresholds, split = law.sample(0.5, rng, (rounds, runs, 3)), rng.random((rounds, 3)) < 0.5
    thresholds[:, 1] = np.where(split, rng.uniform(0.05, 0.2, (rounds, 3)), rng.uniform(3.0, 5.0, (rounds, 3)))
    together = hg.Thompson(law, 3, _BUDGET, seed=np.arange(runs))
    alone = [hg.Thompson(law, 3, _BUDGET, seed=seed) for seed in range(runs)]
    for threshold in thresholds:
        x = together.allocate(_BUDGET, value=value, upper=upper)
        success = threshold <= x
        feedback = hg.Feedback(success, np.where(success, threshold, np.nan))
        together.observe(x, feedback)
        for run, policy in enumerate(alone):
            one = policy.allocate(_BUDGET, value=value, upper=upper)
            assert np.array_equal(one, x[run])
            policy.observe(one, hg.Feedback(feedback.success[run], feedback.threshold[run]))
    loose = np.isfinite(together.state.alpha).any(axis=-1)
    assert loose.tolist() == [False, True, False]
