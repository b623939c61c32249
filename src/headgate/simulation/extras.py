"""Packages that not every installation has, imported where they are first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from headgate.errors import UnsupportedError

_EXTRAS = {
    "joblib": "simulate", "pyarrow": "simulate", "distributed": "dask", "ray": "ray",
    "ibis": "logs", "duckdb": "logs", "pyspark": "spark",
}  # fmt: skip


def extra(module: str) -> Any:
    """Import a module, or say which extra has it."""
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as cause:
        if (cause.name or "").partition(".")[0] != package:
            raise
        raise UnsupportedError(f"this needs {package}: pip install 'headgate[{_EXTRAS[package]}]'") from cause
