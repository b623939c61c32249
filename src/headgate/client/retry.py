"""When to try again, and when to give up; decided here, carried out by the transports.

Every call may be repeated: each names what it is about (a decision by its id, an import by its key), so the service
does it once, however often it is asked.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from headgate.client.calls import Call
from headgate.client.errors import ClientError, ServerError, UnavailableError, of_body
from headgate.errors import InputError

T = TypeVar("T")
_AGAIN = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Retry:
    """How patient a client is, in seconds."""

    first: float = 0.1
    """The longest pause before the second try; it doubles with every try, and each pause is random within it."""
    most: float = 5.0
    """The longest pause at all, unless the service asks for a longer one."""
    attempt: float = 10.0
    """The longest that one try may take, from connecting to the last byte of the answer."""
    deadline: float = 30.0
    """The longest that all tries may take together."""

    def __post_init__(self) -> None:
        for name in ("first", "most", "attempt", "deadline"):
            value = getattr(self, name)
            if not 0.0 < value < float("inf"):
                raise InputError(f"{name} must be seconds, > 0, got {value!r}")


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The answer."""

    answer: T


@dataclass(frozen=True, slots=True)
class Again:
    """Try again after a pause."""

    pause: float


class Attempts(Generic[T]):
    """The tries of one call."""

    def __init__(
        self,
        call: Call[T],
        retry: Retry,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._call, self._retry, self._clock, self._chance = call, retry, clock, chance
        self._end = clock() + retry.deadline
        self._failures = 0
        self._refusal: ClientError | None = None

    def timeout(self) -> float:
        """Return how long the next try may take."""
        return max(min(self._retry.attempt, self._end - self._clock()), 1e-3)

    def answered(self, status: int, headers: Mapping[str, str], content: bytes) -> Done[T] | Again:
        """Take an answer: it is what was asked for, or a reason to try again, or raised."""
        if not 200 <= status < 300:
            error = of_body(status, content)
            if status not in _AGAIN:
                raise error
            self._refusal = error
            return self._again(error, _seconds(headers.get("retry-after")))
        try:
            return Done(self._call.read(json.loads(content)))
        except UnavailableError as error:  # one of many
            return self._again(error, 0.0)
        except (ValueError, KeyError, TypeError, AttributeError) as cause:
            raise ServerError(
                f"{self._call.path} answered with something else than Headgate does", status=status
            ) from cause

    def failed(self, error: Exception) -> Again:
        """Take note that there was no answer: try again, or raise if there is no more time."""
        words = str(error) or type(error).__name__
        return self._again(UnavailableError(f"no answer to {self._call.method} {self._call.path}: {words}"), 0.0, error)

    def _again(self, error: ClientError, least: float, cause: Exception | None = None) -> Again:
        bound = min(self._retry.most, self._retry.first * 2.0 ** min(self._failures, 60))
        self._failures += 1
        pause = least + bound * self._chance()  # jitter: clients that failed together do not come back together
        if self._clock() + pause >= self._end:
            raise (self._refusal or error) from cause  # what the service said tells more than that time ran out
        return Again(pause)


def _seconds(text: str | None) -> float:
    """Read a Retry-After in seconds; a date, which Headgate does not send, is no wait."""
    return float(text) if text is not None and text.isascii() and text.isdigit() else 0.0
