"""Regret and speed, each figure beside a reference measured in the same run: `headgate bench`."""

from __future__ import annotations

from importlib import import_module

from headgate.bench.harness import BENCHMARKS, Regret, Result, use_data
from headgate.errors import UnsupportedError

_MODULES = ("oracle", "estimators", "calibration", "learning", "whole", "logs")


def load() -> dict[str, object]:
    """Import every benchmark; their peers are an extra of their own."""
    try:
        for module in _MODULES:
            import_module(f"headgate.bench.{module}")
    except ModuleNotFoundError as missing:
        raise UnsupportedError(
            f"the benchmarks compare with {missing.name}, which is not installed: pip install 'headgate[bench]'"
        ) from missing
    return dict(BENCHMARKS)


__all__ = ["BENCHMARKS", "Regret", "Result", "load", "use_data"]
