"""The oracle: how to split a budget when the curves are known. Exact, and it proves it."""

from headgate.oracle.allocation import Allocation
from headgate.oracle.limits import Limits
from headgate.oracle.solve import REWARDS, maximise, path, solve, standard_form

__all__ = ["REWARDS", "Allocation", "Limits", "maximise", "path", "solve", "standard_form"]
