"""A semi-synthetic set of advertising campaigns, of our own making.

Criteo's attribution log may not be shipped, and no number here is taken from it. It has the form that the paper gives
its Criteo benchmark: 15 campaigns, discrete Weibull thresholds (impressions up to the first click), shapes on both
sides of 1, small activations, and users who come with a small whole number of impressions.
"""

from __future__ import annotations

import numpy as np

from headgate.laws import DiscreteWeibull
from headgate.problem import Problem

MAX_BUDGET = 40.0
"""The most impressions a user has."""
_MEAN_BUDGET = 12.0

# campaign, probability that the user clicks at all, discrete Weibull shape, typical number of impressions
_CAMPAIGNS = (
    ("c01", 0.42, 0.62, 3.1),
    ("c02", 0.08, 0.88, 1.6),
    ("c03", 0.31, 1.10, 5.2),
    ("c04", 0.17, 0.71, 2.2),
    ("c05", 0.55, 0.95, 9.5),
    ("c06", 0.05, 0.58, 4.4),
    ("c07", 0.24, 1.25, 3.6),
    ("c08", 0.12, 0.80, 1.3),
    ("c09", 0.37, 0.76, 6.8),
    ("c10", 0.20, 1.04, 2.7),
    ("c11", 0.47, 0.67, 12.0),
    ("c12", 0.10, 0.92, 7.4),
    ("c13", 0.28, 0.84, 1.9),
    ("c14", 0.15, 1.16, 4.9),
    ("c15", 0.34, 0.73, 4.0),
)


def campaigns() -> Problem:
    """Return 15 made-up campaigns: the budget is a user's impressions, a campaign wins its click if it gets enough.

    >>> campaigns().arms, campaigns().units
    (15, 'impressions')
    """
    names, activation, shape, typical = zip(*_CAMPAIGNS, strict=True)
    return Problem(
        DiscreteWeibull(shape=shape),
        activation=activation,
        rate=[1.0 / impressions for impressions in typical],
        names=names,
        units="impressions",
        provenance={"source": "semi-synthetic, made by Headgate; not Criteo's data", "licence": "MIT"},
    )


def user_budget(t: int, rng: np.random.Generator) -> float:  # noqa: ARG001  # users are alike, whenever they come
    """Draw how many impressions the next user has: geometric with mean 12, at most 40."""
    return float(min(rng.geometric(1.0 / _MEAN_BUDGET), MAX_BUDGET))
