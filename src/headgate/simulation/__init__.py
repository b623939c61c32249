"""Simulation: policies play problems, drawn or replayed, on one machine or a cluster; regret is measured."""

from headgate.simulation.environment import Draws, Environment, Replay
from headgate.simulation.play import Totals
from headgate.simulation.result import Result, Summary
from headgate.simulation.simulator import simulate
from headgate.simulation.spread import BACKENDS, WorkerLostError

__all__ = [
    "BACKENDS",
    "Draws",
    "Environment",
    "Replay",
    "Result",
    "Summary",
    "Totals",
    "WorkerLostError",
    "simulate",
]
