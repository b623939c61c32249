"""The paper's experiments: every figure, the unknown-budget one that it lacks, and an honest report of its claims.

They need matplotlib, the extra `plot`; real logs need ibis, the extra `logs`.
"""

from headgate.experiments.base import Part
from headgate.experiments.reproduction import EXPERIMENTS, reproduce

__all__ = ["EXPERIMENTS", "Part", "reproduce"]
