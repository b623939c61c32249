"""Problems with real or published numbers, ready to solve and play."""

from headgate.datasets.criteo import campaigns
from headgate.datasets.ednet import ednet_quiz
from headgate.datasets.paper import saved_instance

__all__ = ["campaigns", "ednet_quiz", "saved_instance"]
