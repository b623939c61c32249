"""Which law is chosen, what is selected, and what is warned of."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import headgate as hg
from headgate.calibration.fitting.cautions import cautions, speed
from headgate.calibration.fitting.choose import ArmFit, best_arms, fit_arms
from headgate.calibration.fitting.points import of_rows
from headgate.calibration.log import Log, Rows
from headgate.errors import ParameterError
from headgate.laws import Law

from .logs import censored, log_of, observed, rows_of


def fits(rows: Rows, basis: str = "censored", whole: bool = False, **options: object) -> list[ArmFit]:
    arms = int(rows.arm.max()) + 1
    points = of_rows(rows, arms, basis, whole=whole)  # type: ignore[arg-type]
    return fit_arms(points, [f"a{i}" for i in range(arms)], whole=whole, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("law", [hg.Weibull(1.7), hg.LogNormal(0.6), hg.LogLogistic(3.0), hg.Gamma(4.0)], ids=str)
def test_the_true_law_is_chosen(law: Law) -> None:
    (found,) = fits(observed(hg.Problem(law, [0.5], [0.1]), 20_000, 1), "all")
    assert found.law.name == law.name
    assert found.shape == pytest.approx(next(iter(law.shapes().values())), rel=0.05)
    assert next(iter(found.aic)) == law.name
    assert list(found.aic.values()) == sorted(found.aic.values())


def test_a_law_at_the_end_of_its_range_is_not_chosen_but_may_be_forced() -> None:
    rows = observed(hg.Problem(hg.Gamma(8.0), [0.5], [0.1]), 3000, 1)
    (found,) = fits(rows, "all", laws=["lomax", "exponential"])
    assert found.law == hg.Exponential()
    (forced,) = fits(rows, "all", law="lomax")
    assert forced.law.name == "lomax"
    assert forced.at_boundary
    assert any("end of its range" in found.text for found in cautions(forced, log_of(rows, "observed"), 0))


def test_a_law_at_the_end_of_its_range_is_not_chosen_though_its_aic_is_the_smallest() -> None:
    """Of thresholds that hardly vary every shape runs away, and is far likelier than any exponential law."""
    rng = np.random.default_rng(0)
    threshold = 10.0 * (1.0 + 1e-6 * rng.standard_normal(400))
    rows = rows_of([0] * 400, np.full(400, np.inf), rng.random(400) < 0.5, threshold)  # type: ignore[arg-type]
    (found,) = fits(rows, "all", laws=["weibull", "exponential"])
    assert found.aic["weibull"] < found.aic["exponential"]
    assert found.law == hg.Exponential()
    assert not found.at_boundary
    (none,) = fits(rows, "all", laws=["log-logistic", "weibull"])  # where none is within its range, the likeliest is
    assert none.at_boundary
    assert none.law.name == min(none.aic, key=none.aic.__getitem__)


def test_whole_numbers_follow_laws_of_whole_numbers() -> None:
    rows = censored(hg.DiscreteWeibull(1.2), 0.5, 0.2, 800, 0)
    (found,) = fits(rows, whole=True)
    assert isinstance(found.law, hg.DiscreteWeibull)
    with pytest.raises(ParameterError, match="whole numbers: law must be one of discrete-weibull, got 'weibull'"):
        fits(rows, whole=True, law="weibull")
    with pytest.raises(ParameterError, match=r"not whole numbers.*got 'discrete-weibull'"):
        fits(rows, law="discrete-weibull")


def test_the_best_arms_are_those_of_the_smallest_ks() -> None:
    problem = hg.Problem([hg.Weibull(1.5), hg.LogNormal(1.0), hg.Weibull(2.0)], [0.5] * 3, [0.1] * 3)
    found = fits(observed(problem, 4000, 2), "all", law="weibull")
    assert best_arms(found, 2).tolist() == [0, 2]
    assert best_arms(found, 1, "rows").tolist() == [0]
    for wrong in (0, 4, True, 1.5):
        with pytest.raises(ParameterError, match="select must be a whole number within 1 and 3"):
            best_arms(found, wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="by must be one of ks, rows, got 'luck'"):
        best_arms(found, 1, "luck")


def warnings_of(log: Log, basis: str) -> list[tuple[str, ...]]:
    found = enumerate(fits(log.rows, basis, log.whole))
    return [tuple(caution.text for caution in cautions(fit, log, arm)) for arm, fit in found]


def test_faster_successes_are_noticed_and_equal_ones_are_not() -> None:
    rng = np.random.default_rng(0)
    threshold = rng.gamma(2.0, 15.0, 4000)
    won = rng.random(4000) < 0.5
    threshold[won] *= 0.8
    arm = np.repeat([0, 1], 2000)
    threshold[2000:] = rng.gamma(2.0, 15.0, 2000)
    log = log_of(rows_of(arm, np.full(4000, np.inf), won, threshold), "observed")  # type: ignore[arg-type]
    first, second = warnings_of(log, "all")
    assert any("activation and speed are not independent: successes are faster" in text for text in first)
    assert not any("independent" in text for text in second)


def test_the_comparison_is_mann_and_whitneys() -> None:
    rng = np.random.default_rng(5)
    value, won, count = rng.integers(1, 9, 60).astype(np.float64), rng.random(60) < 0.5, rng.integers(1, 4, 60)
    found = speed(value, won, count.astype(np.float64))
    assert found is not None
    a, b = (np.repeat(value[w], count[w]) for w in (won, ~won))
    theirs = stats.mannwhitneyu(a, b, method="asymptotic", use_continuity=False)
    assert found.p_value == pytest.approx(theirs.pvalue)
    assert 1.0 - found.probability == pytest.approx(theirs.statistic / (a.size * b.size))
    assert found.ratio == pytest.approx(np.median(a) / np.median(b))
    assert speed(value, np.zeros(60, dtype=np.bool_), count.astype(np.float64)) is None


def test_few_and_no_successes_are_noticed() -> None:
    rows = censored(hg.Exponential(), 0.5, 0.1, 60, 0, arms=2)
    success = rows.success & (rows.arm == 0) & (np.cumsum(rows.success) <= 5)
    log = log_of(Rows(rows.arm, rows.allocation, success, rows.threshold, rows.count), "censored")
    first, second = warnings_of(log, "censored")
    assert first[0] == "only 5 successes: the intervals are wide"
    assert second == ("no success in 60 rows: taken as never active",)
    never = fits(log.rows)[1]
    assert (never.activation, never.law) == (0.0, hg.Exponential())


def test_small_allocations_are_noticed() -> None:
    rng = np.random.default_rng(0)
    threshold = hg.Exponential().sample(0.1, rng, 3000)
    won = (rng.random(3000) < 0.7) & (threshold <= 1.0)
    rows = rows_of([0] * 3000, np.ones(3000), won, np.where(won, threshold, np.nan))  # type: ignore[arg-type]
    (found,) = warnings_of(log_of(rows, "censored"), "censored")
    assert any("are not told apart" in text for text in found)
    assert any("allocations hardly vary (1 s)" in text for text in found)


def test_absurd_values_and_poor_fits_are_noticed() -> None:
    rng = np.random.default_rng(0)
    threshold = np.concatenate([rng.normal(10.0, 0.5, 1000), rng.normal(40.0, 0.5, 1000), [9000.0]])
    rows = rows_of([0] * 2001, np.full(2001, np.inf), rng.random(2001) < 0.5, threshold)  # type: ignore[arg-type]
    (found,) = warnings_of(log_of(rows, "observed"), "all")
    assert any(text.startswith("poor fit: the best law is 0.") for text in found)
    assert any("absurd values: the largest, 9,000 s, is 2" in text for text in found)


def test_an_activation_of_1_has_an_interval() -> None:
    (found,) = fits(censored(hg.Weibull(1.5), 1.0, 0.1, 400, 3), law="weibull")
    low, high = found.activation_interval
    assert found.activation > 0.9
    assert 0.8 < low < 1.0
    assert high > 0.999


@pytest.mark.parametrize(("won", "end"), [(False, 0.0), (True, 1.0)])
def test_the_interval_of_a_share_of_0_or_1_has_the_share_in_it(won: bool, end: float) -> None:
    rows = observed(hg.Problem(hg.Weibull(1.5), [0.5], [0.1]), 50, 0)
    rows = Rows(rows.arm, rows.allocation, np.full(50, won), rows.threshold, rows.count)
    (found,) = fits(rows, "all", law="weibull")
    low, high = found.activation_interval
    assert found.activation == end
    assert end in (low, high)
    assert 0.03 < high - low < 0.06  # Jeffreys' other end, at 2.7 / 2 n or so
