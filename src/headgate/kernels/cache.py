"""Where machine code is kept between processes, and which of it may be used.

Folders, in this order:

1. `HEADGATE_CACHE`, if that is set, and then no other;
2. `__pycache__` beside the kernels: what `headgate warm` fills when an image is built;
3. `headgate` in the user's cache (`XDG_CACHE_HOME`, else `~/.cache`);
4. a folder of this user alone among the temporary files.

A kernel is loaded from the first folder that has it, and compiled into the first that can be written. Where none can,
it is compiled for this process alone: slow, but nothing fails for want of a home.

Within a folder, a kernel's code lies under its name and a key: a hash of the source of its module and of every module
of Headgate that this one imports, directly or not, of the versions of Python, NumPy, Numba and LLVM, and of the
processor. Whatever changes, the key does, and the old code is not found; an edit costs only the kernels it touches.

Several processes: Numba keeps a gufunc in two files, of which one names a function in the other by a name that differs
from process to process; files of two processes side by side end in a segmentation fault. So a kernel is compiled into
a folder of its own, which is then renamed in one step: whoever sees it sees all of it, and the code in it never
changes. A lock, one for each key of a kernel, only spares a second process the work: it waits for the first. A process
that finds its code takes no lock and writes nothing.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

import llvmlite
import numba
import numpy as np
from numba.core.caching import CacheImpl, _CacheLocator
from numba.core.registry import cpu_target

try:
    import fcntl
except ImportError:  # Windows: two processes may compile the same kernel, and the first to finish keeps it
    fcntl = None  # type: ignore[assignment]  # checked before use

Kernel = Callable[..., None]
Build = Callable[[Kernel, bool], Any]
"""Compile a kernel, with Numba's cache or without."""

_HERE = Path(__file__).parent
_IMPORT = re.compile(r"^\s*from headgate(?:\.([\w.]+))? import (\([^)]*\)|.*)$", re.MULTILINE)
_KEPT = 8
"""Keys of a kernel in a folder: enough for several environments and versions; the oldest go when one is added."""

kept: dict[str, Path | None] = {}
"""The kernels of this process, and the folder in which the code of each is kept."""

_log = logging.getLogger("headgate")
_announced = False


@cache
def _imports(source: Path) -> frozenset[Path]:
    """The files of this package that a file imports from."""
    root, found = _HERE.parent, set()
    for module, names in _IMPORT.findall(source.read_text(encoding="utf-8")):
        place = root.joinpath(*module.split(".")) if module else root
        candidates = [place.with_suffix(".py"), *(place / f"{name}.py" for name in re.findall(r"\w+", names))]
        found |= {path for path in candidates if path.is_file()}
    return frozenset(found - {Path(__file__)})


@cache
def sources(module: str) -> tuple[Path, ...]:
    """The files that the machine code of a kernel module is made of: its own, and what it imports, directly or not."""
    reached, new = set[Path](), {_HERE / f"{module}.py"}
    while new:
        reached |= new
        new = {path for source in new for path in _imports(source)} - reached
    return tuple(sorted(reached))


@cache
def key(module: str) -> str:
    """What the machine code of a kernel module depends on, as a name of a folder."""
    digest = hashlib.sha256()
    for source in sources(module):
        digest.update(f"{source.name} {source.stat().st_size} ".encode() + source.read_bytes())
    processor = cpu_target.target_context.codegen().magic_tuple()
    versions = (numba.__version__, llvmlite.__version__, np.__version__, sys.version, processor)
    digest.update(repr(versions).encode())
    return digest.hexdigest()[:24]


def _module(kernel: Kernel) -> str:
    return kernel.__module__.rpartition(".")[2]


def _name(kernel: Kernel) -> str:
    return f"{_module(kernel)}.{kernel.__qualname__}"


def folders() -> Iterator[tuple[Path, bool]]:
    """Where machine code may lie, in the order of looking for it, and whether the folder must be this user's alone."""
    if chosen := os.environ.get("HEADGATE_CACHE"):
        yield Path(chosen).absolute(), False
        return
    yield _HERE / "__pycache__", False
    users = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111  # never raises
    if users.is_absolute():
        yield users / "headgate", True
    with suppress(FileNotFoundError):  # no temporary folder at all
        yield Path(tempfile.gettempdir()) / f"headgate-cache-{os.getuid() if hasattr(os, 'getuid') else 'user'}", True


