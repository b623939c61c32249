"""The oracle: how to split a budget when the curves are known. Exact, and it proves it."""

from headgate.oracle.allocation import REWARDS, Allocation, Reward
from headgate.oracle.best import maximise, path, solve, standard_form
from headgate.oracle.curves import solve_curves
from headgate.oracle.limits import Limits

__all__ = ["REWARDS", "Allocation", "Limits", "Reward", "maximise", "path", "solve", "solve_curves", "standard_form"]
