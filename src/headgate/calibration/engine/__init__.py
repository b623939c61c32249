"""Where rows are added up: inside an engine, by group-bys written once with ibis."""

from headgate.calibration.engine.connection import Engine, Table, connect

__all__ = ["Engine", "Table", "connect"]
