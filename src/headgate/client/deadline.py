"""A deadline for a whole try, not for each of its reads: a server that trickles cannot hold a program up.

httpx counts its timeouts from byte to byte. So the sockets of both clients are given what is left of the try whenever
they connect, read or write. Cancelling a try from outside would not do: httpcore's pool then keeps some of the
connections for good, and once all of its places are taken no call gets through any more. Only looking up a name, which
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
    """Let the sockets of a client of httpx, of either kind, keep to `within`, those to proxies too."""
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001  # httpx has no other way in
        if transport is not None:
            pool = transport._pool  # noqa: SLF001  # the same
            kind = _AsyncBackend if hasattr(pool, "aclose") else _Backend
            pool._network_backend = kind(pool._network_backend)  # noqa: SLF001  # httpcore takes one when it is made


def _left(timeout: float | None) -> float | None:
    """Return how long the next step may take."""
    end = _END.get()
    if end is None:
        return timeout
    rest = end - time.monotonic()
    if rest <= 0.0:
        raise TimeoutError("the time for an answer is over")
    return rest if timeout is None else min(rest, timeout)


class _Instead:
    """Stands for another object, but for what its subclass has of its own."""

    def __init__(self, of: Any) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)


class _Backend(_Instead):
    """Makes connections that keep to the deadline."""

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: Any) -> _Stream:
        return _Stream(self._of.connect_tcp(host, port, timeout=_left(timeout), **options))


class _Stream(_Instead):
    """A connection that keeps to the deadline."""

    def read(self, most: int, timeout: float | None = None) -> bytes:
        data: bytes = self._of.read(most, timeout=_left(timeout))
        return data

    def write(self, data: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(data), _PIECE):
            self._of.write(data[start : start + _PIECE], timeout=_left(timeout))

    def start_tls(self, *args: Any, timeout: float | None = None, **options: Any) -> _Stream:
        return _Stream(self._of.start_tls(*args, timeout=_left(timeout), **options))


class _AsyncBackend(_Instead):
    """The same for asyncio."""

    async def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: Any) -> _AsyncStream:
        return _AsyncStream(await self._of.connect_tcp(host, port, timeout=_left(timeout), **options))


class _AsyncStream(_Instead):
    """The same for asyncio."""

    async def read(self, most: int, timeout: float | None = None) -> bytes:
        data: bytes = await self._of.read(most, timeout=_left(timeout))
        return data

    async def write(self, data: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(data), _PIECE):
            await self._of.write(data[start : start + _PIECE], timeout=_left(timeout))

    async def start_tls(self, *args: Any, timeout: float | None = None, **options: Any) -> _AsyncStream:
        return _AsyncStream(await self._of.start_tls(*args, timeout=_left(timeout), **options))
