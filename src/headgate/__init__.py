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

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

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
from headgate.registry import register
from headgate.simulation import Replay, Result, simulate

if TYPE_CHECKING:
    from headgate.calibration.calibrate import calibrate as calibrate
    from headgate.calibration.reading import read_log as read_log
    from headgate.client import AsyncClient as AsyncClient
    from headgate.client import Client as Client

__version__ = version("headgate")

# Names that need an extra, imported when they are first used.
_LATER = {
    "AsyncClient": "headgate.client",
    "Client": "headgate.client",
    "calibrate": "headgate.calibration.calibrate",
    "read_log": "headgate.calibration.reading",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'headgate' has no attribute {name!r}")


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
    "register",
    "simulate",
    "solve",
    "theory",
]
