"""The paper's bounds, against its theorems evaluated from their own constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headgate as hg
from headgate.errors import HeadgateError
from headgate.theory import (
    discretisation_loss,
    log_upper_bound,
    lower_bound,
    problem_independent_bound,
    rho,
    rho_bound,
    sqrt_upper_bound,
)
from tests.theory.best_guess import BestGuess

SAVED, B, T = hg.datasets.saved_instance(), 40.0, 10_000


def test_lower_bound() -> None:
    assert lower_bound(10, T) == pytest.approx(2.0833, abs=1e-4)
    np.testing.assert_allclose(lower_bound(8, [8, 1000]), [4.0 * 2.0 / 48.0, 4.0 * 10.0 / 48.0])


def constants(m: float, M: float) -> dict[str, float]:
    """The exponential law's constants, each from its definition rather than the paper's closed form."""
    v = np.linspace(m, M, 200_001)
    g = 1.0 / v - np.exp(-v) / -np.expm1(-v)
    D = np.min(np.abs(np.diff(g) / np.diff(v)))  # the least slope of g on [m, M]
    return {"L_mu": B**2 * D, "L_lambda": B, "L_delta": B / m, "D": D}


@pytest.mark.parametrize("M", [8.0, 80.0])
def test_sqrt_bound_is_the_theorem_with_its_constants(M: float) -> None:
    m = 1.0
    c = constants(m, M)
    x = SAVED.solve(B).x
    S = x > 0.0
    p, C, G = SAVED.activation[S], SAVED.law.cdf(x, m / B)[S], SAVED.law.cdf(x, SAVED.rate)[S]
    L_tilde, L_tilde2 = M * B * (m + 1.0) / m**2, B / m
    C1 = 2.0 * np.sqrt(2.0) * B * c["L_lambda"] / c["L_mu"]
    C2 = np.sqrt(2.0) * B / c["L_mu"] * (L_tilde + c["L_lambda"] + L_tilde2 + 2.0 * c["L_delta"])
    q = p * G
    C_sqrt = np.sqrt(96.0) * (C1 * np.sum((1.0 + p) / (C * np.sqrt(q))) + C2 * np.sum(1.0 / q))
    expected = C_sqrt * np.sqrt(10 * T * np.log(T))
    # 14 stands for sqrt(192) = 13.86, and the slope above is a difference.
    assert sqrt_upper_bound(SAVED, B, T, (m / B, M / B)) == pytest.approx(expected, rel=0.015)


def test_log_bound_is_the_theorem_with_its_constants() -> None:
    m, M = 1.0, 8.0
    c = constants(m, M)
    x = SAVED.solve(B).x
    S = x > 0.0
    p, C, G = SAVED.activation[S], SAVED.law.cdf(x, m / B)[S], SAVED.law.cdf(x, SAVED.rate)[S]
    mu = SAVED.activation.min() * m**2 * np.exp(-M) / B**2
    G_max, L_g, L_G = M / B, M + 1.0, M**2 / B**2
    a, b = G_max * c["L_lambda"] * (1.0 + p) / C, L_g
    Gamma = L_G * B**2 / (mu**2 * c["L_mu"] ** 2) * (a**2 + b**2 + 2.0 * a * b)
    C_log = np.sum(5.0 * 10 * Gamma / (p * G)) * 3.0  # log(1/alpha) = 3 log t
    expected = C_log * (np.log(T) ** 2 + np.log(T))
    assert log_upper_bound(SAVED, B, T, (m / B, M / B)) == pytest.approx(expected, rel=1e-3)


def test_the_upper_bounds_are_vacuous_on_the_papers_setting() -> None:
    assert sqrt_upper_bound(SAVED, B, 100_000) > 1e6 * 10 * 100_000  # a million times K T
    assert log_upper_bound(SAVED, B, T) > 1e80
    assert log_upper_bound(SAVED, B, T, (1 / B, 1e4 / B)) == np.inf


def test_problem_independent_bound() -> None:
    assert problem_independent_bound(10, 10**5, 1.0) == pytest.approx(10 * 10**4)
    u = SAVED.rate * SAVED.solve(B).x
    assert rho(SAVED, B) == pytest.approx(u.max() / u[u > 0].min())
    # As printed, the bound on rho covers a problem within it, if it says anything at all.
    easy = hg.Problem(hg.Exponential(), [0.9, 0.5], [0.5, 1.0])
    best = easy.solve(10.0)
    bound = rho_bound(10.0, float(best.price), 0.5, (0.5, 1.0))
    assert rho(easy, 10.0) <= bound < np.inf
    assert rho_bound(B, float(SAVED.solve(B).price), 0.05, (1 / B, 80 / B)) == np.inf


def test_pouring_in_steps_loses_at_most_the_discretisation_loss() -> None:
    policy = BestGuess(SAVED.law, 10, B)
    delta = 0.5
    rng = np.random.default_rng(0)
    for _ in range(30):  # a surrogate that is neither the start nor the truth
        x = policy.allocate(B)
        policy.observe(x, SAVED.play(x, rng))
    seen = policy.estimate()
    believed = hg.Problem(SAVED.law, seen.activation, seen.rate)
    poured = np.zeros(10)
    for arm, amount in policy.pour(step=delta):
        poured[arm] += amount
    g_max = float(np.max(seen.activation * seen.rate))  # the slope at 0
    lost = float(believed.solve(B).value - believed.expected_reward(poured))
    assert -1e-9 <= lost <= float(discretisation_loss(10, g_max, delta, 1))
    assert discretisation_loss(10, 2.0, 0.5, 7) == 11 * 2.0 * 0.5 * 7


@pytest.mark.parametrize(
    "call",
    [
        lambda: lower_bound(10, 5),
        lambda: sqrt_upper_bound(hg.Problem(hg.DiscreteWeibull(1.0), [0.5], [0.1]), 100.0, 10),
        lambda: sqrt_upper_bound(SAVED, B, T, (2.0, 1.0)),
        lambda: problem_independent_bound(3, 10, 0.5),
        lambda: discretisation_loss(3, -1.0, 0.1, 10),
    ],
)
def test_bad_input_is_refused(call: Any) -> None:
    with pytest.raises(HeadgateError):
        call()