def _trusted(folder: Path, private: bool) -> bool:
    """Whether code in this folder may be run; a private one must be this user's, with no right to write for others."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    if not private or not hasattr(os, "getuid"):
        return True
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022


class _Locator(_CacheLocator):
    """Tells Numba's cache the folder of the kernel that is being built; other functions are none of its business."""

    of: ClassVar[dict[Kernel, tuple[Path, bool]]] = {}
    """The folder of a kernel while it is built, and whether it may be written to."""

    def __init__(self, kernel: Kernel, py_file: str) -> None:  # noqa: ARG002  # as Numba's own
        self.stamp = key(_module(kernel))
        self.folder, self.writable = self.of[kernel]

    def get_cache_path(self) -> str:
        return str(self.folder)

    def get_source_stamp(self) -> str:
        return self.stamp

    def get_disambiguator(self) -> str:
        return ""

    def ensure_cache_path(self) -> None:
        if not self.writable:
            raise FileNotFoundError(f"the machine code in {self.folder} has gone")

    @classmethod
    def from_function(cls, py_func: Kernel, py_file: str) -> _Locator | None:
        return cls(py_func, py_file) if py_func in cls.of else None


CacheImpl._locator_classes.insert(0, _Locator)  # noqa: SLF001  # the only way to tell Numba


def _build_in(folder: Path, kernel: Kernel, build: Build, *, writable: bool) -> Any:
    _Locator.of[kernel] = folder, writable
    try:
        return build(kernel, True)
    finally:
        del _Locator.of[kernel]


def _load(folder: Path, kernel: Kernel, build: Build) -> Any | None:
    """The kernel, if its code lies in this folder whole."""
    try:
        return _build_in(folder, kernel, build, writable=False) if folder.is_dir() else None
    except Exception:  # noqa: BLE001  # whatever damage does to a pickle: the code is made again
        return None


@contextmanager
def _few_collections() -> Iterator[None]:
    """Collect garbage less often: compiling makes millions of objects, of which few are garbage.

    Saves some 5% of the time; without any collection it would be some 11%, with half as much memory again.
    """
    often = gc.get_threshold()
    gc.set_threshold(20_000, 10, 10)
    try:
        yield
    finally:
        gc.set_threshold(*often)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Wait until no other process holds this lock; do without where locks are not to be had."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    try:
        if fcntl is not None:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _drop_old(home: Path) -> None:
    """Keep the latest keys of a kernel."""
    keys = [path for path in home.iterdir() if path.is_dir()]
    for path in sorted(keys, key=lambda path: path.stat().st_mtime)[:-_KEPT]:
        shutil.rmtree(path, ignore_errors=True)
        path.with_suffix(".lock").unlink(missing_ok=True)


def _announce(place: str) -> None:
    """Say, once a process, why the call takes long."""
    global _announced  # noqa: PLW0603  # a process has one standard error
    if not _announced:
        _announced = True
        _log.warning("headgate: compiling for this machine, about half a minute; %s", place)


def _compile(folder: Path, kernel: Kernel, build: Build) -> Any:
    """The kernel, compiled into the folder, or loaded where another process has just done that."""
    home, name = folder / _name(kernel), key(_module(kernel))
    home.mkdir(parents=True, exist_ok=True)
    entry, draft = home / name, home / f".{name}.{uuid4().hex}"
    with _lock(home / f"{name}.lock"):
        if (loaded := _load(entry, kernel, build)) is not None:
            return loaded
        for abandoned in home.glob(f".{name}.*"):  # by a process that was killed
            shutil.rmtree(abandoned, ignore_errors=True)
        draft.mkdir()
        try:
            _announce(f"kept in {folder} (`headgate warm` does it beforehand)")
            with _few_collections():
                compiled = _build_in(draft, kernel, build, writable=True)
            shutil.rmtree(entry, ignore_errors=True)  # damaged, or it would have been loaded
            with suppress(OSError):  # without locks, another process may have been first
                draft.rename(entry)
            _drop_old(home)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return compiled


def obtain(kernel: Kernel, build: Build) -> Any:
    """Return the kernel built: loaded if its machine code is kept anywhere, else compiled, and kept if that can be."""
    name, entry = _name(kernel), Path(_name(kernel), key(_module(kernel)))
    for folder, private in folders():
        if _trusted(folder, private) and (loaded := _load(folder / entry, kernel, build)) is not None:
            kept[name] = folder
            return loaded
    for folder, private in folders():
        with suppress(OSError):
            folder.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
            if _trusted(folder, private):
                compiled, kept[name] = _compile(folder, kernel, build), folder
                return compiled
    _announce("for this process alone, because no cache folder can be written: set HEADGATE_CACHE to one")
    kept[name] = None
    return build(kernel, False)
