"""Fits: each arm's law, shape, rate and activation by maximum likelihood, and how good that is."""

from headgate.calibration.fitting.cautions import cautions
from headgate.calibration.fitting.choose import ArmFit, best_arms, fit_arms
from headgate.calibration.fitting.family import candidates
from headgate.calibration.fitting.fit import LawFit, fit_law
from headgate.calibration.fitting.goodness import Goodness, goodness
from headgate.calibration.fitting.points import Basis, Points, Times, basis_of, of_evidence, of_rows

__all__ = [
    "ArmFit",
    "Basis",
    "Goodness",
    "LawFit",
    "Points",
    "Times",
    "basis_of",
    "best_arms",
    "candidates",
    "cautions",
    "fit_arms",
    "fit_law",
    "goodness",
    "of_evidence",
    "of_rows",
]
