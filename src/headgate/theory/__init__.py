"""What theory says about regret: the paper's bounds, and the limit that information sets."""

from headgate.theory.assumptions import Assumption, Assumptions, check
from headgate.theory.bounds import (
    discretisation_loss,
    log_upper_bound,
    problem_independent_bound,
    rho,
    rho_bound,
    sqrt_upper_bound,
)
from headgate.theory.information import Information, fisher_information, information_limit
from headgate.theory.lower import HardFamily, hard_family, lower_bound
from headgate.theory.surrogate import SurrogateConstants, surrogate_constants

__all__ = [
    "Assumption",
    "Assumptions",
    "HardFamily",
    "Information",
    "SurrogateConstants",
    "check",
    "discretisation_loss",
    "fisher_information",
    "hard_family",
    "information_limit",
    "log_upper_bound",
    "lower_bound",
    "problem_independent_bound",
    "rho",
    "rho_bound",
    "sqrt_upper_bound",
    "surrogate_constants",
]
