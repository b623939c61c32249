"""Parts of the contextual learner by themselves: sums of information, moments, calm draws, merging, missing values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

import headgate as hg
from headgate.estimators.coefficients import Posterior
from headgate.evidence.information import ROWS, Information
from headgate.evidence.moments import joined, moments_of, shifted
from headgate.laws import Floats
from headgate.policies.contextual_belief import calmed
from headgate.policies.contextual_state import SLOPES
from tests.policies.test_contextual import BUDGET, play, world


def _rows(n: int, width: int, size: int, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(n, size, size))
    return rng.normal(size=(n, width)), half @ half.transpose(0, 2, 1), rng.normal(size=(n, size))


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("n", [5, ROWS + 188])
def test_information_is_a_sum_over_rows(n: int, size: int) -> None:
    """More rows than are multiplied at once, and fewer; the reference takes them one by one."""
    width = 4
    columns, bend, slope = _rows(n, width, size)
    found = Information.empty(size * width, 0, size)
    found.add(columns, np.zeros(n, dtype=np.int64), bend, slope)
    precision = sum(np.kron(b, np.outer(w, w)) for b, w in zip(bend, columns, strict=True))
    vector = sum(np.kron(s, w) for s, w in zip(slope, columns, strict=True))
    np.testing.assert_allclose(found.precision, precision, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.vector, vector, rtol=1e-9, atol=1e-9)
    posterior = Posterior(found.with_prior(np.ones(size * width), np.zeros(size * width), np.zeros(0)))
    covariance = np.linalg.inv(np.asarray(precision) + np.eye(size * width))
    some = columns[[0, -1]]
    expected = [[[np.kron(np.eye(size)[c], w) @ covariance @ np.kron(np.eye(size)[e], w) for e in range(size)]
                 for c in range(size)] for w in some]  # fmt: skip
    every = posterior.covariances(columns, np.zeros(n, dtype=np.int64))
    np.testing.assert_allclose(every[[0, -1]], expected, rtol=1e-8, atol=1e-10)


def test_moments_add_up() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(3.0, 2.0, (7, 3)), rng.normal(-5.0, 1.0, (4, 3))
    by = np.array([1.0, -2.0, 0.0])
    both = moments_of(np.concatenate([first, second]))
    np.testing.assert_allclose(joined(moments_of(first), moments_of(second)), both)
    np.testing.assert_allclose(shifted(moments_of(first), by), moments_of(first + by))


@pytest.mark.parametrize("size", [2, 3])
def test_noise_is_calmed_along_what_is_known(size: int) -> None:
    """Along an axis of variance v it is multiplied by (1 + 1 / (v calm))^(-1/2); the reference is a matrix function."""
    rng = np.random.default_rng(size)
    axes = np.linalg.qr(rng.normal(size=(5, size, size)))[0]
    covariance = axes @ (np.array([0.04, 9.0, 1.0])[:size, None] * axes.transpose(0, 2, 1))
    away = rng.normal(size=(5, size))
    for row in range(5):
        root = linalg.sqrtm(np.eye(size) + np.linalg.inv(0.5 * covariance[row]))
        np.testing.assert_allclose(calmed(away, covariance, 0.5)[row], np.linalg.solve(root, away[row]))


def test_features_that_say_nothing_are_found_to() -> None:
    """The variance of the slopes shrinks where features are noise, and does not where they speak."""
    found = []
    for speaks in (0.0, 1.5):
        policy = hg.Contextual(hg.Exponential(), features=6, max_budget=BUDGET, seed=1)
        rng = np.random.default_rng(0)
        for _ in range(70):
            z = rng.normal(size=(8, 6))
            problem = world(speaks * z)
            x = policy.allocate(BUDGET, features=z)
            policy.observe(x, problem.play(x, rng), features=z)
        found.append(policy.state.variances[0, :, SLOPES])
    first = policy.start().variances[0, :, SLOPES]
    assert np.all(found[0] < first)
    assert np.all(found[1] > 3.0 * first)


def test_what_is_missing_lies_at_the_mean() -> None:
    known = hg.Features(numbers=["age"], missing=["age"])
    policy = hg.Contextual(hg.Exponential(), features=known, max_budget=BUDGET)
    rng = np.random.default_rng(0)
    for _ in range(40):
        age = rng.normal(500.0, 10.0, 6)
        truth = hg.Problem(hg.Exponential(), 0.5, np.exp(0.1 * (age - 500.0)))
        z = np.column_stack([age, np.zeros(6)])
        x = policy.allocate(BUDGET, features=z)
        policy.observe(x, truth.play(x, rng), features=z)
    lost, there, far = policy.estimate(features=np.array([[np.nan, 0.0], [500.0, 0.0], [530.0, 0.0]])).predictors[:, 0]
    assert abs(lost - there) < 0.1 * abs(far - there)


def test_fading_halves_what_is_known() -> None:
    policy = hg.Contextual(hg.Exponential(), features=2, max_budget=BUDGET)
    play(policy, 5)
    state = policy.state.copy()
    policy.fade(state, 0.5)
    for name in ("precision", "vector", "log_evidence"):
        np.testing.assert_allclose(getattr(state, name), 0.5 * getattr(policy.state, name))


def test_successes_without_thresholds_tell_less() -> None:
    """Of the median; the information of a round counts how often thresholds are told."""
    found = []
    for told in (True, False):
        policy = hg.Contextual(hg.Exponential(), features=1, max_budget=BUDGET)
        rng = np.random.default_rng(0)
        for _ in range(30):
            z = rng.normal(size=(6, 1))
            x = np.full(6, BUDGET / 6.0)
            feedback = hg.Problem(hg.Exponential(), 0.8, np.exp(z[:, 0])).play(x, rng)
            seen = feedback.threshold if told else np.full(6, np.nan)
            policy.observe(x, hg.Feedback(feedback.success, seen), features=z)
        found.append(policy.state.precision[0, 0, 0])
    assert found[1] < 0.5 * found[0]


def _halves(offset: float) -> tuple[hg.Contextual, hg.Contextual, hg.Contextual]:
    """Learners of the first half of some rounds, of the second, whose features lie elsewhere, and of all."""
    learners = [hg.Contextual(hg.Exponential(), features=2, max_budget=BUDGET, seed=s) for s in range(3)]
    rng = np.random.default_rng(3)
    for t in range(120):
        away = np.array([offset * (t >= 60), 0.0])
        z = rng.normal(size=(8, 2)) + away
        x = rng.dirichlet(np.ones(8)) * BUDGET
        feedback = world(z - away).play(x, rng)
        for learner in (learners[t >= 60], learners[2]):
            learner.observe(x, feedback, features=z)
    return learners[0], learners[1], learners[2]


def test_merging_is_a_sum_whoever_merges_whom() -> None:
    """Columns are measured from references that differ; a learner that knows nothing adds nothing."""
    first, second, _ = _halves(offset=4.0)
    z = np.random.default_rng(5).normal(size=(20, 2))
    alone = first.estimate(features=z).predictors
    first.merge(hg.Contextual(hg.Exponential(), features=2, max_budget=BUDGET))
    np.testing.assert_array_equal(first.estimate(features=z).predictors, alone)
    again_first, again_second = hg.load_policy(first.to_json()), hg.load_policy(second.to_json())
    assert isinstance(again_first, hg.Contextual)
    assert isinstance(again_second, hg.Contextual)
    first.merge(second)
    again_second.merge(again_first)
    for name in ("activation", "rate"):
        mine, theirs = (getattr(p.estimate(features=z), name) for p in (first, again_second))
        np.testing.assert_allclose(mine, theirs, rtol=1e-8)


def test_merged_learners_are_near_one_that_saw_everything() -> None:
    """Not equal: each half was linearised where its own learner stood. Within half a standard deviation."""
    first, second, every = _halves(offset=0.0)
    z = np.random.default_rng(5).normal(size=(20, 2))
    first.merge(second)
    mine, theirs = first.estimate(features=z), every.estimate(features=z)
    spread = np.sqrt(np.diagonal(theirs.covariance, axis1=1, axis2=2)[:, :2])
    off = np.abs(mine.predictors - theirs.predictors)[:, :2] / spread
    assert off.mean() < 0.2
    assert off.max() < 0.5
