"""What the paper's estimator converges to when x < B, and that the other two converge to the truth."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.estimators import corrected_rate, likelihood, paper_activation, paper_rate
from headgate.evidence import Evidence
from headgate.laws import Exponential, Law, LogNormal, Weibull

from . import references

B, RATE, ACTIVATION, ROUNDS = 40.0, 0.12, 0.5, 1_000_000


def test_the_paper_is_biased_below_the_budget_and_the_corrected_form_is_not() -> None:
    """PAPER_NOTES item 3: p = .5, lambda = .12, x = B/3 gives .202 and .428; standard errors below .0015."""
    rng = np.random.default_rng(1)
    evidence = references.play(Exponential(), ACTIVATION, RATE, np.full(ROUNDS, B / 3.0), rng).evidence(B)
    paper = paper_rate(Exponential(), evidence)
    assert paper[0] == pytest.approx(0.202, abs=0.002)
    assert paper_activation(Exponential(), evidence, paper)[0] == pytest.approx(0.428, abs=0.002)
    corrected = corrected_rate(Exponential(), evidence)
    assert corrected[0] == pytest.approx(RATE, abs=0.003)
    assert paper_activation(Exponential(), evidence, corrected)[0] == pytest.approx(ACTIVATION, abs=0.008)


def test_the_paper_is_right_at_the_budget() -> None:
    rng = np.random.default_rng(2)
    evidence = references.play(Exponential(), ACTIVATION, RATE, np.full(ROUNDS, B), rng).evidence(B)
    assert paper_rate(Exponential(), evidence)[0] == pytest.approx(RATE, rel=0.01)


@pytest.mark.parametrize("law", [Exponential(), Weibull(shape=1.6), LogNormal(sigma=0.8)], ids=str)
def test_corrected_and_likelihood_are_consistent_and_the_likelihood_is_sharper(law: Law) -> None:
    """Over 200 arms of 2,000 rounds: both are centred (4 standard errors), the likelihood spreads less."""
    rng = np.random.default_rng(3)
    arms, rounds = 200, 2000
    x = rng.uniform(4.0, 30.0, arms * rounds)
    played = references.play(law, ACTIVATION, RATE, x, rng)
    who = np.repeat(np.arange(arms), rounds)
    evidence = Evidence.of_rows(who, *played, max_budget=B)
    corrected, likely = np.log(corrected_rate(law, evidence)), np.log(likelihood(law, evidence).rate)
    for estimates in (corrected, likely):
        error = estimates.std(ddof=1) / np.sqrt(arms)
        assert abs(np.mean(estimates) - np.log(RATE)) < 4.0 * error + 0.5 * estimates.var()
    assert likely.std() < corrected.std()
