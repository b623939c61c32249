"""The information limit: against derivatives and sums done differently, and against a learner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize

import headgate as hg
from headgate.errors import UnsupportedError
from headgate.policies import State
from headgate.simulation import simulate
from headgate.theory import fisher_information, information_limit
from tests.laws.every import every_law
from tests.theory.best_guess import BestGuess

LAWS = [
    *every_law(0.7, 1.6, end=20.0, whole=False), hg.Weibull((0.7, 1.2, 1.9)),
]  # fmt: skip


def problem_with(law: hg.laws.Law) -> hg.Problem:
    return hg.Problem(law, [0.9, 0.6, 0.4], [0.5, 1.0, 0.3])


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_fisher_information_is_the_expected_curvature(law: hg.laws.Law) -> None:
    problem = problem_with(law)
    x = np.array([1.5, 2.0, 4.0])
    found = fisher_information(problem, x)
    for arm in range(3):
        one, theta = law.of_arm(arm), np.log([problem.activation[arm], problem.rate[arm]])

        def score(u: float | None, theta: Any, arm: int = arm, one: hg.laws.Law = one) -> Any:
            """The gradient of the log likelihood of a threshold u, or of a failure, by differences."""

            def likelihood(t: Any) -> float:
                p, rate = np.exp(t)
                if u is None:
                    return float(np.log1p(-p * one.cdf(x[arm], rate)))
                return float(np.log(p) + one.log_pdf(u, rate))

            return optimize.approx_fprime(theta, likelihood, 1e-6)

        p, rate = np.exp(theta)
        fails = 1.0 - p * float(one.cdf(x[arm], rate))
        miss = score(None, theta)
        for i, j, got in ((0, 0, found.activation), (0, 1, found.mixed), (1, 1, found.rate)):

            def density(u: float, i: int = i, j: int = j, p: float = p, rate: float = rate, s: Any = score) -> float:
                g = s(u, theta)  # noqa: B023  # used within this turn of the loop
                return float(p * one.pdf(u, rate) * g[i] * g[j])  # noqa: B023

            seen, _ = integrate.quad(density, 0.0, x[arm], limit=200)
            assert got[arm] == pytest.approx(seen + fails * miss[i] * miss[j], rel=2e-4, abs=2e-5)


@pytest.mark.parametrize("law", [*LAWS[:4], LAWS[-1]], ids=repr)
def test_the_limit_is_the_trace_by_differences(law: hg.laws.Law) -> None:
    problem, budget = problem_with(law), 20.0
    best = problem.solve(budget).x
    assert np.all(best > 0.0)
    theta = np.concatenate([np.log(problem.activation), np.log(problem.rate)])

    def optimum(t: Any) -> Any:
        return hg.Problem(law, np.exp(t[:3]), np.exp(t[3:])).solve(budget, tol=1e-14).x

    h = 1e-4
    J = np.stack([(optimum(theta + h * e) - optimum(theta - h * e)) / (2.0 * h) for e in np.eye(6)], axis=1)
    H = np.diag((problem.marginal(best - h) - problem.marginal(best + h)) / (2.0 * h))
    info = fisher_information(problem, best)
    fisher = np.block([[np.diag(info.activation), np.diag(info.mixed)], [np.diag(info.mixed), np.diag(info.rate)]])
    expected = 0.5 * np.trace(J.T @ H @ J @ np.linalg.inv(fisher))
    assert information_limit(problem, budget) == pytest.approx(expected, rel=1e-3)


def test_a_batch_is_its_rows_and_idle_arms_do_not_count() -> None:
    rng = np.random.default_rng(0)
    p, rate = rng.uniform(0.1, 1.0, (5, 4)), rng.uniform(0.2, 2.0, (5, 4))
    together = information_limit(hg.Problem(hg.Exponential(), p, rate), 9.0)
    alone = [information_limit(hg.Problem(hg.Exponential(), p[i], rate[i]), 9.0) for i in range(5)]
    np.testing.assert_allclose(together, alone, rtol=1e-9)
    with_idle = hg.Problem(hg.Exponential(), [*p[0], 1e-6], [*rate[0], 1e-3])
    assert with_idle.solve(9.0).x[-1] == 0.0
    assert information_limit(with_idle, 9.0) == pytest.approx(alone[0], rel=1e-9)
    assert information_limit(hg.Problem(hg.Exponential(), [0.5], [1.0]), 3.0) == pytest.approx(0.0, abs=1e-12)


def test_the_papers_instances_average_about_43() -> None:
    # lambda ~ U[1/B, 80/B], p ~ U(0, 1), K = 10, B = 40, four times 40 instances. The mean has a heavy tail: arms that
    # barely get something. The median does not.
    means, medians = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        drawn = hg.Problem(hg.Exponential(), rng.uniform(0.0, 1.0, (40, 10)), rng.uniform(1 / 40, 2.0, (40, 10)))
        at_ten_thousand = information_limit(drawn, 40.0) * np.log(10_000)
        means.append(at_ten_thousand.mean())
        medians.append(np.median(at_ten_thousand))
    assert 35.0 < min(means) < 43.0 < max(means) < 60.0
    assert np.all(np.abs(np.array(medians) - 30.0) < 6.0)


def test_whole_numbers_have_no_limit() -> None:
    with pytest.raises(UnsupportedError, match="smooth"):
        information_limit(hg.Problem(hg.DiscreteWeibull(1.2), [0.5, 0.5], [0.2, 0.3]), 9.0)


HISTORY = 600  # rounds at the optimum, seen before the first


@pytest.mark.long
@pytest.mark.parametrize("law", [hg.Exponential(), hg.Weibull(1.4)], ids=repr)
def test_a_greedy_learner_that_starts_at_the_truth_grows_at_the_limit(law: hg.laws.Law) -> None:
    """Regret from t0 to t0 + T is c* ln((t0 + T) / t0), for the maximum likelihood of all that was seen.

    Mean of 240 runs, within 4 standard errors of 5% each: fails by chance with probability 6e-5.
    """
    problem, budget, rounds = hg.Problem(law, [0.9, 0.7, 0.5], [0.5, 1.0, 0.7]), 7.0, 600
    best = problem.solve(budget).x
    assert np.all(best > 0.2)

    class Seasoned(BestGuess):
        def start(self, evidence: hg.Evidence | None = None) -> State:
            state, rng = super().start(evidence), np.random.default_rng(11)
            x = np.broadcast_to(best, (*self.batch, self.arms))
            for _ in range(HISTORY):
                state = self.absorb(state, x, problem.play(x, rng))
            return state

    result = simulate(problem, {"greedy": Seasoned}, budget=budget, rounds=rounds, runs=240, seed=3, chunk=240)
    regret = result.regret["greedy"][:, -1]
    expected = float(information_limit(problem, budget)) * np.log((HISTORY + rounds) / HISTORY)
    error = float(regret.std(ddof=1)) / np.sqrt(240.0)
    assert error < 0.06 * expected
    assert abs(regret.mean() - expected) < 4.0 * error
