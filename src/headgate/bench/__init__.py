"""Regret and speed, each figure beside a reference measured in the same run: `headgate bench`."""

from __future__ import annotations

from headgate.bench.harness import BENCHMARKS, AtMost, Result, use_data, use_full
from headgate.extras import extra

_MODULES = (
    "oracle",
    "s_shaped",
    "plan",
    "portfolio",
    "estimators",
    "calibration",
    "learning",
    "features",
    "hard",
    "replays",
    "live",
    "guarantees",
    "whole",
    "logs",
    "edges",
)


def load() -> dict[str, object]:
    """Import every benchmark; their peers are an extra of their own."""
    for module in _MODULES:
        extra(f"headgate.bench.{module}")
    return dict(BENCHMARKS)


__all__ = ["BENCHMARKS", "AtMost", "Result", "load", "use_data", "use_full"]
