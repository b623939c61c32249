"""What theory says about regret: the paper's bounds, and the limit that information sets."""

from headgate.theory.bounds import (
    discretisation_loss,
    log_upper_bound,
    lower_bound,
    problem_independent_bound,
    rho,
    rho_bound,
    sqrt_upper_bound,
)
from headgate.theory.information import Information, fisher_information, information_limit

__all__ = [
    "Information",
    "discretisation_loss",
    "fisher_information",
    "information_limit",
    "log_upper_bound",
    "lower_bound",
    "problem_independent_bound",
    "rho",
    "rho_bound",
    "sqrt_upper_bound",
]
