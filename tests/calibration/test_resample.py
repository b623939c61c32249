"""Resamples move the fit as much as its intervals say, of whole numbers too."""

from __future__ import annotations

import numpy as np
import pytest

import headgate as hg
from headgate.calibration import resample
from headgate.calibration.calibration import calibrate
from headgate.calibration.fitting.choose import fit_arms
from headgate.calibration.fitting.points import of_rows
from headgate.calibration.log import Rows
from headgate.calibration.replay import Seen
from headgate.calibration.resample import halves, poisson, refit

from .logs import censored, log_of

MONTHS = 6
LOST = np.array([[55.0, np.log(20.0), 0.0]])
"""Log rate, log shape and logit of an activation under which no number has a probability."""


def calls(seed: int) -> Rows:
    """Like the bank's: calls stop at the first success, and equal rows are counted."""
    rows = censored(hg.DiscreteWeibull(0.9), 0.4, 0.3, 3000, seed, arms=MONTHS)
    spent = np.where(rows.success, rows.threshold, rows.allocation)
    key = np.stack([rows.arm, spent, rows.success])
    (arm, given, won), count = np.unique(key, axis=1, return_counts=True)
    order = np.argsort(arm, kind="stable")
    success = won[order] > 0.0
    return Rows(
        arm[order].astype(np.int64), given[order], success, np.where(success, given[order], np.nan), count[order]
    )


def test_refits_of_whole_numbers_move_as_far_as_the_intervals_say() -> None:
    rows = calls(0)
    fits = fit_arms(of_rows(rows, MONTHS, "censored", whole=True), list("abcdef"), law="discrete-weibull", whole=True)
    rng = np.random.default_rng(0)
    for arm, fit in enumerate(fits):
        seen = Seen.of(rows, arm, stopped=True)
        again = refit(fit, poisson(seen, 60, rng), whole=True)
        low, high = np.log(fit.rate_interval)
        # 90% intervals are 3.29 standard deviations wide; 60 draws tell a deviation to within 30%.
        assert 0.6 < np.std(np.log(again.rate)) / ((high - low) / 3.29) < 1.6
        assert np.std(again.activation) > 0.0
        parts = refit(fit, halves(seen, 3, rng), whole=True)
        assert np.unique(parts.rate).size == 6


def test_model_gains_of_whole_numbers_have_intervals() -> None:
    log = log_of(calls(1), "censored", whole=True, units="calls")
    found = calibrate(log, budgets=[8.0], bootstrap=60)
    worth = found.gains[0].even
    low, high = worth.model_interval
    assert low < worth.model < high
    first, last = worth.replay_interval
    # Both are intervals of the same share; the model's is the shorter, but not by far.
    assert 0.4 * (last - first) < high - low < 1.6 * (last - first)


def test_where_there_is_no_likelihood_the_search_does_not_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = calls(2)
    fit = fit_arms(of_rows(rows, MONTHS, "censored", whole=True), list("abcdef"), law="discrete-weibull", whole=True)[0]
    assert fit.fit is not None
    drawn = poisson(Seen.of(rows, 0, stopped=True), 8, np.random.default_rng(0))
    expected = refit(fit, drawn, whole=True)
    with monkeypatch.context() as patch:
        patch.setattr(resample, "polish", lambda _, theta, *__, **___: np.broadcast_to(LOST, theta.shape))
        np.testing.assert_allclose(refit(fit, drawn, whole=True).rate, expected.rate, rtol=0.02)
    object.__setattr__(fit.fit, "theta", LOST)
    np.testing.assert_allclose(refit(fit, drawn, whole=True).rate, expected.rate, rtol=0.02)
