"""Guarded: the promise under good and bad baselines, the ledger behind it, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import headgate as hg
from headgate.errors import AllocationError, BudgetError, HeadgateError, ParameterError, ShapeError, UnsupportedError
from headgate.laws import Floats

BUDGET = 8.0
PROBLEM = hg.Problem(hg.Weibull(1.5), [0.9, 0.7, 0.4, 0.2], [0.5, 0.3, 0.8, 0.4])
EVEN = np.full(4, BUDGET / 4)


def leads(policy: hg.Guarded, baseline: Floats, rounds: int, seed: int = 0) -> Floats:
    """By how much the truly expected reward is ahead of the share of the baseline's, round by round: (rounds, runs)."""
    rng, lead, after = np.random.default_rng(seed), np.zeros(policy.batch), []
    for _ in range(rounds):
        x = policy.allocate(BUDGET)
        lead = lead + PROBLEM.expected_reward(x) - policy.share * PROBLEM.expected_reward(baseline)
        after.append(lead)
        policy.observe(x, PROBLEM.play(x, rng))
    return np.array(after)


@pytest.mark.parametrize("baseline", ["best", "even", "terrible"])
def test_the_promise_is_kept_at_all_times(baseline: str) -> None:
    """40 runs, of which each may break it with probability .05: more than 7 have probability below .002."""
    amounts = {"best": PROBLEM.solve(BUDGET).x, "even": EVEN, "terrible": np.array([0.0, 0.0, 0.0, BUDGET])}[baseline]
    policy = hg.Guarded(hg.Thompson(PROBLEM.law, 4, BUDGET, seed=np.arange(40)), amounts)
    broken = (leads(policy, amounts, 50) < -1e-6).any(axis=0)
    assert broken.sum() <= binom.ppf(0.998, 40, 0.05)


class Worst(hg.Policy):
    """Everything on the arm that is worth least."""

    name = "worst"

    def split(self, state, ask):  # type: ignore[no-untyped-def]
        x = np.zeros((*self.batch, self.arms))
        x[..., 3] = ask.limits.budget
        return x


def test_a_policy_that_loses_is_held_back() -> None:
    """It would earn a tenth of the baseline; with the guard it never falls below the share."""
    policy = hg.Guarded(Worst(PROBLEM.law, 4, BUDGET, seed=np.arange(10)), EVEN)
    lead = leads(policy, EVEN, 100)
    assert (lead > -1e-6).all()
    assert policy.state.held.min() > 75


def test_a_baseline_that_earns_nothing_does_not_hold_back() -> None:
    policy = hg.Guarded(hg.Thompson(PROBLEM.law, 4, BUDGET), np.array([0.0, 0.0, 0.0, 0.001]))
    leads(policy, np.array([0.0, 0.0, 0.0, 0.001]), 60)
    assert policy.state.held < 10


def test_a_policy_that_plays_its_baseline_is_never_held_back() -> None:
    """One curve bounds both sides, so nothing has to be known for that."""
    policy = hg.Guarded(hg.Uniform(PROBLEM.law, 4, BUDGET), "even")
    leads(policy, EVEN, 20)
    assert policy.state.held == 0


def test_the_ledger_holds_what_was_played() -> None:
    """Its sum over a curve is that of all rounds, to a few millionths each, whatever the amounts."""
    from headgate.kernels.guard import guard

    policy, rng = hg.Guarded(hg.Thompson(PROBLEM.law, 4, BUDGET)), np.random.default_rng(0)
    amounts, ledger, expected = policy._amounts, np.zeros((4, policy._amounts.size)), 0.0
    places = np.zeros((4, 1, 25, 4))
    places[..., 0], places[..., 2], places[..., 3] = np.log(PROBLEM.rate)[:, None, None], 0.6, 0.6
    for _ in range(200):
        x, base = BUDGET * rng.dirichlet(np.ones(4)) ** 2, BUDGET * rng.dirichlet(np.ones(4))
        value = rng.uniform(0.0, 2.0, 4)
        ledger, _, lead = guard(*policy.confidence.form, places, amounts, ledger, x[None], base, value, 0.9)
        expected += (0.6 * value * (PROBLEM.law.cdf(x, PROBLEM.rate) - 0.9 * PROBLEM.law.cdf(base, PROBLEM.rate))).sum()
        assert abs(lead - expected) < 2e-3


def test_json_continues_exactly_and_functions_are_not_written() -> None:
    policy = hg.Guarded(hg.LRUCB(PROBLEM.law, 4, BUDGET), EVEN, share=0.9, delta=0.1)
    leads(policy, EVEN, 12)
    twin = hg.load_policy(policy.to_json())
    assert isinstance(twin, hg.Guarded)
    assert twin.to_json() == policy.to_json()
    assert np.array_equal(leads(twin, EVEN, 8), leads(policy, EVEN, 8))
    spread = hg.Guarded(hg.Thompson(PROBLEM.law, 4, BUDGET), lambda budget: np.full(4, budget / 4))
    assert leads(spread, EVEN, 3).shape == (3,)
    with pytest.raises(UnsupportedError, match="function"):
        spread.to_json()


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"baseline": [3.0, 3.0, 3.0, 3.0]}, BudgetError, "baseline gives 12, more than the budget 8"),
        ({"baseline": [1.0, 1.0]}, ShapeError, "baseline"),
        ({"baseline": [-1.0, 1.0, 1.0, 1.0]}, AllocationError, "baseline"),
        ({"baseline": "best"}, ParameterError, "best"),
        ({"share": 1.0}, ParameterError, "share"),
        ({"share": 0.0}, ParameterError, "share"),
        ({"delta": 0.0}, ParameterError, "delta"),
        ({"delta": 1.0}, ParameterError, "delta"),
    ],
)
def test_bad_configurations_are_refused(wrong: dict[str, object], error: type[HeadgateError], words: str) -> None:
    with pytest.raises(error, match=words):
        hg.Guarded(hg.Thompson(PROBLEM.law, 4, BUDGET), **wrong)  # type: ignore[arg-type]  # that is the point


def test_what_cannot_be_guarded_is_refused() -> None:
    for options in ({"discount": 0.9}, {"reward": "cascade"}):
        with pytest.raises(UnsupportedError, match="guard"):
            hg.Guarded(hg.Thompson(PROBLEM.law, 4, BUDGET, **options))
    with pytest.raises(UnsupportedError, match="none is known to be right"):
        hg.Guarded(hg.Thompson("auto", 4, BUDGET))
    inner = hg.Guarded(hg.Thompson(PROBLEM.law, 4, BUDGET))
    for wrong in (inner, "thompson", hg.Thompson):
        with pytest.raises(ParameterError, match="policy must be"):
            hg.Guarded(wrong)  # type: ignore[arg-type]  # that is the point


def test_a_round_that_its_baseline_does_not_fit_changes_nothing() -> None:
    policy = hg.Guarded(hg.Thompson(PROBLEM.law, 4, BUDGET), EVEN)
    leads(policy, EVEN, 3)
    before = policy.to_json()
    with pytest.raises(BudgetError, match="baseline gives 8, more than the budget 5"):
        policy.allocate(5.0)
    assert policy.to_json() == before
