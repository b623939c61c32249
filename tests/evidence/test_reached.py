"""Successes that do not tell their threshold: the fourth histogram, its likelihood, and who learns from it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

import headgate as hg
from headgate.errors import FeedbackError, HeadgateError, ParameterError
from headgate.evidence import Evidence
from headgate.laws import Floats

Flags = NDArray[np.bool_]
LAWS = [hg.Exponential(), hg.Weibull(2.0), hg.Gamma(0.7), hg.LogNormal(0.6), hg.LogLogistic(2.5), hg.Lomax(1.5)]


def rows(law: hg.laws.Law, count: int, silent: float, seed: int = 0) -> tuple[Floats, Flags, Floats]:
    """Amounts, successes and thresholds of one arm with p = .7 and rate .5, a share of them not told."""
    rng = np.random.default_rng(seed)
    x, threshold = rng.uniform(0.2, 8.0, count), law.sample(np.full(count, 0.5), rng)
    success = (rng.random(count) < 0.7) & (threshold <= x)
    told = success & (rng.random(count) >= silent)
    return x, success, np.where(told, threshold, np.nan)


def evidence_of(x: Floats, success: Flags, threshold: Floats) -> Evidence:
    return Evidence.of_rows(np.zeros(x.size, dtype=np.int64), x, success, threshold, max_budget=8.0)


@pytest.mark.parametrize("silent", [1.0, 0.5])
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_likelihood_is_that_of_the_rows(law: hg.laws.Law, silent: float) -> None:
    """Against a maximum that SciPy finds without derivatives, row by row."""
    x, success, threshold = rows(law, 4000, silent)

    def minus(theta: Floats) -> float:
        rate, p = np.exp(theta[0]), expit(theta[1])
        told = success & ~np.isnan(threshold)
        silent_x = x[success & ~told]
        each = np.log(p) * success.sum() + law.log_pdf(threshold[told], rate).sum()
        return -float(each + np.log(law.cdf(silent_x, rate)).sum() + np.log1p(-p * law.cdf(x[~success], rate)).sum())

    best = minimize(minus, [np.log(0.5), 0.8], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-8}).x
    found = hg.estimators.likelihood(law, evidence_of(x, success, threshold))
    assert found.rate[0] == pytest.approx(np.exp(best[0]), rel=0.01)
    assert found.activation[0] == pytest.approx(expit(best[1]), abs=0.005)


def test_estimates_find_the_truth_and_say_how_well() -> None:
    law = hg.Weibull(2.0)
    found = hg.estimators.likelihood(law, evidence_of(*rows(law, 20_000, 1.0)))
    assert found.rate_interval[0, 0] < 0.5 < found.rate_interval[0, 1]
    assert found.activation_interval[0, 0] < 0.7 < found.activation_interval[0, 1]
    assert found.rate[0] == pytest.approx(0.5, rel=0.03)


def test_they_are_counted_apart_and_add_up() -> None:
    x, success, threshold = rows(hg.Exponential(), 500, 0.4)
    evidence = evidence_of(x, success, threshold)
    assert evidence.counts("reached").sum() == np.isnan(threshold[success]).sum() > 0
    assert evidence.successes[0] == success.sum()
    assert evidence.trials[0] == x.size
    by_round = Evidence.empty(1, 8.0)
    for amount, won, where in zip(x, success, threshold, strict=True):
        by_round.record([amount], hg.Feedback([won], [where]))
    assert np.array_equal(by_round.bins, evidence.bins)
    again = Evidence.from_dict(json.loads(json.dumps(evidence.to_dict())))
    assert np.array_equal(again.bins, evidence.bins)


def test_evidence_that_does_not_add_up_is_refused() -> None:
    plain = evidence_of(*rows(hg.Exponential(), 50, 0.0)).to_dict()
    assert "reached" not in plain["arms"][0]
    plain["arms"][0]["reached"] = [[100, 1, 2**20]]
    with pytest.raises(ParameterError, match="failed, seen and reached must add up"):
        Evidence.from_dict(plain)


def test_a_success_needs_something() -> None:
    evidence = Evidence.empty(2, 8.0)
    for threshold in (np.nan, 0.0):
        with pytest.raises(FeedbackError, match="allocation above 0"):
            evidence.record([0.0, 1.0], hg.Feedback([True, False], [threshold, np.nan]))
        with pytest.raises(FeedbackError, match="allocation above 0"):
            Evidence.of_rows([0], [0.0], [True], [threshold], max_budget=8.0)
    assert not evidence.bins.any()


@pytest.mark.parametrize("make", [hg.Thompson, hg.LRUCB], ids=lambda make: make.name)
def test_policies_learn_from_them(make: type[hg.Policy]) -> None:
    """Without a single threshold: the last of 150 rounds are better than an even split."""
    problem = hg.Problem(hg.Weibull(1.6), [0.9, 0.8, 0.1, 0.05], [0.5, 0.6, 0.3, 0.3])
    policy, rng, earned = make(problem.law, 4, 6.0, seed=np.arange(6)), np.random.default_rng(0), np.zeros(6)
    for t in range(150):
        x = policy.allocate(6.0)
        success = problem.play(x, rng).success
        policy.observe(x, hg.Feedback(success, np.full(success.shape, np.nan)))
        earned += problem.expected_reward(x) * (t >= 100)
    even = problem.expected_reward(np.full(4, 1.5))
    assert earned.mean() / 50 > even + 0.5 * (problem.solve(6.0).value - even)


def test_the_paper_ignores_them_for_the_rate() -> None:
    """Its estimators are means of thresholds: a success without one counts for the activation alone."""
    law = hg.Exponential()
    x, success, threshold = rows(law, 3000, 0.5)
    told = success & ~np.isnan(threshold)
    with_all, with_told = (evidence_of(x[k], success[k], threshold[k]) for k in (x > 0.0, told | ~success))
    for estimator in (hg.estimators.paper_rate, hg.estimators.corrected_rate):
        assert estimator(law, with_all) == pytest.approx(estimator(law, with_told))
    rate = np.array([0.5])
    assert hg.estimators.paper_activation(law, with_all, rate) > hg.estimators.paper_activation(law, with_told, rate)
    silent = evidence_of(*rows(law, 100, 1.0))
    assert np.isnan(hg.estimators.paper_rate(law, silent)).all()
    assert np.isnan(hg.estimators.corrected_rate(law, silent)).all()
    policy = hg.RAUCB(law, 2, 8.0, rounds=50)
    for _ in range(20):
        x = policy.allocate(8.0)
        policy.observe(x, hg.Feedback(x > 0.0, np.full(2, np.nan)))
    assert isinstance(policy.estimate(), hg.Estimate)
    with pytest.raises(HeadgateError):
        policy.observe([0.0, 8.0], hg.Feedback([True, False], [np.nan, np.nan]))
