"""A circuit breaker: a service that does not answer is left alone for a while, instead of being waited for every time.

Decided here, without any input or output; carried out by the clients. Only silence counts (no answer, or 502, 503 and
504, until the deadline): a refusal is an answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from headgate.client.errors import UnavailableError
from headgate.errors import InputError


@dataclass(frozen=True, slots=True)
class Breaker:
    """When to stop asking, and when to try again."""

    failures: int = 3
    """Calls in a row without an answer that open it: from then on calls fail at once."""
    rest: float = 5.0
    """Seconds that it stays open. Then one call is let through: if that is answered, all are again."""

    def __post_init__(self) -> None:
        if not self.failures >= 1 or self.failures % 1:
            raise InputError(f"failures must be a whole number of calls, >= 1, got {self.failures!r}")
        if not 0.0 < self.rest < float("inf"):
            raise InputError(f"rest must be seconds, > 0, got {self.rest!r}")


class Circuit:
    """The state of a client's breaker; threads may share it."""

    def __init__(self, breaker: Breaker, clock: Callable[[], float] = time.monotonic) -> None:
        self._breaker, self._clock = breaker, clock
        self._lock = threading.Lock()
        self._failures = 0
        self._open_until: float | None = None

    def enter(self) -> None:
        """Let a call through, or raise an `UnavailableError` at once."""
        with self._lock:
            if self._open_until is None:
                return
            rest = self._open_until - self._clock()
            if rest > 0.0:
                raise UnavailableError(f"the service has not answered: it is asked again in {rest:.1f} s")
            self._open_until = self._clock() + self._breaker.rest  # this one is the trial: nobody else until it is over

    def answered(self) -> None:
        """Take note of an answer, whatever it says."""
        with self._lock:
            self._failures, self._open_until = 0, None

    def failed(self) -> None:
        """Take note that there was none."""
        with self._lock:
            self._failures += 1
            if self._failures >= self._breaker.failures:
                self._open_until = self._clock() + self._breaker.rest
