"""Estimators: from evidence to activation and rate."""

from headgate.estimators.estimate import Estimate
from headgate.estimators.fit import Fit, maximum, weak_prior
from headgate.estimators.intervals import Peak, likelihood, most_likely
from headgate.estimators.truncated_mean import corrected_rate, paper_activation, paper_rate, seen_mean

__all__ = [
    "Estimate",
    "Fit",
    "Peak",
    "corrected_rate",
    "likelihood",
    "maximum",
    "most_likely",
    "paper_activation",
    "paper_rate",
    "seen_mean",
    "weak_prior",
]
