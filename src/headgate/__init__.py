"""Headgate splits a limited budget between options, and learns from censored feedback.

An arm succeeds if it is active and its allocation reaches a random threshold. A problem is a law for the thresholds
with the activation and the rate of each arm; `solve` finds the best allocation and proves it. A policy knows neither
activation nor rate: it allocates, observes, and learns.

>>> import headgate as hg
>>> problem = hg.Problem(hg.Weibull(shape=1.6), activation=[0.9, 0.6, 0.3], rate=[0.2, 0.5, 0.1])
>>> best = problem.solve(budget=12.0)
>>> best.x.round(2)
array([8.19, 3.81, 0.  ])
>>> bool(best.gap <= 1e-9)
True
"""

from importlib.metadata import version

from headgate import datasets, errors, estimators, laws, theory
from headgate.estimators import Estimate
from headgate.evidence import Evidence
from headgate.feedback import Feedback
from headgate.laws import (
    Beta,
    DiscreteWeibull,
    Exponential,
    Gamma,
    HalfNormal,
    LogLogistic,
    LogNormal,
    Lomax,
    Maxwell,
    Nakagami,
    Rayleigh,
    Weibull,
    from_scipy,
)
from headgate.oracle import Allocation, solve
from headgate.policies import (
    CUCB,
    MARA,
    MGUCB,
    RAUCB,
    ExploreThenCommit,
    Greedy,
    Oracle,
    Policy,
    Thompson,
    Uniform,
    load_policy,
)
from headgate.problem import Problem, load_problem
from headgate.simulation import Replay, Result, simulate

__version__ = version("headgate")

__all__ = [
    "CUCB",
    "MARA",
    "MGUCB",
    "RAUCB",
    "Allocation",
    "Beta",
    "DiscreteWeibull",
    "Estimate",
    "Evidence",
    "ExploreThenCommit",
    "Exponential",
    "Feedback",
    "Gamma",
    "Greedy",
    "HalfNormal",
    "LogLogistic",
    "LogNormal",
    "Lomax",
    "Maxwell",
    "Nakagami",
    "Oracle",
    "Policy",
    "Problem",
    "Rayleigh",
    "Replay",
    "Result",
    "Thompson",
    "Uniform",
    "Weibull",
    "__version__",
    "datasets",
    "errors",
    "estimators",
    "from_scipy",
    "laws",
    "load_policy",
    "load_problem",
    "simulate",
    "solve",
    "theory",
]
