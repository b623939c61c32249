"""A real service on loopback, a proxy that loses things on purpose, and one face for both clients."""

from __future__ import annotations

import asyncio
import http.client
import inspect
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("httpx")
pytest.importorskip("fastapi")

import uvicorn

from headgate.client import AsyncClient, Client, Retry
from headgate.service.settings import Settings
from headgate.service.web.app import create_app
from headgate.service.web.connections import OPTIONS

STATUS = {"busy": 503, "limit": 429, "gateway": 502, "timeout": 504}
QUICK = Retry(first=0.001, most=0.01, attempt=10.0, deadline=20.0)


@contextmanager
def serving(settings: Settings) -> Iterator[str]:
    """Run a service in a thread, and yield its address."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(settings), log_level="warning", lifespan="on", **OPTIONS))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
    thread.start()
    try:
        while not server.started and thread.is_alive():  # machine code may have to be made first
            thread.join(0.05)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = tmp_path_factory.mktemp("client") / "headgate.db"
    with serving(Settings(database=f"sqlite:///{file}", keys=False)) as found:
        yield found


class Awaited:
    """An `AsyncClient` that is called like a `Client`, so that one test serves both."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._loop = asyncio.new_event_loop()

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            found = getattr(self._client, name)(*args, **options)
            return self._loop.run_until_complete(_all(found) if inspect.isasyncgen(found) else found)

        return call

    def close(self) -> None:
        self._loop.run_until_complete(self._client.close())
        self._loop.close()


async def _all(found: Any) -> list[Any]:
    return [one async for one in found]


def open_client(kind: str, url: str, key: str | None = None, retry: Retry = QUICK) -> Any:
    return Client(url, key, retry=retry) if kind == "sync" else Awaited(AsyncClient(url, key, retry=retry))


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(kind: str, url: str) -> Iterator[Any]:
    found = open_client(kind, url)
    yield found
    found.close()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """An allocator's name of this test alone."""
    return "".join(c if c.isalnum() else "-" for c in request.node.name)[:64].strip("-")


class Flaky:
    """A proxy that does to each request what comes next in a plan; when that ends, it passes everything on.

    pass: as it is. busy, limit, gateway, timeout: a status of `STATUS`, not passed on. drop: no answer, not passed on.
    lose: passed on, and the answer lost. tear: passed on, and only half of the answer comes back.
    """

    def __init__(self, url: str) -> None:
        self.upstream = url.removeprefix("http://")
        self.plan: list[str] = []
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        flaky = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # an answer is one packet: two would wait for each other

            def do_POST(self) -> None:
                flaky._handle(self)

            do_GET = do_PUT = do_POST  # noqa: N815  # the names that the base class calls

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def _handle(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("content-length", 0)))
        self.seen.append((request.command, request.path, {k.lower(): v for k, v in request.headers.items()}))
        fate = self.plan.pop(0) if self.plan else "pass"
        if fate == "drop":
            request.close_connection = True
        elif fate in STATUS:
            self._answer(request, STATUS[fate], b"<h1>not now</h1>")
        else:
            upstream = http.client.HTTPConnection(self.upstream)
            upstream.request(request.command, request.path, body, {"content-type": "application/json"})
            answer = upstream.getresponse()
            content = answer.read()
            upstream.close()
            if fate == "pass":
                self._answer(request, answer.status, content)
                return
            request.close_connection = True
            if fate == "tear":
                request.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(content))
                request.wfile.write(content[: len(content) // 2])

    def _answer(self, request: BaseHTTPRequestHandler, status: int, content: bytes) -> None:
        request.send_response(status)
        request.send_header("content-length", str(len(content)))
        if status == 429:
            request.send_header("retry-after", "0")
        request.end_headers()
        request.wfile.write(content)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def flaky(url: str) -> Iterator[Flaky]:
    found = Flaky(url)
    yield found
    found.close()
