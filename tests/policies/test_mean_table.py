"""The table that inverts the truncated mean is as good as a root search, and much faster."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.estimators.truncated_mean import mean_table, rate_of_mean
from headgate.laws import (
    DiscreteWeibull,
    Exponential,
    Gamma,
    Law,
    Lomax,
    PerArm,
    Weibull,
)
from tests.laws.every import every_law

LAWS = [
    *every_law(0.8, 1.7, end=55.0), Weibull(0.4), Weibull(6.0), Weibull((0.8, 1.0, 1.3, 2.0)),
    PerArm((Exponential(), Gamma(2.0), DiscreteWeibull(0.9), Lomax(2.0))),
]  # fmt: skip


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("upper", [40.0, 7.0])
def test_it_finds_the_rate_in_the_papers_range(law: Law, upper: float) -> None:
    rates = np.geomspace(1.0, 80.0, 12).reshape(3, 4) / upper
    means = law.truncated_mean(rates, upper)
    found = rate_of_mean(law, means, upper)
    assert law.truncated_mean(found, upper) == pytest.approx(means, rel=1e-10)
    sharp = means > 1.001 if np.all(law.integer) else np.ones(means.shape, dtype=bool)  # near 1 it tells nothing
    if not isinstance(law, PerArm):
        assert found[sharp] == pytest.approx(rates[sharp], rel=1e-8)


def test_means_that_no_rate_gives_lead_to_the_ends_of_the_table() -> None:
    ends = np.exp([-12.0, 12.0]) / 40.0
    assert rate_of_mean(Exponential(), np.array([30.0, 1e-9, 0.0]), 40.0) == pytest.approx(ends[[0, 1, 1]])


def test_the_table_is_made_once() -> None:
    assert mean_table(Exponential(), 1.0) is mean_table(Exponential(), 1.0)
