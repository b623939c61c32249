"""The oracle: how to split a budget when the curves are known. Exact, and it proves it."""

from headgate.oracle.allocation import REWARDS, Allocation
from headgate.oracle.curves import solve_curves
from headgate.oracle.limits import Limits
from headgate.oracle.solve import maximise, path, solve, standard_form

__all__ = ["REWARDS", "Allocation", "Limits", "maximise", "path", "solve", "solve_curves", "standard_form"]
