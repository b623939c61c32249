"""A real service for tests: uvicorn in a thread, on a free port of loopback, with a real database."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn

from headgate.service.settings import Settings
from headgate.service.web.app import create_app
from headgate.service.web.connections import OPTIONS, Protocol

QUIZ: dict[str, Any] = {
    "arms": ["q1", "q2", "q3"],
    "law": {"name": "weibull", "shape": 1.6},
    "policy": {"name": "thompson"},
    "max_budget": 30.0,
}


@contextmanager
def running(settings: Settings, protocol: type[Protocol] = Protocol) -> Iterator[httpx.Client]:
    """Run a service and talk to it."""
    config = uvicorn.Config(
        create_app(settings),
        host="127.0.0.1",
        port=0,
        log_level="warning",
        lifespan="on",
        **OPTIONS | {"http": protocol},
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
        if not thread.is_alive():
            raise RuntimeError("the service did not start")
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30.0, trust_env=False) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()


def results(allocation: dict[str, float], wins: set[str]) -> dict[str, Any]:
    """Report of each arm that got something, at half its allocation if it won."""
    return {
        arm: {"success": True, "threshold": amount / 2} if arm in wins else {"success": False}
        for arm, amount in allocation.items()
        if amount > 0.0
    }
