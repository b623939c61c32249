"""Rows that a contextual learner keeps and linearises again: against the exact posterior's mode, and counted once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

import headgate as hg
from headgate.estimators.coefficients import Posterior
from headgate.evidence.information import Information
from headgate.laws import Floats
from headgate.policies.contextual_belief import believed
from headgate.policies.contextual_learning import _settle  # what `absorb` calls after an eighth more rows
from tests.policies.test_contextual import BUDGET, world


def _played(rounds: int, arms: int = 12, memory: int = 1000) -> tuple[hg.Contextual, Floats]:
    """A learner that played, and its rows: columns of 1 and features, amount, success, threshold."""
    policy = hg.Contextual(hg.Exponential(), features=2, max_budget=BUDGET, memory=memory)
    rng, rows = np.random.default_rng(1), []
    for _ in range(rounds):
        z = rng.normal(size=(arms, 2))
        x = np.full(arms, BUDGET / arms)
        feedback = world(z).play(x, rng)
        policy.observe(x, feedback, features=z)
        seen = np.nan_to_num(feedback.threshold)
        rows.append(np.column_stack([np.ones(arms), z, x, feedback.success, seen]))
    return policy, np.concatenate(rows)


def _mode(rows: Floats, policy: hg.Contextual) -> Floats:
    """The exact posterior's mode by BFGS, in log median and logit activation of columns (1, z): (2, 3)."""
    z, x, won, seen = rows[:, :3], rows[:, 3], rows[:, 4], rows[:, 5]
    mean, unit = z[:, 1:].mean(axis=0), np.maximum(z[:, 1:].std(axis=0), np.ptp(z[:, 1:], axis=0) / 6.0)
    columns = np.column_stack([np.ones(len(z)), (z[:, 1:] - mean) / unit])
    prior = np.array([np.log(BUDGET / 12.0) + np.log(np.log(2.0)), *np.zeros(5)])
    slopes = policy.state.variances[0, :, 0]
    variance = np.array([1.0, slopes[0], slopes[0], 3.0, slopes[1], slopes[1]])

    def loss(theta: Floats) -> float:
        logit = columns @ theta[3:]
        rate, p = np.log(2.0) * np.exp(-columns @ theta[:3]), special.expit(logit)
        told = np.where(won > 0.0, np.log(p) + np.log(rate) - rate * seen, np.log1p(p * np.expm1(-rate * x)))
        return float(-told.sum() + 0.5 * np.sum((theta - prior) ** 2 / variance))

    best = optimize.minimize(loss, prior, method="BFGS", options={"gtol": 1e-6}).x.reshape(2, 3)
    slope = best[:, 1:] / unit
    return np.column_stack([best[:, 0] - slope @ mean, slope])


@pytest.mark.parametrize(("memory", "off"), [(2000, (0.0, 0.02)), (0, (0.05, 9.0))])
def test_kept_rows_find_the_mode_of_the_exact_posterior(memory: int, off: tuple[float, float]) -> None:
    """Linearised once, when they come, they do not: median and activation drift along their ridge."""
    policy, rows = _played(80, memory=memory)
    if memory:
        _settle(policy._regression, policy.state, (), 0)
    z = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    exact = np.column_stack([np.ones(3), z]) @ _mode(rows, policy).T
    away = np.abs(policy.estimate(features=z).predictors[:, :2] - exact).max()
    assert off[0] <= away <= off[1]


def test_rows_that_go_are_counted_once() -> None:
    """Learners that keep all rows, some and none know as much of the chances that were seen."""
    known = []
    for memory in (2000, 100, 0):
        policy, _ = _played(60, memory=memory)
        known.append(policy.estimate(features=np.zeros((1, 2))).success(BUDGET / 12.0))
        assert policy.state.kept[0] <= memory
    for found in known[1:]:
        np.testing.assert_allclose(found.chance, known[0].chance, atol=0.02)
        np.testing.assert_allclose(np.ptp(found.interval), np.ptp(known[0].interval), rtol=0.1)


def test_a_round_larger_than_the_memory_is_learned_at_once() -> None:
    policy, _ = _played(3, arms=30, memory=20)
    assert policy.state.kept[0] == 0
    np.testing.assert_array_equal(policy.state.precision, policy.state.old_precision)
    assert policy.evidence.trials.sum() == 90.0


def test_a_state_without_rows_is_read() -> None:
    """As another release wrote it: everything counts as old."""
    policy, _ = _played(5)
    data = policy.state.to_dict()
    plain = {name: value for name, value in data.items() if not name.startswith(("old_", "rows", "kept"))}
    state = policy.start().from_dict(plain)
    np.testing.assert_array_equal(state.old_precision, policy.state.precision)
    assert state.kept.sum() == 0


def test_what_fades_fades_in_kept_rows_too() -> None:
    policy, _ = _played(30)
    state, z = policy.state.copy(), np.zeros((1, 2))
    policy.fade(state, 0.25)
    _settle(policy._regression, state, (), 0)
    before, after = (believed(policy._regression, s, z)[1][0, :2, :2] for s in (policy.state, state))
    assert 2.0 < np.linalg.det(after) / np.linalg.det(before) < 16.0


@pytest.mark.parametrize("own", [2, 6])
def test_an_arm_may_have_many_rows(own: int) -> None:
    """The reference adds them one by one."""
    rng = np.random.default_rng(0)
    columns, arm, half = rng.normal(size=(50, 3)), rng.integers(0, 4, 50), rng.normal(size=(50, 2, 2))
    bend, slope = half @ half.transpose(0, 2, 1), rng.normal(size=(50, 2))
    together, alone = (Information.empty(6, 5, own) for _ in range(2))
    together.add(columns, arm, bend, slope)
    for n in range(50):
        alone.add(columns[n : n + 1], arm[n : n + 1], bend[n : n + 1], slope[n : n + 1])
    for name in ("precision", "vector", "cross", "own", "own_vector"):
        np.testing.assert_allclose(getattr(together, name), getattr(alone, name), atol=1e-12)
    prior = (np.ones(6), np.zeros(6), np.ones(own))
    assert np.isfinite(Posterior(together.with_prior(*prior)).log_determinant())
