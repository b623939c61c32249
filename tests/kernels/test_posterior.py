"""Thompson's posterior against the exact one: total variation of the success probability at five allocations.

Where the shape is known the reference is a grid over (l, logit p), from the raw history; where it is learned, 300,000
curves from the prior, weighted by their likelihood. 3,000 draws in ten classes of equal mass: their sampling error
alone is a total variation of .022 on average, and above .041 once in a thousand times.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import headgate as hg
from headgate.evidence import Evidence
from headgate.kernels.columns import ACTIVATION, DRAWN_B, DUE, RATE
from headgate.laws import Floats, Law
from headgate.policies.thompson import Thompson, ThompsonState

DRAWS = 3000
BUDGET = 40.0
AT = BUDGET * np.array([0.02, 0.1, 0.3, 0.6, 1.0])
# Rounds, least and largest allocation, activation and rate of a history.
CASES = {
    "nothing": (0, 1.0, 2.0, 0.5, 1.0),
    "few": (6, 2.0, 12.0, 0.6, 0.15),
    "some": (60, 2.0, 12.0, 0.6, 0.15),
    "many": (1500, 2.0, 12.0, 0.6, 0.15),
    "a ridge": (300, 1.0, 3.0, 0.9, 0.08),
    "a long ridge": (2000, 0.5, 1.0, 0.9, 0.08),
    "failures": (200, 0.5, 2.0, 1e-9, 0.15),
    "failures of much": (50, 5.0, 40.0, 1e-9, 0.15),
    "successes": (40, 30.0, 40.0, 1.0, 1.5),
    "tiny": (100, 1e-3, 4e-3, 0.9, 400.0),
    "tiny failures": (100, 1e-3, 4e-3, 0.9, 0.1),
    "huge": (100, 35.0, 40.0, 0.5, 0.05),
}


def history(law: Law, case: str) -> tuple[Floats, Floats]:
    """Allocations, and thresholds of successes (NaN on failure)."""
    count, low, high, activation, rate = CASES[case]
    rng = np.random.default_rng(0)
    x, threshold = rng.uniform(low, high, count), law.sample(np.full(count, rate), rng)
    return x, np.where((rng.random(count) < activation) & (threshold <= x), threshold, np.nan)


def drawn(law: Law, x: Floats, threshold: Floats) -> tuple[Floats, Floats]:
    """The hyperprior, and draws of many learners that have all seen the same and pool nothing."""
    policy = Thompson(law, 1, BUDGET, seed=np.arange(DRAWS), calm=np.inf)
    state: ThompsonState = policy.state
    if x.size:
        rows = Evidence.of_rows(np.zeros(x.size, int), x, threshold > 0.0, threshold, arms=1, max_budget=BUDGET)
        state.evidence.bins[:] = rows.bins
    draw = np.empty(0)
    for _ in range(6):  # a population needs a few refreshes to arrive
        state.memory[..., DUE], state.prior[:] = 0.0, policy._hyperprior
        draw = policy.draw(state)
        state.round += 1
    return policy._hyperprior, draw[:, 0]


def total_variation(exact: Floats, weight: Floats, draws: Floats) -> float:
    """Between weighted values and draws, by classes that hold a tenth of the exact mass each."""
    order = np.argsort(exact)
    below = np.cumsum(weight[order])
    ends = np.unique(exact[order][np.searchsorted(below, np.arange(0.1, 0.95, 0.1))])
    mass = np.diff(np.concatenate([[0.0], np.interp(ends, exact[order], below), [1.0]]))
    share = np.bincount(np.searchsorted(ends, draws), minlength=ends.size + 1) / draws.size
    return float(0.5 * np.abs(share - mass).sum())


def weights_of(law: Law, rate: Floats, p: Floats, x: Floats, threshold: Floats) -> Floats:
    """Log likelihood of the raw history; rate and p have a last axis of one."""
    won = threshold > 0.0
    with np.errstate(all="ignore"):
        failed = np.log(np.maximum(1.0 - p * law.cdf(x[~won], rate), 1e-300)).sum(axis=-1)
        return np.asarray(failed + (np.log(p) + law.log_pdf(threshold[won], rate)).sum(axis=-1))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("law", [hg.Exponential(), hg.Weibull(3.0)], ids=lambda law: law.name)
def test_draws_of_a_known_shape_are_the_exact_posterior(law: Law, case: str) -> None:
    x, threshold = history(law, case)
    prior, draw = drawn(law, x, threshold)
    median = float(law.quantile(0.5, 1.0))
    axes = [prior[0, c] + 12.0 * np.sqrt(prior[1, c]) * np.linspace(-1.0, 1.0, 161) for c in range(2)]
    for _ in range(3):  # narrow the grid to where the mass is
        l, t = np.meshgrid(*axes, indexing="ij")
        rate, p = np.asarray(median / np.exp(l)), np.asarray(special.expit(t))
        log_w = np.array([weights_of(law, r[:, None], q[:, None], x, threshold) for r, q in zip(rate, p, strict=True)])
        log_w -= 0.5 * ((l - prior[0, 0]) ** 2 / prior[1, 0] + (t - prior[0, 1]) ** 2 / prior[1, 1])
        weight = np.exp(log_w - log_w.max())
        weight /= weight.sum()
        for c in range(2):
            inside = np.flatnonzero(weight.sum(axis=1 - c) > 1e-8)
            axes[c] = np.linspace(axes[c][max(inside[0] - 1, 0)], axes[c][min(inside[-1] + 1, 160)], 161)
    chance = np.array([law.cdf(a, draw[:, RATE]) * draw[:, ACTIVATION] for a in AT])
    far = [total_variation((law.cdf(a, rate) * p).ravel(), weight.ravel(), c) for a, c in zip(AT, chance, strict=True)]
    assert max(far) < 0.1, np.round(far, 3)


@pytest.mark.parametrize("case", ["nothing", "few", "some", "a ridge", "failures", "failures of much", "tiny failures"])
def test_draws_of_a_learned_shape_are_the_exact_posterior(case: str) -> None:
    law = hg.Weibull("learn")
    x, threshold = history(hg.Weibull(2.0), case)
    prior, draw = drawn(law, x, threshold)
    rng = np.random.default_rng(1)
    l, t, s = (rng.normal(prior[0, c], np.sqrt(prior[1, c]), 300_000) for c in range(3))
    shape = (np.log(np.log(4.0)) - np.log(np.log(4.0 / 3.0))) / np.exp(s)
    inside = (shape > 0.05) & (shape < 20.0)
    l, t, shape = l[inside], t[inside], shape[inside]
    rate, p = np.log(2.0) ** (1.0 / shape) / np.exp(l), special.expit(t)

    def cdf(at: Floats) -> Floats:
        return np.asarray(-np.expm1(-((rate * at) ** shape)))

    won, log_w = threshold > 0.0, np.zeros(l.size)
    with np.errstate(all="ignore"):
        for amount in x[~won]:
            log_w += np.log1p(-p * cdf(amount))
        for seen in threshold[won]:
            log_w += np.log(p * shape * rate) + (shape - 1.0) * np.log(rate * seen) - (rate * seen) ** shape
    weight = np.exp(log_w - log_w.max())
    weight /= weight.sum()
    chance = -np.expm1(-((draw[:, RATE] * AT[:, None]) ** draw[:, DRAWN_B])) * draw[:, ACTIVATION]
    far = [total_variation(cdf(a) * p, weight, c) for a, c in zip(AT, chance, strict=True)]
    assert max(far) < 0.1, np.round(far, 3)
