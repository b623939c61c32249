"""Problems: arms with their true parameters, what is best for them, and their files."""

from headgate.oracle import Reward
from headgate.problem.problem import Problem, load_problem

__all__ = ["Problem", "Reward", "load_problem"]
