"""The concave oracle against scipy's trust-constr, an interior method that knows nothing of water-filling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

import headgate as hg
from headgate.laws import Floats


@pytest.mark.parametrize("seed", range(5))
def test_trust_constr_finds_the_same_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight, rate, budget, shape = rng.uniform(0.2, 1.0, 5), rng.uniform(0.2, 2.0, 5), 6.0, 1.5
    law = hg.Lomax(shape)

    def lost(x: Floats) -> float:
        return -float(np.sum(weight * law.cdf(x, rate)))

    def slope(x: Floats) -> Floats:
        return -weight * law.pdf(x, rate)

    def bend(x: Floats) -> Floats:
        return np.diag(weight * law.pdf(x, rate) * rate * (shape + 1.0) / (1.0 + rate * x))

    found = optimize.minimize(
        lost,
        np.full(5, budget / 6.0),
        jac=slope,
        hess=bend,
        method="trust-constr",
        bounds=optimize.Bounds(np.zeros(5), np.full(5, budget)),
        constraints=optimize.LinearConstraint(np.ones(5), 0.0, budget),
        options={"gtol": 1e-10, "xtol": 1e-12, "maxiter": 2000},
    )
    ours = hg.solve(law, weight, rate, budget)
    assert ours.value >= -found.fun - 1e-9
    assert ours.value == pytest.approx(-found.fun, rel=1e-6)
    np.testing.assert_allclose(ours.x, found.x, atol=5e-3)
