"""The paper's experiments: every figure, the unknown-budget one that it lacks, and an honest report of its claims."""

from headgate.experiments.part import Part
from headgate.experiments.reproduce import EXPERIMENTS, reproduce

__all__ = ["EXPERIMENTS", "Part", "reproduce"]
