"""Where rows are added up: inside an engine, by group-bys written once with ibis."""

from headgate.calibration.engine.connection import Engine, Table, connect
from headgate.calibration.engine.sums import add_up

__all__ = ["Engine", "Table", "add_up", "connect"]
