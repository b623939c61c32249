"""OpenTelemetry, for those who ask for it (`headgate serve --otel`, extra `otel`): where traces and metrics are sent.

FastAPI makes a span and the metrics of every request, as soon as there are providers for them: that is what is set up
here, beside gauges of how allocators stand. Where it all goes is said by OpenTelemetry's own variables, such as
OTEL_EXPORTER_OTLP_ENDPOINT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import headgate
from headgate.extras import extra
from headgate.service import views
from headgate.service.faults import UnavailableError
from headgate.service.service import Service
from headgate.service.view_bodies import Counts


def start(service: Service) -> Callable[[], None]:
    """Begin to send, and return what sends the rest and ends."""
    for module in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"):
        extra(module)
    from opentelemetry import metrics, trace  # noqa: PLC0415  # an extra
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter  # noqa: PLC0415  # an extra
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415  # an extra
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415  # an extra
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415  # an extra
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415  # an extra
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415  # an extra
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415  # an extra

    resource = Resource.create({"service.name": "headgate", "service.version": headgate.__version__})
    tracing = TracerProvider(resource=resource)
    tracing.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    metering = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource=resource)
    trace.set_tracer_provider(tracing)
    metrics.set_meter_provider(metering)
    meter = metering.get_meter("headgate", headgate.__version__)
    for name in Counts.model_fields:
        meter.create_observable_gauge(f"headgate.allocator.{name}", [partial(_standing, service, name, metrics)])

    def stop() -> None:
        tracing.shutdown()
        metering.shutdown()

    return stop


def _standing(service: Service, name: str, metrics: Any, _options: object) -> Iterable[Any]:
    """How allocators stand, one of their counts; nothing while the database cannot be read."""
    try:
        items = service.database.look(views.allocators)
    except UnavailableError:
        return []
    return [metrics.Observation(getattr(one.counts, name), {"allocator": one.name}) for one in items]
