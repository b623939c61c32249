"""A deadline is one: against servers that trickle, flood, stall, do not read, or are not there."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from headgate.client import Retry, UnavailableError
from tests.client.conftest import open_client

DEADLINE = 0.6
SLACK = 5.0
"""Seconds that a loaded machine may take besides. Without a deadline each of these servers takes at least 20."""
PATIENCE = Retry(first=0.01, most=0.02, attempt=10.0, deadline=DEADLINE)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


class Slow:
    """A server that does something bad to every connection, until it is told to stop."""

    def __init__(self, behave: Callable[[Slow, socket.socket], None]) -> None:
        self.over = threading.Event()
        self._behave = behave
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
                self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(20.0)
            self._behave(self, connection)

    def drip(self, connection: socket.socket, first: bytes, drop: bytes) -> None:
        """Send a little again and again, for 20 seconds."""
        connection.sendall(first)
        for _ in range(400):
            if self.over.wait(0.05):
                return
            connection.sendall(drop)

    def close(self) -> None:
        self.over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()


def trickle_headers(server: Slow, connection: socket.socket) -> None:
    server.drip(connection, HEAD, b"x: y\r\n")


def trickle_body(server: Slow, connection: socket.socket) -> None:
    server.drip(connection, HEAD + b"content-length: 1000000\r\n\r\n", b" ")


def trickle_status(server: Slow, connection: socket.socket) -> None:
    server.drip(connection, b"HTTP/1.1 200 ", b"O")


def say_nothing(server: Slow, _connection: socket.socket) -> None:
    server.over.wait(20.0)


def flood(server: Slow, connection: socket.socket) -> None:
    connection.sendall(HEAD + b"transfer-encoding: chunked\r\n\r\n")
    end = time.monotonic() + 20.0
    while not server.over.is_set() and time.monotonic() < end:
        connection.sendall(b"1\r\n \r\n" * 100)
        server.over.wait(0.001)


@contextmanager
def slow(behave: Callable[[Slow, socket.socket], None]) -> Iterator[Slow]:
    server = Slow(behave)
    try:
        yield server
    finally:
        server.close()


@pytest.mark.parametrize("behave", [trickle_headers, trickle_body, trickle_status, say_nothing, flood])
def test_a_deadline_is_one(kind: str, behave: Callable[[Slow, socket.socket], None]) -> None:
    with slow(behave) as server:
        client = open_client(kind, server.url, retry=PATIENCE)
        start = time.monotonic()
        with pytest.raises(UnavailableError, match="no answer"):
            client.decide("quiz", 1.0)
        assert time.monotonic() - start < DEADLINE + SLACK
        client.close()


def test_a_server_that_does_not_read(kind: str) -> None:
    with slow(say_nothing) as server:
        client = open_client(kind, server.url, retry=PATIENCE)
        start = time.monotonic()
        with pytest.raises(UnavailableError, match="no answer"):
            client.decide("quiz", 1.0, context={"padding": "x" * 30_000_000})
        assert time.monotonic() - start < DEADLINE + SLACK
        client.close()
