"""A net under the law: where what is seen contradicts an arm's curve, its hazard is corrected region by region.

The cumulative hazard H of a drawn curve is multiplied by a ratio r_k in each half octave k of the amount. With the
prior r_k ~ Gamma(alpha, alpha), d_k successes seen in the region and E_k expected (`headgate.estimators.hazards`),

    r_k | evidence ~ Gamma(alpha + d_k, alpha + E_k).

Each arm has an alpha of its own, one of a few; infinity, which corrects nothing, has the prior probability .8, and how
often the others are needed is pooled over arms. The net is used for an arm while infinity is less probable than 1 in 5:
it costs next to nothing where the law fits. Kalbfleisch (1978) has gamma ratios of hazards; Gelfand and Mallick (1995)
this form.
"""

from __future__ import annotations

import numpy as np

from headgate.estimators.hazards import ALPHAS, STARTS, Hazards
from headgate.kernels.bins import BINS
from headgate.laws import Floats

# Of the prior, what each of ALPHAS and infinity has.
PRIOR = np.array([0.04, 0.04, 0.04, 0.04, 0.04, 0.8])
_WORTH = 5.0  # arms that the prior of alpha is worth
_FIRST, _OFTEN = 32, 4  # a check every 32 rounds, later four to a doubling of the rounds
_DOUBT = 0.2  # an arm is in the net while infinity is less probable than this
_LEAST = 0.02  # the least cube root of a drawn ratio, relative to its mean


def due(clock: int) -> bool:
    """Whether the curves are compared with the evidence before this round."""
    return clock > 0 and clock % max(_FIRST, (1 << (clock.bit_length() - 1)) // _OFTEN) == 0


def choose(comparison: Hazards, shares: Floats) -> tuple[Floats, Floats]:
    """Return each arm's alpha, (..., K), and the pooled shares of alphas, (..., 6), from those before."""
    unchanged = np.zeros((*comparison.gain.shape[:-1], 1))
    gain = np.concatenate([comparison.gain, unchanged], axis=-1) + np.log(shares)[..., None, :]
    chance = np.exp(gain - gain.max(axis=-1, keepdims=True))
    chance /= chance.sum(axis=-1, keepdims=True)
    arms = chance.shape[-2]
    pooled = (chance.sum(axis=-2) + _WORTH * PRIOR) / (arms + _WORTH)
    finite = ALPHAS[np.argmax(chance[..., :-1], axis=-1)]
    return np.where(chance[..., -1] < _DOUBT, finite, np.inf), pooled


def corrected(comparison: Hazards, alpha: Floats, noise: Floats) -> Floats:
    """Return 1 - exp(-corrected H) at the bins' edges, (..., K, 130); `noise` ~ N(0, 1) is (..., K, 33).

    Ratios are drawn by Wilson and Hilferty's cube. Where alpha is infinite the curve stays as it is.
    """
    loose = np.isfinite(alpha)[..., None]
    weight = np.where(loose, alpha[..., None], 1.0)
    count = weight + comparison.observed
    cube = np.maximum(1.0 - 1.0 / (9.0 * count) + noise / (3.0 * np.sqrt(count)), _LEAST) ** 3
    ratio = np.where(loose, count / (weight + comparison.expected) * cube, 1.0)
    by_bin = np.repeat(ratio, np.diff(np.append(STARTS, BINS)), axis=-1)
    total = np.cumsum(np.diff(comparison.cumulative, axis=-1) * by_bin, axis=-1)
    return np.concatenate([np.zeros_like(total[..., :1]), -np.expm1(-total)], axis=-1)
