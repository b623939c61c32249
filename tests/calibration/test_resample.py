"""Resamples move the fit as much as its intervals say, of whole numbers too."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import headgate as hg
from headgate.calibration import resample
from headgate.calibration.calibration import calibrate
from headgate.calibration.fitting.choose import fit_arms
from headgate.calibration.fitting.points import of_rows
from headgate.calibration.log import Log, Rows
from headgate.calibration.replay import ArmLog
from headgate.calibration.resample import Resampler, halves, poisson, refit

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
        seen = ArmLog.of(rows, arm, stopped=True)
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
    drawn = poisson(ArmLog.of(rows, 0, stopped=True), 8, np.random.default_rng(0))
    expected = refit(fit, drawn, whole=True)
    with monkeypatch.context() as patch:
        patch.setattr(resample, "polish", lambda _, theta, *__, **___: np.broadcast_to(LOST, theta.shape))
        np.testing.assert_allclose(refit(fit, drawn, whole=True).rate, expected.rate, rtol=0.02)
    object.__setattr__(fit.fit, "theta", LOST)
    np.testing.assert_allclose(refit(fit, drawn, whole=True).rate, expected.rate, rtol=0.02)


STUDENTS = 400


def rounds_log(shared: float, seed: int = 0) -> Log:
    """Students who know all of four questions or none with probability `shared`, else each by itself."""
    rng = np.random.default_rng(seed)
    apart, together = rng.random((STUDENTS, 4)) < 0.5, rng.random(STUDENTS) < 0.5
    knows = np.where(rng.random(STUDENTS)[:, None] < shared, together[:, None], apart)
    time = np.clip(rng.weibull(1.6, (STUDENTS, 4)) * 5.0, 0.0, 29.0)
    names = np.repeat(np.arange(STUDENTS), 4)
    table = {"who": names, "item": np.tile(list("abcd"), STUDENTS), "ok": knows.ravel().astype(int)}
    return hg.read_log(
        pa.table(table | {"s": np.where(knows, time, np.nan).ravel(), "given": np.full(names.size, 30.0)}),
        arm="item", success="ok", threshold="s", allocation="given", round="who",
    )  # fmt: skip


def test_rounds_are_resampled_whole() -> None:
    """The worth of a round in which arms share their fate varies as the sum of what is drawn together.

    With p = 1/2 for each of four arms, the standard error of the mean number of successes a round is
    sqrt(4 / 4 / N) if all are independent, and sqrt(16 / 4 / N) if they share everything: twice as wide.
    """
    widths = {}
    for shared in (0.0, 1.0):
        log = rounds_log(shared)
        assert Resampler(log, 10).by_round
        found = calibrate(log, law="weibull", budgets=[120.0], bootstrap=300)
        assert found.by_round
        low, high = found.gains[0].even.replay_interval
        widths[shared] = (high - low) / 3.29
    # 300 resamples tell a width to within 13% (3 s.e.); 400 students a variance to within 20%.
    assert widths[0.0] == pytest.approx(np.sqrt(1.0 / STUDENTS), rel=0.25)
    assert widths[1.0] == pytest.approx(np.sqrt(4.0 / STUDENTS), rel=0.25)


def test_a_round_is_held_out_whole() -> None:
    log = rounds_log(0.5)
    assert log.records is not None
    draws = Resampler(log, 3)
    halves_of = [draws.rows(arm).halves().weights for arm in range(4)]
    by_round = [weights[:, np.argsort(log.records.round[log.records.arm == arm])]  # type: ignore[index]
                for arm, weights in enumerate(halves_of)]  # fmt: skip
    for weights in by_round[1:]:
        np.testing.assert_array_equal(weights, by_round[0])
    np.testing.assert_array_equal(by_round[0][0] + by_round[0][1], 1.0)
    drawn = [draws.rows(arm).drawn(slice(0, 3)).weights for arm in range(2)]
    assert drawn[0].sum() == drawn[1].sum()


def test_without_rounds_rows_are_resampled() -> None:
    log = log_of(censored(hg.Exponential(), 0.5, 0.1, 50, 0), "censored")
    assert not Resampler(log, 10).by_round
