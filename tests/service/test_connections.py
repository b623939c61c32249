"""Connections that say nothing, or too slowly, or too much, or do not listen: real sockets on loopback."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from headgate.service.dashboard.pages import PLOTLY
from headgate.service.settings import Settings
from headgate.service.web.connections import Protocol
from tests.service.harness import running

HALF_OPEN = 1_100


class Impatient(Protocol):
    """Gives up at once, so that nothing here has to wait."""

    header_seconds = body_seconds = reading_seconds = 0.2


class Few(Protocol):
    """Has room for few."""

    most = 20


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    place = tmp_path_factory.mktemp("impatient") / "headgate.db"
    with running(Settings(database=f"sqlite:///{place}", keys=False), Impatient) as client:
        yield client


def connect(client: httpx.Client) -> socket.socket:
    return socket.create_connection((client.base_url.host, client.base_url.port or 80), timeout=20.0)


def all_of(connection: socket.socket) -> bytes:
    """Read until the other side closes."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (b"", b""),
        (b"GET /healthz HTTP/1.1\r\nHost: loc", b"408"),
        (b"\r\n", b""),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET", b"408"),
        (b"POST /v1/outcomes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         b"Content-Length: 100\r\n\r\n{", b""),
        (b"POST /v1/outcomes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         b"Transfer-Encoding: chunked\r\n\r\n5\r\n{", b""),
    ],
)  # fmt: skip
def test_who_says_half_and_stops_is_hung_up_on(impatient: httpx.Client, said: bytes, heard: bytes) -> None:
    with connect(impatient) as connection:
        connection.sendall(said)
        assert heard in all_of(connection)
    assert impatient.get("/healthz").status_code == 200


def test_a_blank_line_does_not_keep_a_connection(impatient: httpx.Client) -> None:
    with connect(impatient) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200" in connection.recv(65536)
        connection.sendall(b"\r\n")  # which ends uvicorn's patience with idle connections
        assert b"HTTP" not in all_of(connection)


def test_there_are_no_websockets(impatient: httpx.Client) -> None:
    """They would be another protocol's, which has none of these limits: asked for one, the answer is plain HTTP."""
    with connect(impatient) as connection:
        connection.sendall(
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade, close\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        assert b"HTTP/1.1 200" in all_of(connection)


def sent_until_refused(connection: socket.socket, first: bytes, part: bytes, most: int) -> int:
    """Send part after part until the other side hangs up, and return how many it took."""
    connection.sendall(first)
    for number in range(most):
        try:
            connection.sendall(part)
        except ConnectionError:
            return number
    return most


def test_headers_have_an_end(impatient: httpx.Client) -> None:
    with connect(impatient) as connection:
        line = b"x: " + b"y" * 60_000 + b"\r\n"
        assert sent_until_refused(connection, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", line, 2_000) < 2_000
    assert impatient.get("/healthz", headers={"x": "y" * 30_000}).status_code == 200


def test_requests_before_the_first_answer_have_an_end(tmp_path: Path) -> None:
    """uvicorn alone takes all 50,000 of them into memory."""
    ask = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with running(Settings(database=f"sqlite:///{tmp_path / 'a.db'}", keys=False)) as client:
        with connect(client) as connection:
            sent_until_refused(connection, b"", ask * 1_000, 50)
            with suppress(ConnectionError):
                answers = 0
                while part := connection.recv(65536):
                    answers += part.count(b"HTTP/1.1 200")
            assert answers < 1_000
        with connect(client) as connection:
            connection.sendall(ask * 3 + ask.replace(b"Host", b"Connection: close\r\nHost"))
            assert all_of(connection).count(b"HTTP/1.1 200") == 4


def test_who_does_not_read_is_hung_up_on(tmp_path: Path) -> None:
    """A large answer, asked for again and again and never read: the buffers fill, and then it ends."""

    class Trusting(Impatient):
        queued = 10_000

    ask = f"GET /static/{PLOTLY} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: identity\r\n\r\n".encode()
    with running(Settings(database=f"sqlite:///{tmp_path / 'a.db'}", keys=False), Trusting) as client:
        with connect(client) as connection:
            assert sent_until_refused(connection, ask, ask * 100, 5_000) < 5_000
        assert client.get("/healthz").status_code == 200


def test_the_oldest_silence_makes_room(tmp_path: Path) -> None:
    with running(Settings(database=f"sqlite:///{tmp_path / 'a.db'}", keys=False), Few) as client, ExitStack() as open_:
        assert client.get("/healthz").status_code == 200  # and is kept alive: it has asked something
        silent = [open_.enter_context(connect(client)) for _ in range(60)]
        assert client.get("/healthz").status_code == 200
        assert silent[0].recv(1) == b""
        silent[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b"200" in all_of(silent[-1])


@pytest.mark.long
def test_many_half_open_connections_do_not_silence_it(tmp_path: Path) -> None:
    """As many as its process may have files, and more; each has said half of a request."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < HALF_OPEN + 200:
        pytest.skip(f"this process may have {hard} files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, HALF_OPEN + 200), hard))
    command = [sys.executable, "-m", "headgate.cli", "serve", "--port", "0"]
    limited = ["sh", "-c", 'ulimit -n 1024 && exec "$@"', "sh", *command]
    with (
        subprocess.Popen(limited, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=os.environ | {"COLUMNS": "200"})
        as server,
        ExitStack() as open_,
    ):  # fmt: skip
        try:
            assert server.stderr is not None
            url = next(word for line in server.stderr for word in line.split() if word.startswith("http://"))
            with httpx.Client(base_url=url, timeout=20.0, trust_env=False) as client:
                started = time.monotonic() + 60.0
                while True:
                    try:
                        assert client.get("/healthz").status_code == 200
                        break
                    except httpx.ConnectError:
                        assert time.monotonic() < started
                for _ in range(HALF_OPEN):
                    half = open_.enter_context(connect(client))
                    half.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
            for _ in range(3):
                assert httpx.get(f"{url}/healthz", timeout=20.0, trust_env=False).status_code == 200
        finally:
            server.kill()
