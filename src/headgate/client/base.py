"""What both clients have: where they go, with which patience, and when they leave a service alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from headgate.client.breaker import Breaker, Circuit
from headgate.client.calls import Call
from headgate.client.deadline import watch
from headgate.client.errors import ClientError, UnavailableError
from headgate.client.retry import Retry
from headgate.errors import InputError
from headgate.extras import extra

T = TypeVar("T")
PLACES = 100
"""Calls under way at once; others wait here, not in httpcore's pool, which loses a connection that it hands over in the
moment in which the waiting ends."""


def _options(url: str, key: str | None) -> dict[str, Any]:
    """Return what an httpx client is made with: where to go, and with which key."""
    place = urlsplit(url)
    if place.scheme not in {"http", "https"} or not place.hostname or place.query or place.fragment:
        raise InputError(f"url must be http://host:port or https://host, got {url!r}")
    headers = {"accept": "application/json", "content-type": "application/json"}
    if key is not None:
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise InputError("key must be what `headgate keys create` printed")  # and is not shown
        headers["authorization"] = f"Bearer {key}"
    return {"base_url": url, "headers": headers}


class BaseClient:
    """A client of a service, that waits or does not."""

    _kind: ClassVar[str]
    """The client of httpx that does the work."""

    def __init__(
        self, url: str, key: str | None = None, *, retry: Retry | None = None, breaker: Breaker | None = None
    ) -> None:
        chosen = _options(url, key)
        self._httpx = extra("httpx")
        limits = self._httpx.Limits(max_connections=None, max_keepalive_connections=PLACES)
        self._http = getattr(self._httpx, self._kind)(limits=limits, **chosen)
        watch(self._http)
        self.retry = retry or Retry()
        self._circuit = None if breaker is None else Circuit(breaker)

    def _seconds(self, seconds: float) -> Any:
        """Return the timeouts of one try: silence ends it; nobody waits for the pool."""
        return self._httpx.Timeout(seconds, pool=None)

    def _instead(self, call: Call[T], error: UnavailableError) -> T:
        """Return what a call has for this case, or raise."""
        if call.instead is None:
            raise error
        return call.instead

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Let a call through if the breaker does, and tell it how that went."""
        if self._circuit is None:
            yield
            return
        self._circuit.enter()
        try:
            yield
        except UnavailableError:
            self._circuit.failed()
            raise
        except ClientError:
            self._circuit.answered()
            raise
        except BaseException:  # cancelled, or a bug: nothing is known of the service, but its trial is over
            self._circuit.failed()
            raise
        self._circuit.answered()
