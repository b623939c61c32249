"""The client that waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Concatenate, ParamSpec, Self, TypeVar

from headgate.client import calls
from headgate.client.answers import Round
from headgate.client.calls import Call
from headgate.client.retry import Again, Attempts, Done, Retry
from headgate.client.transport import options
from headgate.extras import extra

T = TypeVar("T")
P = ParamSpec("P")


def _sent(call: Callable[P, Call[T]]) -> Callable[Concatenate[Client, P], T]:
    """Return the method that makes a call, sends it, and returns its answer."""

    @wraps(call)
    def method(client: Client, /, *args: P.args, **options: P.kwargs) -> T:
        return client.send(call(*args, **options))

    return method


class Client:
    """A decision service, seen from a program; any number of threads may use one.

    Calls are tried again when the network or the service fails, until `retry.deadline`. That is safe: whatever a call
    changes has an id, and the service does it once.

    ```python
    with hg.Client("http://127.0.0.1:8000") as client:
        client.put_allocator("quiz", ["q1", "q2"], hg.Weibull(1.6), max_budget=30.0)
        decision = client.decide("quiz", budget=20.0)
        client.report(decision, {"q1": 3.2, "q2": None})  # q1 was solved after 3.2, q2 was not
    ```
    """

    def __init__(self, url: str, key: str | None = None, *, retry: Retry | None = None) -> None:
        chosen = options(url, key)
        self._httpx = extra("httpx")
        self._http = self._httpx.Client(**chosen)
        self.retry = retry or Retry()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, call: Call[T]) -> T:
        """Make a call, again and again until the deadline, and return its answer."""
        attempts = Attempts(call, self.retry)
        result: Done[T] | Again
        while True:
            try:
                answer = self._http.request(call.method, call.path, content=call.body, timeout=attempts.timeout())
            except self._httpx.RequestError as error:
                result = attempts.failed(error)
            else:
                result = attempts.answered(answer.status_code, answer.headers, answer.content)
            if isinstance(result, Done):
                return result.answer
            time.sleep(result.pause)

    put_allocator = _sent(calls.put_allocator)
    allocator = _sent(calls.allocator)
    allocators = _sent(calls.allocators)
    archive = _sent(calls.archive)
    add_arm = _sent(calls.add_arm)
    retire_arm = _sent(calls.retire_arm)
    decide = _sent(calls.decide)
    decide_many = _sent(calls.decide_many)
    report = _sent(calls.report)
    report_many = _sent(calls.report_many)
    estimates = _sent(calls.estimates)
    export_evidence = _sent(calls.export_evidence)
    import_evidence = _sent(calls.import_evidence)
    health = _sent(calls.health)

    def history(self, name: str, *, before: int | None = None, page: int = 100) -> Iterator[Round]:
        """Iterate over the decisions and what was reported of them, newest first, asking for a page at a time."""
        while True:
            answer = self.send(calls.history(name, before, page))
            yield from answer.rounds
            before = answer.next_before
            if before is None:
                return
