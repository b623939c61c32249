"""Hazards array by array, as the formulas of `headgate.estimators.hazards` have them: slow, to compare the kernel with.

An arm that has had x without success is at the risk of its hazard: H(x) = -log(1 - p G(x)) is the cumulative one. A
round ends at its threshold, or at its allocation if it failed. Of all rounds, a region of amounts sees as many
successes as ended there, and expects the sum of H over what each round passed through of it. Seen less expected is a
martingale, whatever the allocations depended on, with the expected number as its variance (Aalen, 1978). Successes that
did not tell their threshold are spread as the curve has it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate.estimators.hazards import STARTS
from headgate.evidence import Evidence
from headgate.kernels.bins import BINS
from headgate.laws import Floats
from headgate.laws.standard import Base, Standard

_MOST = 1.0 - 1e-12  # of p G: a hazard beyond is not told apart from infinity
_LARGE = 650.0
_NEWTON = 12


def reached(form: Standard, whole: NDArray[np.bool_], rate: Floats, x: Floats) -> Floats:
    """Return G(x), (..., K, n), of curves (..., K); arms that count in whole units see whole amounts."""
    amount = np.where(whole[..., None], np.floor(x), x)
    cap = np.broadcast_to(form.cap, rate.shape)[..., None]
    with np.errstate(all="ignore"):
        phi = np.where(cap < np.inf, -np.log1p(-np.minimum(amount / cap, 1.0)), amount)
        u = np.log(phi) + (np.log(rate) + form.shift)[..., None]
        base, a, b = (np.broadcast_to(v[..., None], u.shape) for v in np.broadcast_arrays(form.base, form.a, form.b))
        result = np.empty(u.shape)
        for kind, curve in (
            (Base.GAMMA, _gamma),
            (Base.BURR, lambda a, v: -np.expm1(-a * np.logaddexp(0.0, v))),
            (Base.NORMAL, lambda _, v: special.ndtr(v)),
        ):
            who = base == kind
            if who.any():
                result[who] = curve(a[who], b[who] * u[who])
    rows = np.broadcast_to(form.a, rate.shape)
    for arm in zip(*np.nonzero(np.broadcast_to(form.base, rate.shape) == Base.TABLE), strict=True):
        table = form.table[int(rows[arm])]
        result[arm] = np.interp(u[arm], table[0], table[1])
    return result


def _gamma(a: Floats, v: Floats) -> Floats:
    """The incomplete gamma function at exp(v); of a = 1, Weibull's, in closed form, which is many times faster."""
    z = np.exp(np.minimum(v, _LARGE))
    result, others = -np.expm1(-z), a != 1.0
    if others.any():
        result[others] = special.gammainc(a[others], z[others])
    return np.asarray(result)


def hazards(
    form: Standard, whole: NDArray[np.bool_], rate: Floats, activation: Floats, evidence: Evidence
) -> tuple[Floats, Floats, Floats]:
    """Return successes by region, seen and expected, (..., K, 33), and H at the bins' edges, (..., K, 130)."""
    edges = np.append(evidence.edges, evidence.max_budget)
    # What ends in a bin of whole amounts is at least its lower edge: its hazard begins below.
    below = np.where(whole[:, None] & (np.arange(BINS + 1) < BINS), np.ceil(edges) - 1.0, edges)
    below = np.broadcast_to(np.maximum(below, 0.0), (*rate.shape, BINS + 1))
    p, seen, failed = activation[..., None], evidence.counts("seen"), evidence.counts("failed")
    thresholds, amounts = (np.broadcast_to(evidence.means(kind), seen.shape) for kind in ("seen", "failed"))
    # All amounts at once: for a single learner the number of calls is what this costs.
    at = p * reached(form, whole, rate, np.concatenate([below, thresholds, amounts], axis=-1))
    chance = np.maximum.accumulate(at[..., : BINS + 1], axis=-1)
    at_thresholds, at_amounts = at[..., BINS + 1 : 2 * BINS + 1], at[..., 2 * BINS + 1 :]
    cumulative = _hazard(chance)
    steps = _expected(whole, below[..., :-1], below[..., 1:], np.diff(cumulative, axis=-1))
    silent = evidence.counts("reached")
    if silent.any():
        told = p * reached(form, whole, rate, np.where(silent > 0.0, evidence.means("reached"), evidence.max_budget))
        share = silent / np.maximum(told, 1e-300)
        spread = np.diff(chance, axis=-1) * np.cumsum(share[..., ::-1], axis=-1)[..., ::-1]
        total = np.maximum(spread.sum(axis=-1, keepdims=True), 1e-300)
        seen = seen + spread * (silent.sum(axis=-1, keepdims=True) / total)
    ended = seen + failed
    expected = steps * (np.cumsum(ended[..., ::-1], axis=-1)[..., ::-1] - ended)
    for kind, counts, where, there in (
        ("seen", seen, thresholds, at_thresholds),
        ("failed", failed, amounts, at_amounts),
    ):
        inside = _hazard(there) - cumulative[..., :-1]
        inside = _expected(whole, below[..., :-1], np.floor(where), inside)
        known = evidence.counts(kind) > 0.0
        expected = expected + counts * np.where(known, np.clip(inside, 0.0, steps), 0.5 * steps)
    by_region, hoped = (np.add.reduceat(v, STARTS, axis=-1) for v in (seen, expected))
    return by_region, hoped, cumulative


def _expected(whole: NDArray[np.bool_], low: Floats, high: Floats, hazard: Floats) -> Floats:
    """Successes that a round expects which passes from low to high: the hazard; less, where it comes in whole steps."""
    if not whole.any():
        return hazard
    steps = np.maximum(high - low, 1.0)
    return np.where(whole[:, None], -steps * np.expm1(-np.maximum(hazard, 0.0) / steps), hazard)


def likeliest_activation(form: Standard, whole: NDArray[np.bool_], rate: Floats, evidence: Evidence) -> Floats:
    """Return the activation of the largest likelihood, (..., K), for curves that are given.

    The root of n = sum over failures of p G / (1 - p G): what is left falls ever faster in p, so Newton's method.
    """
    failed, won = evidence.counts("failed"), evidence.successes
    at = reached(form, whole, rate, np.where(failed > 0.0, evidence.means("failed"), 0.0))
    p = np.clip(won / np.maximum(won + np.sum(failed * at, axis=-1), 1e-300), 1e-12, 1.0 - 1e-9)
    for _ in range(_NEWTON):
        left = np.maximum(1.0 - p[..., None] * at, 1e-12)
        excess = won - np.sum(failed * p[..., None] * at / left, axis=-1)
        p_next = p + excess / np.maximum(np.sum(failed * at / left**2, axis=-1), 1e-300)
        p = np.where(p_next >= 1.0, 0.5 * (1.0 + p), np.maximum(p_next, 0.1 * p))
    return np.asarray(p)


def _hazard(chance: Floats) -> Floats:
    return np.asarray(-np.log1p(-np.minimum(chance, _MOST)))


def gains(seen: Floats, expected: Floats, alphas: Floats) -> Floats:
    """Return what ratios ~ Gamma(alpha, alpha) of the hazard add to the log marginal likelihood: (..., K, alphas)."""
    alpha, d, e = alphas[:, None], seen[..., None, :], expected[..., None, :]
    gain = special.gammaln(alpha + d) - special.gammaln(alpha) + alpha * np.log(alpha)
    return np.asarray(np.sum(gain - (alpha + d) * np.log(alpha + e) + e, axis=-1))
