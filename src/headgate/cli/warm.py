"""`headgate warm`: compile every kernel ahead of time, so that no call has to wait for it."""

from __future__ import annotations

import logging
from importlib import import_module
from pkgutil import iter_modules
from time import perf_counter

import typer

from headgate import kernels
from headgate.errors import InputError


def warm() -> None:
    """Compile every kernel ahead of time: when an image is built, or before a service starts.

    The machine code is kept beside the package, in the user's cache or where HEADGATE_CACHE says, and serves every
    process with the same versions of Python, NumPy and Numba on the same kind of processor. Takes about a minute; less
    where some of it is there already. The status is 2 if no folder can be written.
    """
    import numpy as np  # noqa: PLC0415  # --help does without

    from headgate.kernels.cache import kept  # noqa: PLC0415  # imports Numba

    logging.getLogger("headgate").setLevel(logging.ERROR)  # the lines below say what is being compiled
    for module in iter_modules(kernels.__path__):
        start = perf_counter()
        values = vars(import_module(f"headgate.kernels.{module.name}")).values()
        if any(isinstance(value, np.ufunc) for value in values):  # the others are parts of kernels
            typer.echo(f"{module.name:<12} {perf_counter() - start:5.1f} s")
    if (folder := kept()) is None:
        raise InputError("no folder for machine code can be written: set HEADGATE_CACHE to one")
    typer.echo(f"kept in {folder}")
