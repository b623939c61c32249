"""`headgate warm`: compile every kernel ahead of time, so that no call has to wait for it."""

from __future__ import annotations

import logging
import os
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from time import perf_counter

import typer

from headgate import kernels
from headgate.errors import InputError


def warm() -> None:
    """Compile every kernel ahead of time: when an image is built, or before a service starts.

    The machine code is kept beside the package, in the user's cache or where HEADGATE_CACHE says, and serves every
    process with the same versions of Python, NumPy and Numba on the same kind of processor. Takes some two minutes of
    one core, on as many as there are; less where some of it is there already. The status is 2 if no folder can be
    written.
    """
    modules = [module.name for module in iter_modules(kernels.__path__)]
    folders: set[Path | None] = set()
    with ProcessPoolExecutor(max_workers=min(os.cpu_count() or 1, 8)) as pool:
        for name, seconds, kept in pool.map(_compile, modules):
            if kept:  # the others are parts of kernels
                typer.echo(f"{name:<12} {seconds:5.1f} s")
            folders.update(kept)
    if None in folders:
        raise InputError("no folder for machine code can be written: set HEADGATE_CACHE to one")
    typer.echo(f"kept in {', '.join(sorted(map(str, folders)))}")


def _compile(module: str) -> tuple[str, float, list[Path | None]]:
    """Import a module of kernels; return how long that took, and the folder of each kernel that is its own."""
    from headgate.kernels.cache import kept  # noqa: PLC0415  # imports Numba

    logging.getLogger("headgate").setLevel(logging.ERROR)  # the lines above say what is being compiled
    start = perf_counter()
    import_module(f"headgate.kernels.{module}")
    return module, perf_counter() - start, [folder for name, folder in kept.items() if name.startswith(f"{module}.")]
