"""Problems with real or published numbers, ready to solve and play; and a simulated log to try things on."""

from headgate.datasets.criteo import campaigns
from headgate.datasets.ednet import ednet_quiz
from headgate.datasets.paper import saved_instance
from headgate.datasets.sample import sample_answers, sample_problem

__all__ = ["campaigns", "ednet_quiz", "sample_answers", "sample_problem", "saved_instance"]
