"""A net under a regression's law: where all that an arm has shown contradicts what is believed of it, that counts.

Evidence is kept by arm, without features. So it is compared with the mean of the arm's curves over features: predictors
are normal around those at the mean features, with the covariance that slopes give them. By half octaves of the amount,
d successes of N rounds that passed through are compared with N h, what the mean curve's hazard h lets expect. Where
they are twice or half as many, and by chance only once in a hundred times (`headgate.estimators.belief`), the arm is
doubted, and the hazard of a drawn curve, h' in a region, is replaced by

    (h' / h) (d + 3 h) / (N + 3),

what was counted, with features telling as much as before: h' / h is held within 1/5 and 5. Smaller differences are left
alone, for the mean over features is not exact: allocations follow features too. Arms that come once have no evidence of
their own, and no net: there law="auto" is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate.estimators.belief import LEVEL, tail
from headgate.estimators.hazards import STARTS
from headgate.evidence import Evidence
from headgate.kernels.bins import BINS
from headgate.laws import Floats

_NODES = special.ndtri((np.arange(9)[:, None] * np.array([0.8191725, 0.6710436, 0.5497005]) + 0.5) % 1.0)
_TIMES = 2.0  # the factor by which successes must be off before a law is doubted
_WORTH = 3.0  # rounds that the law's hazard counts for where it is doubted
_REACH = 5.0  # the largest factor by which features may change a counted hazard
_LENGTHS = np.diff(np.append(STARTS, BINS))


class Counted(NamedTuple):
    """What evidence shows of each arm, by region of the amount: (K, 33) each."""

    won: Floats
    tried: Floats
    """Rounds that passed through the region, in parts."""
    hazard: Floats
    """Of the mean curve."""
    chance: Floats
    """Of so many successes or more (so few or fewer), a Poisson number of mean N h."""
    doubted: NDArray[np.bool_]
    """(K,)."""


def over_features(middle: Floats, slopes: Floats) -> Floats:
    """Return predictors over features, (9, K, C), from those at their mean (K, C) and slopes (K, C, d)."""
    variance, axes = np.linalg.eigh(slopes @ slopes.transpose(0, 2, 1))
    root = axes * np.sqrt(np.maximum(variance, 0.0))[:, None, :]
    return np.asarray(middle + np.einsum("kce,ie->ikc", root, _NODES[:, : middle.shape[1]]))


def ends_of(evidence: Evidence) -> Floats:
    """Return the regions' ends, from 0 to the largest budget: (34,)."""
    return np.append(evidence.edges[STARTS], evidence.max_budget)


def hazards_of(chance: Floats) -> Floats:
    """Return the hazard by region of curves at the regions' ends, (..., 34): (..., 33)."""
    total = -np.log1p(-np.clip(chance, 0.0, 1.0 - 1e-12))
    return np.asarray(np.maximum(np.diff(total, axis=-1), 0.0))


def counted(chance: Floats, evidence: Evidence, index: tuple[int, ...]) -> Counted:
    """Compare one learner's evidence with mean curves at the regions' ends, (K, 34)."""
    hazard, edges = hazards_of(chance), np.append(evidence.edges, evidence.max_budget)
    won, passed = evidence.counts("seen")[index].copy(), np.zeros((len(chance), BINS))
    for kind in ("failed", "seen"):
        count, mean = evidence.counts(kind)[index], evidence.means(kind)[index]
        inside = np.clip((mean - edges[:-1]) / np.diff(edges), 0.0, 1.0)
        passed += np.cumsum(count[:, ::-1], axis=-1)[:, ::-1] - count * (1.0 - inside)
    for arm, cell in np.argwhere(evidence.counts("reached")[index] > 0.0):  # thresholds not told: as the curve has them
        share = np.repeat(np.diff(chance[arm]) / _LENGTHS, _LENGTHS)[: cell + 1]
        share = evidence.counts("reached")[index][arm, cell] * share / max(share.sum(), 1e-300)
        won[arm, : cell + 1] += share
        passed[arm, : cell + 1] += np.cumsum(share[::-1])[::-1] - 0.5 * share
    d, tried = np.add.reduceat(won, STARTS, axis=-1), np.add.reduceat(passed, STARTS, axis=-1) / _LENGTHS
    expected = tried * hazard
    with np.errstate(all="ignore"):
        chance_of = tail(d, expected, np.inf)
    off = (d > _TIMES * expected) | (d * _TIMES < expected)
    wrong = off & (chance_of < LEVEL / d.size)
    return Counted(d, tried, hazard, chance_of, np.asarray(wrong.any(axis=-1)))


def corrected(chance: Floats, counts: Counted) -> Floats:
    """Return drawn curves at the regions' ends, (n, 34), those of doubted arms corrected."""
    drawn = hazards_of(chance)
    with np.errstate(divide="ignore", invalid="ignore"):
        features = np.nan_to_num(drawn / counts.hazard, nan=1.0, posinf=_REACH)
    as_counted = (counts.won + _WORTH * counts.hazard) / (counts.tried + _WORTH)
    hazard = np.where(counts.doubted[:, None], np.clip(features, 1.0 / _REACH, _REACH) * as_counted, drawn)
    return np.concatenate([np.zeros((len(chance), 1)), -np.expm1(-np.cumsum(hazard, axis=-1))], axis=-1)
