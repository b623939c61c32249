"""A deadline for a whole try, not for each of its reads: a server that trickles cannot hold a program up.

httpx counts its timeouts from byte to byte. So the sync client's sockets are given what is left of the try whenever
they read or write; the async client is cancelled from outside and needs none of this. Only looking up a name, which
the system does for us, cannot be cut short.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_END: ContextVar[float | None] = ContextVar("headgate_deadline", default=None)
_PIECE = 16_384  # bytes written at once


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let whatever is read or written inside end after so many seconds, with a `TimeoutError` at the latest."""
    token = _END.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _END.reset(token)


def watch(client: Any) -> None:
    """Let the sockets of a sync client of httpx keep to `within`, those to proxies too."""
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001  # httpx has no other way in
        if transport is not None:
            pool = transport._pool  # noqa: SLF001  # the same
            pool._network_backend = _Backend(pool._network_backend)  # noqa: SLF001  # httpcore takes one when it is made


def _left(timeout: float | None) -> float | None:
    """Return how long the next step may take."""
    end = _END.get()
    if end is None:
        return timeout
    left = end - time.monotonic()
    if left <= 0.0:
        raise TimeoutError("the time for an answer is over")
    return left if timeout is None else min(left, timeout)


class _Backend:
    """Makes streams that keep to the deadline; all else is the backend's that it stands for."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: Any) -> _Stream:
        return _Stream(self._backend.connect_tcp(host, port, timeout=_left(timeout), **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)


class _Stream:
    """A connection that keeps to the deadline."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, most: int, timeout: float | None = None) -> bytes:
        data: bytes = self._stream.read(most, timeout=_left(timeout))
        return data

    def write(self, data: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(data), _PIECE):
            self._stream.write(data[start : start + _PIECE], timeout=_left(timeout))

    def start_tls(self, *args: Any, timeout: float | None = None, **options: Any) -> _Stream:
        return _Stream(self._stream.start_tls(*args, timeout=_left(timeout), **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
