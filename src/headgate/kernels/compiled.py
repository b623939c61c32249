"""Compile a kernel once for all processes, and keep its machine code for the next.

Numba's cache alone is not safe here, for three reasons that each end in a segmentation fault:

- It keeps a gufunc in two files, under a name that depends on the process. Two processes that compile at the same
  time leave one file each, and from then on none finds the function that the other file names. So one compiles at a
  time.
- It compares a cached function with its own source file, not with those of the functions it calls. So the cache
  is dropped when any kernel is newer, and its files carry the time of the sources they were made from.
- Functions that are called from a gufunc are part of its machine code. To cache them as well would only add files
  to mix up: give `cache=True` to none of them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import time
from typing import Any

from numba import guvectorize

try:
    import fcntl
except ImportError:  # Windows: there, start the first process alone
    fcntl = None  # type: ignore[assignment]  # checked before use

_HERE = Path(__file__).parent
_SOURCES = (*_HERE.glob("*.py"), *(_HERE.parent / "laws" / name for name in ("standard.py", "learned.py")))
_NEWEST = max(source.stat().st_mtime for source in _SOURCES)


def _cached() -> Iterator[Path]:
    return (_HERE / "__pycache__").glob("*.nb[ci]")


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other process of this user compiles."""
    if fcntl is None:
        yield
        return
    lock = Path(tempfile.gettempdir()) / f"headgate-{os.getuid()}.lock"
    descriptor = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def drop_stale() -> None:
    """Delete machine code that was made from older sources."""
    for path in _cached():
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < _NEWEST:
                path.unlink()


def gufunc(signatures: list[str], layout: str) -> Callable[[Callable[..., None]], Any]:
    """Like `numba.guvectorize` with a cache, but safe with several processes."""

    def compile_one(kernel: Callable[..., None]) -> Any:
        with _alone():
            drop_stale()
            start = time()
            made = guvectorize(signatures, layout, nopython=True, cache=True)(kernel)
            for path in _cached():
                with suppress(FileNotFoundError):
                    if path.stat().st_mtime >= start - 1.0:
                        os.utime(path, (_NEWEST, _NEWEST))
        return made.ufunc  # the bare NumPy ufunc: Numba's wrapper around it costs microseconds a call

    return compile_one
