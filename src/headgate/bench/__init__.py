"""Regret and speed, each figure beside a reference measured in the same run: `headgate bench`."""

from __future__ import annotations

from headgate.bench.harness import BENCHMARKS, AtMost, Result, use_data
from headgate.extras import extra

_MODULES = ("oracle", "s_shaped", "estimators", "calibration", "learning", "guarantees", "whole", "logs")


def load() -> dict[str, object]:
    """Import every benchmark; their peers are an extra of their own."""
    for module in _MODULES:
        extra(f"headgate.bench.{module}")
    return dict(BENCHMARKS)


__all__ = ["BENCHMARKS", "AtMost", "Result", "load", "use_data"]
