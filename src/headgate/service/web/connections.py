"""Connections that say nothing: closed after a while, and before they are too many.

uvicorn waits for the rest of a request for as long as it takes, and a process has only so many files. So a thousand
connections that never finish a request would silence everyone else. `OPTIONS` go to `uvicorn.run`.
"""

from __future__ import annotations

import asyncio
import resource
from itertools import count
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_SPARE = 128
"""Files that are left for the database, logs and libraries."""
_MOST_FILES = 65_536
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def allow_many() -> None:
    """Let this process and those it starts have as many files as the system lets them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def most_connections() -> int:
    """Return how many connections a process may have."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return max((_MOST_FILES if soft == resource.RLIM_INFINITY else soft) - _SPARE, 64)


class Protocol(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, with an end to every wait for the other side."""

    header_seconds: ClassVar[float] = 10.0
    """From the first byte, or the connection, to the end of the headers."""
    body_seconds: ClassVar[float] = 30.0
    """From there to the end of the body."""
    reading_seconds: ClassVar[float] = 30.0
    """That the other side may take to read what it was sent, before it reads some of it."""
    header_bytes: ClassVar[int] = 65_536
    """That the headers of a request may have; the parser has no limit of its own."""
    queued: ClassVar[int] = 16
    """Requests that a connection may send before the first is answered."""
    most: ClassVar[int | None] = None
    """Connections of one process; None: as many as it may have files, less some."""

    _timer: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    _receiving = False
    """Whether a request has begun and its body has not ended."""
    _between_headers = False
    """Whether a request has begun and its headers have not ended."""
    _header_bytes = 0
    """What came since the last request that had all its headers."""
    served = 0
    since = 0
    """Its place among all, by when it was heard last; the loop's time is the same for all that came in one turn."""
    _places: ClassVar[count[int]] = count()

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request; if there are too many of us, the one that has waited longest goes."""
        super().connection_made(transport)
        self.since = next(self._places)
        self._expect(self.header_seconds)
        if len(self.connections) > (self.most or most_connections()):
            idle = [one for one in self.connections if isinstance(one, Protocol) and one.is_idle]
            if idle:
                min(idle, key=lambda one: (one.served > 0, one.since)).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers."""
        self._expect(None)
        self.resume_writing()
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        """Whether nobody works on anything for it: it is we who wait."""
        return self.is_answered or self._receiving or self._reading is not None

    @property
    def is_answered(self) -> bool:
        """Whether every request that had its headers has had its answer."""
        cycle: Any = self.cycle  # None before the first, whatever its type says
        return cycle is None or cycle.response_complete

    def data_received(self, data: bytes) -> None:
        """Take what came. Even an empty line ends uvicorn's patience with idle connections, so ours begins."""
        self._header_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._between_headers and self._header_bytes > self.header_bytes:
            self.transport.write(_TOO_LONG)
            self.transport.close()
        elif self.is_answered and self._timer is None:
            self._expect(self.header_seconds)

    def on_message_begin(self) -> None:
        """Wait for the headers."""
        super().on_message_begin()
        self._receiving = self._between_headers = True
        if self._timer is None:
            self._expect(self.header_seconds)

    def on_headers_complete(self) -> None:
        """Wait for the body. uvicorn would queue any number of requests on one connection: that has an end here."""
        if len(self.pipeline) >= self.queued:
            raise ValueError("too many requests before the first is answered")  # which the parser makes a 400
        self._between_headers, self._header_bytes = False, 0
        self._expect(self.body_seconds)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Wait for nothing: it is our turn."""
        self._receiving = False
        self.served += 1
        self.since, self._header_bytes = next(self._places), 0
        self._expect(None)
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Begin to wait until the other side reads."""
        super().pause_writing()
        if self._reading is None:
            self._reading = self.loop.call_later(self.reading_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: it has read."""
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        super().resume_writing()

    def _expect(self, seconds: float | None) -> None:
        """Give the other side so long for what comes next; None for no end."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        self._timer = None
        if self._between_headers:
            self.transport.write(_TOO_SLOW)
        self.transport.close()


OPTIONS: dict[str, Any] = {"http": Protocol, "ws": "none"}
"""How uvicorn is to speak: a WebSocket, which nothing here has, would leave these limits behind."""
