"""The rules that decide claims: their error rates, and that they can come out either way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from headgate.experiments.report.judge import (
    Interval,
    Verdict,
    all_of,
    growth_of,
    mean_of,
    or_only,
    ratio_of_variances,
    share_of,
    sublinear,
)

ROUNDS = np.unique(np.geomspace(1, 10_000, 60).astype(int))


def test_an_interval_decides_only_on_one_side_of_the_bar() -> None:
    assert Interval(1.0, 0.5, 1.5).below(2.0) is Verdict.HOLDS
    assert Interval(1.0, 0.5, 1.5).below(0.4) is Verdict.FAILS
    assert Interval(1.0, 0.5, 1.5).below(1.2) is Verdict.UNDECIDED
    assert Interval(1.0, 0.5, 1.5).above(0.4) is Verdict.HOLDS
    assert Interval(1.0, 0.5, 1.5).above(2.0) is Verdict.FAILS


def test_a_mean_covers_as_often_as_it_says() -> None:
    """15 runs, 2,000 times: 95% +- 1.5% (three standard errors)."""
    rng = np.random.default_rng(0)
    inside = [(i := mean_of(rng.normal(3.0, 2.0, 15))).low <= 3.0 <= i.high for _ in range(2000)]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.015)


def test_a_share_is_clopper_and_pearson() -> None:
    found = share_of(3, 40)
    ends = stats.beta.ppf(0.025, 3, 38), stats.beta.ppf(0.975, 4, 37)
    assert (found.value, found.low, found.high) == pytest.approx((0.075, *ends))


@pytest.mark.parametrize(("power", "exponent"), [(1.0, 0.0), (0.5, -0.5), (0.0, -1.0)])
def test_growth_is_that_of_regret_per_round(power: float, exponent: float) -> None:
    """300 of an initial phase do not hide it, and whole runs that differ tenfold do not blur it."""
    rng = np.random.default_rng(1)
    shape = np.log(ROUNDS) if power == 0.0 else ROUNDS**power
    runs = 300.0 + np.exp(rng.normal(0.0, 1.0, (15, 1))) * shape
    found = growth_of(ROUNDS, runs)
    assert found.value == pytest.approx(exponent, abs=0.03)
    assert found.low - 1e-9 <= found.value <= found.high + 1e-9
    assert sublinear(found) is (Verdict.FAILS if power == 1.0 else Verdict.HOLDS)


def test_growth_covers_linear_regret() -> None:
    """Windows with noise of their own: the exponent 0 is inside 88% of the time or more (15 runs, resampled)."""
    rng, inside = np.random.default_rng(2), []
    steps = np.diff(ROUNDS, prepend=0)
    for _ in range(200):
        runs = np.cumsum(steps * rng.gamma(20.0, 1 / 20.0, (15, ROUNDS.size)), axis=1)
        found = growth_of(ROUNDS, runs)
        inside.append(found.low <= 0.0 <= found.high)
    assert np.mean(inside) >= 0.88


def test_few_runs_decide_nothing() -> None:
    assert sublinear(growth_of(ROUNDS, np.sqrt(ROUNDS)[None].repeat(4, 0))) is Verdict.UNDECIDED
    assert mean_of([1.0]).below(5.0) is Verdict.UNDECIDED


def test_variances() -> None:
    rng = np.random.default_rng(3)
    wide, narrow = rng.normal(0.0, 10.0, 30), rng.normal(0.0, 1.0, 30)
    assert ratio_of_variances(wide, narrow).above(1.0) is Verdict.HOLDS
    assert ratio_of_variances(narrow, wide).above(1.0) is Verdict.FAILS
    assert ratio_of_variances(narrow, rng.normal(0.0, 1.0, 30)).above(1.0) is Verdict.UNDECIDED


def test_parts_and_conditions() -> None:
    holds, fails, undecided, only = Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED, Verdict.ONLY
    assert all_of(holds, holds) is holds
    assert all_of(holds, undecided) is undecided
    assert all_of(undecided, fails, holds) is fails
    assert or_only(holds, fails) is holds
    assert or_only(fails, holds) is only
    assert or_only(fails, fails) is fails
    assert or_only(undecided, holds) is undecided
    assert or_only(fails, undecided) is undecided
