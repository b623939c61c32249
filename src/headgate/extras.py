"""Packages that not every installation has: imported where they are needed, or an error that says how to get them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from headgate.errors import UnsupportedError

_EXTRAS = {
    "cli": ("typer", "rich"),
    "plot": ("jinja2", "matplotlib"),
    "simulate": ("joblib", "pyarrow"),
    "dask": ("distributed",),
    "ray": ("ray",),
    "logs": ("ibis", "duckdb", "pandas", "sqlglot"),
    "spark": ("pyspark",),
    "client": ("httpx",),
    "service": (
        "alembic", "fastapi", "plotly", "prometheus_client", "psycopg", "pydantic", "sqlalchemy",
        "starlette", "uvicorn",
    ),
    "otel": ("opentelemetry",),
    "bench": ("cvxpy", "lifelines"),
}  # fmt: skip
"""The modules that come with each extra of pyproject.toml, which names packages instead."""
_EXTRA_OF = {module: name for name, modules in _EXTRAS.items() for module in modules}


@contextmanager
def explain() -> Iterator[None]:
    """Turn the failed import of an extra's module, within the block, into an error that says which extra has it."""
    try:
        yield
    except ModuleNotFoundError as cause:
        module = (cause.name or "").partition(".")[0]
        if module not in _EXTRA_OF:
            raise
        raise UnsupportedError(f"this needs {module}: pip install 'headgate[{_EXTRA_OF[module]}]'") from cause


def extra(module: str) -> Any:
    """Import a module and return it, or say which extra has it.

    >>> extra("numpy").__name__
    'numpy'
    """
    with explain():
        return import_module(module)
