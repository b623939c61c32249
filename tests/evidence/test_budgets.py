"""Budgets as evidence: additive, exact, and Kaplan and Meier's law with one uniform budget more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headgate.errors import HeadgateError
from headgate.evidence import Evidence, budget_law, record_budget


def evidence_of(ended: Any = (), censored: Any = (), most: float = 10.0) -> Evidence:
    evidence = Evidence.empty(1, most)
    for amount in ended:
        record_budget(evidence, amount)
    for amount in censored:
        record_budget(evidence, amount, censored=True)
    return evidence


def survival(law: tuple[np.ndarray, np.ndarray], t: float) -> float:
    return float(law[1][law[0] > t].sum())


def test_without_any_the_law_is_uniform() -> None:
    amounts, masses = law = budget_law(evidence_of())
    assert masses.sum() == pytest.approx(1.0)
    assert amounts @ masses == pytest.approx(5.0)
    for t in (1.0, 5.0, 9.0):
        assert survival(law, t) == pytest.approx(1.0 - t / 10.0, abs=0.01)


def test_uncensored_budgets_leave_their_own_law_and_one_more() -> None:
    ended = [0.0, 2.0, 2.0, 7.0, 10.0]
    law = budget_law(evidence_of(ended))
    for t in (0.5, 3.0, 8.0, 9.5):
        expected = (np.sum(np.array(ended) > t) + 1.0 - t / 10.0) / 6.0
        assert survival(law, t) == pytest.approx(expected, abs=0.005)
    assert law[1].sum() == pytest.approx(1.0)


def test_censored_budgets_are_spread_over_those_that_lasted_longer() -> None:
    """By redistribution to the right, which is Kaplan and Meier's estimate done differently."""
    rng = np.random.default_rng(0)
    budgets, rounds = 10.0 * rng.beta(2.0, 2.0, 400), 10.0 * rng.beta(3.0, 2.0, 400)
    seen = budgets <= rounds
    evidence = evidence_of(budgets[seen], rounds[~seen])
    points = np.concatenate([budgets[seen], rounds[~seen], 10.0 * (np.arange(128) + 0.5) / 128])
    mass = np.concatenate([np.ones(400), np.full(128, 1.0 / 128)])
    cut = np.concatenate([np.zeros(seen.sum(), bool), np.ones((~seen).sum(), bool), np.zeros(128, bool)])
    order = np.argsort(points, kind="stable")
    points, mass, cut = points[order], mass[order], cut[order]
    counts = mass.copy()
    for k in np.flatnonzero(cut):
        mass[k + 1 :] += mass[k] * counts[k + 1 :] / counts[k + 1 :].sum()
        mass[k] = 0.0
    law = budget_law(evidence)
    for t in evidence.edges[[110, 116, 120, 124, 127]].tolist():  # between bins nothing is lost
        assert survival(law, t) == pytest.approx(mass[points > t].sum() / 401.0, abs=0.01)
        assert survival(law, t) == pytest.approx(np.mean(budgets > t), abs=0.08)


def test_adding_up_is_exact_in_any_order_and_fixed_in_size() -> None:
    rng = np.random.default_rng(1)
    budgets = rng.random(300) * 10.0
    one, other = evidence_of(budgets[:120], budgets[120:150]), evidence_of(budgets[150:][::-1])
    both = evidence_of(budgets[np.r_[150:300, 0:120]], budgets[120:150])
    assert np.array_equal(one.merge(other).bins, both.bins)
    assert np.array_equal(both.bins, np.floor(both.bins))
    assert np.array_equal(Evidence.from_dict(both.to_dict()).bins, both.bins)
    assert both.bins.shape == Evidence.empty(1, 10.0).bins.shape
    assert np.array_equal(budget_law(one.merge(other))[1], budget_law(both)[1])


@pytest.mark.parametrize("amount", [-1.0, np.nan, np.inf, 10.1, "long", None, [1.0, 2.0], True])
def test_wrong_budgets_are_named_and_change_nothing(amount: Any) -> None:
    evidence = evidence_of([3.0])
    before = evidence.bins.copy()
    for censored in (False, True):
        with pytest.raises(HeadgateError, match="budget"):
            record_budget(evidence, amount, censored)
    with pytest.raises(HeadgateError, match="censored must be true or false, got 'no'"):
        record_budget(evidence, 1.0, "no")
    assert np.array_equal(evidence.bins, before)
