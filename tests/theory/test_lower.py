"""The lower bound: its constants, one arm, and the sharper one against a reference and the best policy we have."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, optimize

import headgate as hg
from headgate.errors import ParameterError
from headgate.laws import Floats
from headgate.theory import hard_family, lower_bound


def test_with_one_arm_there_is_nothing_to_lose() -> None:
    np.testing.assert_array_equal(lower_bound(1, [1, 10**6]), [0.0, 0.0])
    np.testing.assert_array_equal(lower_bound(1, [1, 10**6], "sharp"), [0.0, 0.0])


def test_the_proof_gives_half_of_what_is_printed() -> None:
    eps, T, K = (10 / 1e4) ** (2.0 / 3.0) / 12.0, 1e4, 10
    assert lower_bound(K, T, "proved") == pytest.approx(eps / 2.0 * T / 4.0)
    assert lower_bound(K, T) == pytest.approx(2.0 * lower_bound(K, T, "proved"))


@pytest.mark.parametrize("arms", [2, 3, 10, 100])
def test_the_printed_constant_holds_all_the_same(arms: int) -> None:
    rounds = arms * np.geomspace(1.0, 1e6, 7)
    assert np.all(lower_bound(arms, rounds, "sharp") >= 1.9 * lower_bound(arms, rounds))


def divergence(rate: float, better: float, x: float) -> float:
    """KL of what is seen of an exponential threshold up to x, by quadrature."""
    seen = integrate.quad(
        lambda t: rate * np.exp(-rate * t) * (np.log(rate / better) + (better - rate) * t), 0.0, x, epsabs=0.0
    )[0]
    return float(seen + np.exp(-rate * x) * (better - rate) * x)


@pytest.mark.parametrize(("arms", "rounds"), [(2, 2.0), (3, 900.0), (10, 1e4)])
def test_the_sharp_bound_is_the_largest_of_its_argument(arms: int, rounds: float) -> None:
    def bound(logs: Floats) -> float:
        rate, eps = np.exp(logs)
        kl = rounds * divergence(rate, rate + eps, 1.0 / arms)
        share = min(1.0, 1.0 / arms + min((kl / 2.0) ** 0.5, (1.0 - np.exp(-kl)) ** 0.5))
        rates = np.full(arms, rate)
        rates[0] += eps
        problem = hg.Problem(hg.Exponential(), np.ones(arms), rates)
        best = problem.solve(1.0)
        if share >= best.x[0]:
            return 0.0
        x = np.full(arms, (1.0 - share) / (arms - 1))
        x[0] = share
        return -rounds * float(best.value - problem.expected_reward(x))

    family = hard_family(arms, rounds)
    start = np.log([family.rate, family.eps])
    assert -bound(start) == pytest.approx(family.bound, rel=1e-4)
    around = optimize.minimize(bound, start + 0.3, method="Nelder-Mead", options={"fatol": 1e-9})
    assert -around.fun <= family.bound * (1.0 + 1e-4)


@pytest.mark.long
def test_no_policy_of_ours_beats_it_on_its_own_family() -> None:
    """The bound is for the worst problem of the family: here the mean over which arm is better."""
    arms, rounds = 4, 400
    family = hard_family(arms, rounds)
    regret = []
    for better in range(arms):
        result = hg.simulate(
            family.problem(better), {"thompson": hg.Thompson}, budget=1.0, rounds=rounds, runs=20, seed=better
        )
        regret.append(float(result.regret["thompson"][:, -1].mean()))
    assert max(regret) > family.bound


@pytest.mark.parametrize(("arms", "rounds"), [(0, 5), (1.5, 5), (10, 5)])
def test_what_has_no_bound_is_refused(arms: int, rounds: int) -> None:
    with pytest.raises(ParameterError):
        lower_bound(arms, rounds)
