"""OpenTelemetry, as it arrives: a collector on loopback that reads what a real service sends."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="it is what the extra otel brings")
TRACE = "0af7651916cd43dd8448eb211c80319c"


class Collector:
    """Keeps what is sent to it, by path."""

    def __init__(self) -> None:
        self.sent: dict[str, list[bytes]] = {"/v1/traces": [], "/v1/metrics": []}
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                packed = self.headers.get("content-encoding") == "gzip"
                collector.sent[self.path].append(gzip.decompress(body) if packed else body)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def collector() -> Iterator[Collector]:
    found = Collector()
    yield found
    found.close()


def test_a_request_is_a_span_of_the_callers_trace(tmp_path: Path, collector: Collector) -> None:
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    secret = "hg_0123456789ab_secret"  # noqa: S105  # nobody's
    command = [sys.executable, "-m", "headgate.cli", "serve", "--port", "0", "--otel"]
    environment = os.environ | {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "COLUMNS": "200"}
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stderr is not None
        url = next(word for line in server.stderr for word in line.split() if word.startswith("http://"))
        with httpx.Client(base_url=url, transport=httpx.HTTPTransport(retries=20), trust_env=False) as client:
            client.put("/v1/allocators/pair", json={"arms": ["a", "b"], "law": "exponential", "max_budget": 10.0})
            made = client.post(
                "/v1/allocators/pair/decisions", json={"budget": 10.0},
                headers={"traceparent": f"00-{TRACE}-b7ad6b7169203331-01", "Authorization": f"Bearer {secret}"},
            )  # fmt: skip
            assert made.status_code == 200
        server.send_signal(signal.SIGINT)
        assert server.wait(30) in {0, 130, -signal.SIGINT}
    end = time.monotonic() + 10.0
    while not all(collector.sent.values()):
        assert time.monotonic() < end, {path: len(bodies) for path, bodies in collector.sent.items()}
    spans = [
        (resource, span)
        for body in collector.sent["/v1/traces"]
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    ours = [(r, s) for r, s in spans if s.trace_id.hex() == TRACE and "/v1/allocators/{name}/decisions" in s.name]
    assert ours, [s.name for _, s in spans]
    assert any(a.key == "service.name" and a.value.string_value == "headgate" for a in ours[0][0].resource.attributes)
    names = {
        metric.name
        for body in collector.sent["/v1/metrics"]
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert {"http.server.request.duration", "headgate.allocator.decisions"} <= names
    assert not [1 for bodies in collector.sent.values() for body in bodies if b"secret" in body]
