"""The routes of those who run the service: is it alive, can it work, and metrics of how it goes, for Prometheus.

Requests are counted by every worker; how allocators stand is in the database.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import Connection

from headgate.service import upkeep, views
from headgate.service.bodies import Health
from headgate.service.comparison import LEVEL, comparisons
from headgate.service.faults import UnavailableError
from headgate.service.service import Asks, Here
from headgate.service.view_bodies import Allocator, Comparison, Counts
from headgate.service.web.errors import RESPONSES

router = APIRouter(tags=["health"])
_READY_SECONDS = 3.0
_OURS = CollectorRegistry()
REQUESTS = Counter("headgate_requests", "Requests answered.", ["method", "route", "status"], registry=_OURS)
SECONDS = Histogram(
    "headgate_request_seconds", "Time to answer a request.", ["route"], registry=_OURS,
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0),
)  # fmt: skip


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def alive() -> Health:
    """Answer as long as the process does."""
    return Health(status="ok")


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", responses={503: RESPONSES[503]})
async def ready(service: Here) -> Health:
    """Answer if the database can be used: something was just written, the way that decisions are."""
    try:
        async with asyncio.timeout(_READY_SECONDS):
            await upkeep.ready(service)
    except TimeoutError as cause:
        raise UnavailableError(f"nothing could be written within {_READY_SECONDS:g} s") from cause
    return Health(status="ok")


@router.get("/metrics", include_in_schema=False)
async def metrics(service: Here, asker: Asks) -> Response:
    """Return the metrics; for a key that is bound to some allocators, how these stand and no more."""
    workers, standing = CollectorRegistry(), CollectorRegistry()

    def look(connection: Connection) -> tuple[list[Allocator], list[Comparison]]:
        visible = [one for one in comparisons(connection) if asker.sees(one.allocator)]
        return views.allocators(connection, asker), visible

    standing.register(_Standing(*await service.look(look)))
    if asker.bound is None and "PROMETHEUS_MULTIPROC_DIR" in os.environ:  # workers, each of which writes its own file
        multiprocess.MultiProcessCollector(workers)  # type: ignore[no-untyped-call]  # it has no types
    elif asker.bound is None:  # requests are counted for all together
        workers = _OURS
    return Response(generate_latest(workers) + generate_latest(standing), media_type=CONTENT_TYPE_LATEST)


class _Standing(Collector):
    """How allocators stand: not a `Gauge`, which several workers would each keep in a file."""

    def __init__(self, allocators: list[Allocator], comparisons: list[Comparison]) -> None:
        self._allocators, self._comparisons = allocators, comparisons

    def collect(self) -> Iterable[Metric]:
        for name in Counts.model_fields:
            about = f"headgate_allocator_{name}", f"Of an allocator: {name}."
            family: Any = GaugeMetricFamily(*about, labels=["allocator"])
            for allocator in self._allocators:
                family.add_metric([allocator.name], getattr(allocator.counts, name))
            yield family
        yield from self._compared()

    def _compared(self) -> Iterable[Metric]:
        """How they do beside their baselines, where that is known."""
        about = "headgate_allocator_mode_decisions", "Decisions by mode, where some might be the baseline's."
        family: Any = GaugeMetricFamily(*about, labels=["allocator", "mode"])
        for one in self._comparisons:
            for mode, decisions in one.modes.items():
                family.add_metric([one.allocator, mode], decisions)
        yield family
        rows = [(one.allocator, one.difference, *one.always_interval) for one in self._comparisons
                 if one.difference is not None and one.always_interval is not None]  # fmt: skip
        words = f"Value per decision beyond the baseline's; low and high: {LEVEL:.0%} at all times together."
        for place, name in enumerate(("difference", "difference_low", "difference_high"), 1):
            family = GaugeMetricFamily(f"headgate_allocator_{name}", words, labels=["allocator"])
            for numbers in rows:
                family.add_metric([numbers[0]], numbers[place])
            yield family
