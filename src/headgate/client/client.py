"""The client that waits for its answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from headgate.client import calls
from headgate.client.answers import Round
from headgate.client.base import PLACES, BaseClient
from headgate.client.breaker import Breaker
from headgate.client.buffer import Buffer
from headgate.client.calls import Call
from headgate.client.deadline import within
from headgate.client.errors import UnavailableError
from headgate.client.retry import Again, Attempts, Done, Retry

T = TypeVar("T")
P = ParamSpec("P")


def _sent(call: Callable[P, Call[T]]) -> Callable[Concatenate[Client, P], T]:
    """Return the method that makes a call, sends it, and returns its answer."""

    @wraps(call)
    def method(client: Client, /, *args: P.args, **options: P.kwargs) -> T:
        return client.send(call(*args, **options))

    return method


class Client(BaseClient):
    """A decision service, seen from a program; any number of threads may use one.

    Calls are tried again when the network or the service fails, until `retry.deadline`. That is safe: whatever a call
    changes has an id, and the service does it once. With a `breaker`, a service that does not answer is left alone for
    a while; `decide(..., fallback=...)` says how to split a budget then; `buffer()` sends reports together, later.

    ```python
    with hg.Client("http://127.0.0.1:8000") as client:
        client.put_allocator("quiz", ["q1", "q2"], hg.Weibull(1.6), max_budget=30.0)
        decision = client.decide("quiz", budget=20.0)
        client.report(decision, {"q1": 3.2, "q2": None})  # q1 was solved after 3.2, q2 was not
    ```
    """

    _kind = "Client"

    def __init__(
        self, url: str, key: str | None = None, *, retry: Retry | None = None, breaker: Breaker | None = None
    ) -> None:
        super().__init__(url, key, retry=retry, breaker=breaker)
        self._places = threading.Semaphore(PLACES)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, call: Call[T]) -> T:
        """Make a call, again and again until the deadline, and return its answer."""
        if call.unsent is not None:
            return call.unsent
        try:
            with self._watched():
                return self._ask(call)
        except UnavailableError as error:
            return self._instead(call, error)

    def buffer(self, *, every: float = 1.0, most: int = 100_000) -> Buffer:
        """Return a block's buffer of reports, sent together every so many seconds, at most so many waiting."""
        return Buffer(self, every, most)

    def _ask(self, call: Call[T]) -> T:
        attempts = Attempts(call, self.retry)
        result: Done[T] | Again
        while True:
            seconds = attempts.timeout()
            try:
                answer = self._try(call, seconds)
            except (self._httpx.RequestError, TimeoutError) as error:
                result = attempts.failed(error)
            else:
                result = attempts.answered(answer.status_code, answer.headers, answer.content)
            if isinstance(result, Done):
                return result.answer
            time.sleep(result.pause)

    def _try(self, call: Call[Any], seconds: float) -> Any:
        """Send a call once."""
        with within(seconds):
            if not self._places.acquire(timeout=seconds):
                raise TimeoutError(f"{PLACES} other calls are under way")
            try:
                return self._http.request(call.method, call.path, content=call.body, timeout=self._seconds(seconds))
            finally:
                self._places.release()

    put_allocator = _sent(calls.put_allocator)
    allocator = _sent(calls.allocator)
    allocators = _sent(calls.allocators)
    change = _sent(calls.change)
    archive = _sent(calls.archive)
    add_arm = _sent(calls.add_arm)
    retire_arm = _sent(calls.retire_arm)
    decide = _sent(calls.decide)
    decide_many = _sent(calls.decide_many)
    decision = _sent(calls.decision)
    why = _sent(calls.why)
    report = _sent(calls.report)
    report_many = _sent(calls.report_many)
    estimates = _sent(calls.estimates)
    comparison = _sent(calls.comparison)
    export_evidence = _sent(calls.export_evidence)
    import_evidence = _sent(calls.import_evidence)
    retract = _sent(calls.retract)
    retractions = _sent(calls.retractions)
    forget = _sent(calls.forget)
    learner = _sent(calls.learner)
    push = _sent(calls.push)
    edges = _sent(calls.edges)
    health = _sent(calls.health)

    def decisions(self, name: str, *, after: int | None = None, page: int = 100) -> Iterator[Round]:
        """Iterate over the decisions and what was reported of them, oldest first; `after` goes on from a round."""
        while True:
            answer = self.send(calls.decisions(name, after, page))
            yield from answer.rounds
            after = answer.next_before
            if after is None:
                return

    def history(self, name: str, *, before: int | None = None, page: int = 100) -> Iterator[Round]:
        """Iterate over the decisions and what was reported of them, newest first, asking for a page at a time."""
        while True:
            answer = self.send(calls.history(name, before, page))
            yield from answer.rounds
            before = answer.next_before
            if before is None:
                return
