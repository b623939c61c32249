"""The cure model's maximum equals SciPy's on the raw likelihood, for every law."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from headgate.estimators import Fit, likelihood, maximum
from headgate.evidence import Evidence, bin_edges
from headgate.kernels import cure
from headgate.kernels.curves import COLUMNS, fill_row
from headgate.laws import (
    Beta,
    Exponential,
    Floats,
    Law,
    PerArm,
    Weibull,
    from_scipy,
)
from headgate.oracle import standard_form
from tests.laws.every import every_law

from . import references
from .references import History

LIMIT = 11.5
LAWS: list[tuple[Law, float]] = [
    *((law, float(law.rate_of_quantile(3.5, 0.5))) for law in every_law(0.7, 1.7, end=12.0)),
    (Weibull(shape=9.0), 0.2),
    (Beta(c=6.2), 1.5),  # some allocations exceed the largest threshold
    (from_scipy("invgauss", mu=0.5), 0.2),
]


def one_value_per_bin(values: Floats) -> Floats:
    """Move each value to its bin's middle, so that bins lose nothing and the raw likelihood is the binned one."""
    edges = bin_edges(LIMIT)
    j = np.clip(np.searchsorted(edges, values, side="right") - 1, 1, None)
    return np.asarray(edges[j] * 2.0 ** (1 / 16))


def history_of(law: Law, rate: float, seed: int = 0, rounds: int = 1500) -> History:
    rng = np.random.default_rng(seed)
    if law.integer:  # whole numbers up to 11 have a bin each
        return references.play(law, 0.6, rate, rng.integers(1, 12, rounds).astype(float), rng)
    x = one_value_per_bin(rng.uniform(0.5, 10.5, rounds))
    played = references.play(law, 0.6, rate, x, rng)
    return History(x, played.success, np.minimum(one_value_per_bin(played.threshold), x))


def flat_fit(law: Law, evidence: Evidence, start: Floats | None = None, steps: int = 60) -> Fit:
    """Without any prior."""
    flat = np.zeros((*evidence.batch, evidence.arms, 4))
    return maximum(standard_form(law, evidence.arms), law.whole_arms(evidence.arms), evidence, flat, start, steps=steps)


@pytest.mark.parametrize(("law", "rate"), LAWS, ids=lambda v: str(v) if isinstance(v, Law) else "")
def test_maximum_equals_scipy_on_the_raw_likelihood(law: Law, rate: float) -> None:
    history = history_of(law, rate)
    expected = references.maximum(law, history, np.array([np.log(rate), 0.4]))
    found = flat_fit(law, history.evidence(LIMIT)).theta[0]
    assert found == pytest.approx(expected, abs=3e-5)  # thresholds and allocations are kept to 2^-20
    # The weak prior of `likelihood` is worth a small part of a success.
    estimate = likelihood(law, history.evidence(LIMIT))
    assert np.log(estimate.rate[0]) == pytest.approx(expected[0], abs=0.1 * np.ptp(np.log(estimate.rate_interval)))


def test_arms_with_different_laws_are_fitted_each_by_its_own() -> None:
    histories = [history_of(law, rate, seed) for seed, (law, rate) in enumerate(LAWS)]
    joined = Evidence.of_rows(
        np.repeat(np.arange(len(LAWS)), [h.x.size for h in histories]),
        *(np.concatenate([h[c] for h in histories]) for c in range(3)),
        max_budget=LIMIT,
    )
    together = flat_fit(PerArm(tuple(law for law, _ in LAWS)), joined)
    for arm, (law, _) in enumerate(LAWS):
        alone = flat_fit(law, histories[arm].evidence(LIMIT))
        assert np.array_equal(together.theta[arm], alone.theta[0])
        assert np.array_equal(together.hessian[arm], alone.hessian[0])


def test_a_batch_row_equals_a_single_fit() -> None:
    rng = np.random.default_rng(4)
    evidence = Evidence.empty(2, LIMIT, (3,))
    evidence.bins[:] = [
        [history_of(Exponential(), 0.1 + rng.random(), int(rng.integers(99))).evidence(LIMIT).bins[0] for _ in "ab"]
        for _ in range(3)
    ]
    batch = flat_fit(Exponential(), evidence)
    for r in range(3):
        single = flat_fit(Exponential(), Evidence(LIMIT, evidence.bins[r], evidence.edges))
        assert np.array_equal(batch.theta[r], single.theta)


