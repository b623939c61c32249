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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headgate import datasets, errors, estimators, laws, theory
    from headgate.calibration import calibrate
    from headgate.calibration.calibration import Calibration
    from headgate.calibration.log import Log
    from headgate.calibration.reading import read_log
    from headgate.client import AsyncClient, Client
    from headgate.edge import AsyncEdge, Edge
    from headgate.estimators import Estimate
    from headgate.evidence import Evidence
    from headgate.features import Features
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
        OneOf,
        Rayleigh,
        Weibull,
        from_scipy,
    )
    from headgate.live import LiveRound
    from headgate.oracle import Allocation
    from headgate.oracle.best import solve
    from headgate.oracle.curves import solve_curves
    from headgate.oracle.plan import Plan
    from headgate.policies import (
        CUCB,
        LRUCB,
        MARA,
        MGUCB,
        RAUCB,
        Contextual,
        ExploreThenCommit,
        Greedy,
        Guarded,
        Oracle,
        Policy,
        Portfolio,
        Thompson,
        Uniform,
        load_policy,
    )
    from headgate.problem import Problem, load_problem
    from headgate.registry import register
    from headgate.rounds import Rounds
    from headgate.simulation import Replay, Result
    from headgate.simulation.simulator import simulate

    __version__: str

# Where a public name is defined. It is imported when it is first used, so that `import headgate` costs nothing, and a
# command only what it needs; the block above tells type checkers the same, and a test compares the two.
_HOMES = {
    "calibration": "calibrate",
    "calibration.calibration": "Calibration",
    "calibration.log": "Log",
    "calibration.reading": "read_log",
    "client": "AsyncClient Client",
    "edge": "AsyncEdge Edge",
    "estimators": "Estimate",
    "evidence": "Evidence",
    "features": "Features",
    "feedback": "Feedback",
    "laws": "Beta DiscreteWeibull Exponential Gamma HalfNormal LogLogistic LogNormal Lomax Maxwell Nakagami OneOf "
    "Rayleigh Weibull from_scipy",
    "live": "LiveRound",
    "oracle": "Allocation",
    "oracle.curves": "solve_curves",
    "oracle.plan": "Plan",
    "oracle.best": "solve",
    "policies": "CUCB LRUCB MARA MGUCB RAUCB Contextual ExploreThenCommit Greedy Guarded Oracle Policy Portfolio "
    "Thompson Uniform load_policy",
    "problem": "Problem load_problem",
    "rounds": "Rounds",
    "registry": "register",
    "simulation": "Replay Result",
    "simulation.simulator": "simulate",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}


if not TYPE_CHECKING:  # or every name would be known to type checkers, as Any

    def __getattr__(name):
        if name == "__version__":
            from importlib.metadata import version  # noqa: PLC0415  # takes a while, and few ask

            value = version("headgate")
        elif name in _HOME:
            value = getattr(import_module(f"headgate.{_HOME[name]}"), name)
        elif name in __all__:
            value = import_module(f"headgate.{name}")
        else:
            raise AttributeError(f"module 'headgate' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "CUCB",
    "LRUCB",
    "MARA",
    "MGUCB",
    "RAUCB",
    "Allocation",
    "AsyncClient",
    "AsyncEdge",
    "Beta",
    "Calibration",
    "Client",
    "Contextual",
    "DiscreteWeibull",
    "Edge",
    "Estimate",
    "Evidence",
    "ExploreThenCommit",
    "Exponential",
    "Features",
    "Feedback",
    "Gamma",
    "Greedy",
    "Guarded",
    "HalfNormal",
    "LiveRound",
    "Log",
    "LogLogistic",
    "LogNormal",
    "Lomax",
    "Maxwell",
    "Nakagami",
    "OneOf",
    "Oracle",
    "Plan",
    "Policy",
    "Portfolio",
    "Problem",
    "Rayleigh",
    "Replay",
    "Result",
    "Rounds",
    "Thompson",
    "Uniform",
    "Weibull",
    "__version__",
    "calibrate",
    "datasets",
    "errors",
    "estimators",
    "from_scipy",
    "laws",
    "load_policy",
    "load_problem",
    "read_log",
    "register",
    "simulate",
    "solve",
    "solve_curves",
    "theory",
]
