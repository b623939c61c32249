"""Kaplan and Meier's curve is lifelines', with any weights, and the defective one of a cure model is p G."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headgate as hg
from headgate.calibration.kaplan_meier import KaplanMeier


def lifelines_curve(time: Any, seen: Any, weights: Any) -> Any:
    lifelines = pytest.importorskip("lifelines")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, from pandas
        return lifelines.KaplanMeierFitter(alpha=0.1).fit(time, seen, weights=weights)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_curve_of_lifelines(seed: int) -> None:
    rng = np.random.default_rng(seed)
    time = np.round(rng.exponential(10.0, 300), 0 if seed % 2 else 6) + 0.5  # with ties and without
    seen, weights = rng.random(300) < 0.6, rng.integers(1, 5, 300)
    ours, theirs = KaplanMeier.of(time, seen, weights), lifelines_curve(time, seen, weights)
    grid = np.linspace(0.0, time.max(), 57)
    np.testing.assert_allclose(ours.at(grid), 1.0 - theirs.predict(grid).to_numpy(), atol=1e-12)
    low, high = ours.band(0.9)
    ends = theirs.confidence_interval_survival_function_.loc[ours.amounts].to_numpy()
    known = ~np.isnan(low)
    np.testing.assert_allclose(1.0 - low[known], ends[known, 1], atol=1e-9)
    np.testing.assert_allclose(1.0 - high[known], ends[known, 0], atol=1e-9)


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans(), st.integers(1, 4)), min_size=1, max_size=30))
def test_weights_are_repetitions_and_the_curve_climbs(rows: list[tuple[int, bool, int]]) -> None:
    time, seen, count = (np.array(column) for column in zip(*rows, strict=True))
    weighted = KaplanMeier.of(time, seen, count)
    written_out = KaplanMeier.of(np.repeat(time, count), np.repeat(seen, count))
    np.testing.assert_allclose(weighted.reached, written_out.reached, atol=1e-12)
    np.testing.assert_allclose(weighted.variance, written_out.variance, atol=1e-12)
    assert np.all(np.diff(weighted.reached, prepend=0.0) >= 0.0)
    assert np.all((weighted.reached >= 0.0) & (weighted.reached <= 1.0))


def test_without_censoring_it_is_the_empirical_distribution() -> None:
    x = np.random.default_rng(0).random(50)
    curve = KaplanMeier.of(x, np.ones(50, dtype=bool))
    np.testing.assert_allclose(curve.reached, np.arange(1, 51) / 50)
    assert np.isnan(curve.at(2.0))
    assert curve.at(-1.0) == 0.0


def test_of_a_cure_model_it_estimates_p_times_g() -> None:
    rng, law = np.random.default_rng(1), hg.Weibull(1.6)
    x, threshold = rng.uniform(1.0, 30.0, 40_000), law.sample(0.1, rng, 40_000)
    won = (rng.random(40_000) < 0.4) & (threshold <= x)
    curve = KaplanMeier.of(np.where(won, threshold, x), won)
    grid = np.array([2.0, 5.0, 10.0, 20.0])
    # 4 standard errors of about 0.003: a failure in 4,000 seeds.
    np.testing.assert_allclose(curve.at(grid), 0.4 * law.cdf(grid, 0.1), atol=0.013)