def compiled(law: Law, evidence: Evidence, theta: Floats) -> tuple[float, Floats]:
    """Value, and gradient with Hessian (11, 12, 22), of the kernel, without a prior."""
    form, row, out = standard_form(law, 1), np.empty(COLUMNS), np.empty(5)
    fill_row(row, form.base[0], form.a[0], form.b[0], form.shift[0], form.cap[0], 1.0, 0.0)
    value = cure.log_likelihood(row, form.table, law.integer, evidence.bins[0], evidence.edges, np.zeros(4), theta, out)
    return float(value), out


@pytest.mark.parametrize(("law", "rate"), LAWS, ids=lambda v: str(v) if isinstance(v, Law) else "")
@pytest.mark.parametrize("off", [(0.0, 0.0), (0.8, -1.5), (-1.2, 2.5)])
def test_value_and_derivatives_equal_differences_of_the_reference(
    law: Law, rate: float, off: tuple[float, float]
) -> None:
    history = history_of(law, rate, seed=2, rounds=300)
    evidence = history.evidence(LIMIT)
    theta, h = np.array([np.log(rate), 0.4]) + off, 1e-4
    unit = np.eye(2) * h

    def reference(at: Floats) -> float:
        return references.log_likelihood(law, history, at)

    value, out = compiled(law, evidence, theta)
    elsewhere, _ = compiled(law, evidence, theta + 0.1)  # a constant, the Jacobian of log phi, is left out
    assert elsewhere - value == pytest.approx(reference(theta + 0.1) - reference(theta), abs=2e-3, rel=2e-5)
    slopes = [(reference(theta + e) - reference(theta - e)) / (2 * h) for e in unit]
    assert out[:2] == pytest.approx(slopes, rel=1e-4, abs=2e-2)
    ahead, behind = (compiled(law, evidence, theta + sign * unit[0])[1] for sign in (1.0, -1.0))
    other = (compiled(law, evidence, theta + unit[1])[1][1] - compiled(law, evidence, theta - unit[1])[1][1]) / (2 * h)
    bends = [*(ahead[:2] - behind[:2]) / (2 * h), other]
    assert out[2:] == pytest.approx(bends, rel=2e-3, abs=2e-2)


@pytest.mark.parametrize("shape", [1.0, 1.6])
@pytest.mark.parametrize("theta", [(-1.0, 0.5), (-9.0, 3.0), (3.0, -4.0), (0.5, 20.0)])
def test_digits_against_mpmath(shape: float, theta: tuple[float, float]) -> None:
    """Tiny and huge rates, activations next to 0 and 1."""
    x, seen = one_value_per_bin(np.array([0.01, 0.7, 3.0, 9.0])), one_value_per_bin(np.array([0.2, 5.0]))
    history = History(np.concatenate([x, [10.0, 10.0]]), np.arange(6) > 3, np.concatenate([np.full(4, np.nan), seen]))
    evidence = history.evidence(LIMIT)
    # The values as they are kept.
    x = np.sort(evidence.means("failed")[0][evidence.counts("failed")[0] > 0])
    seen = np.sort(evidence.means("seen")[0][evidence.counts("seen")[0] > 0])

    def exact(log_rate: mp.mpf, logit: mp.mpf) -> mp.mpf:
        p, rate = 1 / (1 + mp.exp(-logit)), mp.exp(log_rate)
        lost = sum(mp.log(1 - p + p * mp.exp(-((rate * mp.mpf(v)) ** shape))) for v in x)
        log_z = [shape * mp.log(rate * mp.mpf(v)) for v in seen]
        return lost + sum(mp.log(p) + mp.log(shape) + z - mp.exp(z) for z in log_z)

    value, out = compiled(Weibull(shape=shape), evidence, np.array(theta))
    with mp.workdps(60):
        assert value == pytest.approx(float(exact(*map(mp.mpf, theta))), rel=1e-12)
        orders = ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
        expected = [float(mp.diff(exact, tuple(map(mp.mpf, theta)), order)) for order in orders]
    assert out == pytest.approx(expected, rel=1e-9, abs=1e-14)
