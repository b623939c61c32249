"""Metrics for Prometheus: how requests go, from every worker; how allocators stand, from the database."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headgate.service.bodies import Allocator

_OURS = CollectorRegistry()
_REQUESTS = Counter("headgate_requests", "Requests answered.", ["method", "route", "status"], registry=_OURS)
_SECONDS = Histogram(
    "headgate_request_seconds", "Time to answer a request.", ["route"], registry=_OURS,
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0),
)  # fmt: skip


class Measured:
    """Counts and times every request that was routed."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and note how that went."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noted)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            _REQUESTS.labels(scope["method"] if route != "none" else "any", route, status).inc()
            _SECONDS.labels(route).observe(time.perf_counter() - start)


def exposition(allocators: list[Allocator]) -> tuple[bytes, str]:
    """Return the metrics as Prometheus reads them, and their content type."""
    registry = CollectorRegistry()
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:  # several workers, each of which writes its own file there
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # it has no types
        requests = generate_latest(registry)
    else:
        requests = generate_latest(_OURS)
    standing = CollectorRegistry()
    standing.register(_Standing(allocators))
    return requests + generate_latest(standing), CONTENT_TYPE_LATEST


class _Standing(Collector):
    def __init__(self, allocators: list[Allocator]) -> None:
        self._allocators = allocators

    def collect(self) -> Iterable[Metric]:
        for name in ("decisions", "complete", "pending", "expired", "late", "duplicates", "contradictions",
                     "reward", "budget", "given"):  # fmt: skip
            family: Any = GaugeMetricFamily(
                f"headgate_allocator_{name}", f"Of an allocator: {name}.", labels=["allocator"]
            )
            for allocator in self._allocators:
                family.add_metric([allocator.name], getattr(allocator.counts, name))
            yield family
