"""Belief checked against what is seen: where an arm's most likely curve expects other successes than came.

Two comparisons, in half octaves of the amount. By threshold: successes whose threshold lies in the region, against the
hazard that rounds have passed through there (`hazards`), a Poisson number. By allocation: successes of the rounds that
were given so much, against sum of p G(x), at most a binomial number. The curve is the most likely one, fitted to the
same evidence, so that chance deviations are smaller than these laws say: a warning is rarer than its level, not more
frequent.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate.estimators.hazards import STARTS, hazards
from headgate.evidence import Evidence
from headgate.laws import Floats
from headgate.laws.standard import Standard

LEVEL = 0.01
"""The chance that evidence of the believed laws gets any warning at all (Bonferroni over arms and regions)."""


class Misfit(NamedTuple):
    """A region of amounts in which an arm does not do what its curve says."""

    arm: int | tuple[int, ...]
    """The arm's number; in a batch, the learner's index and then the arm's."""
    by: Literal["threshold", "allocation"]
    low: float
    high: float
    """The region of thresholds, or of allocations, in units of the budget."""
    seen: float
    expected: float
    chance: float
    """Of so many or more (so few or fewer) successes, if the curve were right."""

    def __str__(self) -> str:
        what = {"threshold": "with a threshold", "allocation": "at allocations"}[self.by]
        return (
            f"arm {self.arm} does not follow its law: {self.seen:.0f} successes {what} of {self.low:.4g} to "
            f"{self.high:.4g}, where {self.expected:.1f} are expected (chance {self.chance:.1g})"
        )


def misfits(
    form: Standard, whole: NDArray[np.bool_], rate: Floats, activation: Floats, evidence: Evidence, level: float = LEVEL
) -> tuple[Misfit, ...]:
    """Return the regions that contradict the curves `activation` times G(., rate), (..., K), the worst one first."""
    comparison = hazards(form, whole, rate, activation, evidence)
    played, failed = evidence.counts("played"), evidence.counts("failed")
    tried, won = (np.add.reduceat(v, STARTS, axis=-1) for v in (played, played - failed))
    with np.errstate(all="ignore"):
        by_threshold = tail(comparison.observed, comparison.expected, np.inf)
        by_allocation = tail(won, comparison.expected_by_allocation, tried)
    cut = level / (2.0 * by_threshold.size)
    edges = np.append(evidence.edges[STARTS], evidence.max_budget)
    kinds: tuple[tuple[Literal["threshold", "allocation"], Floats, Floats, Floats], ...] = (
        ("threshold", by_threshold, comparison.observed, comparison.expected),
        ("allocation", by_allocation, won, comparison.expected_by_allocation),
    )
    result = []
    for by, chance, observed, expected in kinds:
        for index in zip(*np.nonzero(chance < cut), strict=True):
            *row, arm, region = (int(i) for i in index)
            low, high = float(edges[region]), float(edges[region + 1])
            where = (*row, arm) if row else arm
            result.append(
                Misfit(where, by, low, high, float(observed[index]), float(expected[index]), float(chance[index]))
            )
    return tuple(sorted(result, key=lambda misfit: misfit.chance))


def tail(observed: Floats, expected: Floats, tried: Floats | float) -> Floats:
    """Twice the smaller tail of a binomial number of `tried` rounds; of a Poisson number if they are infinite."""
    many, few = np.ceil(observed - 1e-9), np.floor(observed + 1e-9)
    if np.ndim(tried) == 0:
        above, below = special.gammainc(np.maximum(many, 1e-300), expected), special.gammaincc(few + 1.0, expected)
        return np.asarray(np.minimum(2.0 * np.minimum(np.where(many > 0.0, above, 1.0), below), 1.0))
    tries = np.maximum(np.round(tried), 1.0)
    share = np.clip(expected / np.maximum(tried, 1e-300), 0.0, 1.0)
    above = np.where(
        many > 0.0, special.betainc(np.maximum(many, 1.0), np.maximum(tries - many + 1.0, 1.0), share), 1.0
    )
    below = np.where(few < tries, special.betainc(np.maximum(tries - few, 1.0), few + 1.0, 1.0 - share), 1.0)
    return np.where(np.asarray(tried) > 0.0, np.minimum(2.0 * np.minimum(above, below), 1.0), 1.0)
