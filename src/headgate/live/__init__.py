"""Live rounds: a budget handed out step by step, so that what a success leaves over goes to the others."""

from headgate.live.progress import Step
from headgate.live.round import LiveRound

__all__ = ["LiveRound", "Step"]
