"""The guard: before any route, how large a body may be, who asks, what the key may do, and how often.

It also counts and times what is answered, and sees to it that no browser guesses at types or keeps what the API says.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from urllib.parse import urlsplit

from fastapi.responses import RedirectResponse
from prometheus_client import Counter, Histogram
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headgate.service.faults import NotFoundError, TooManyError, UnavailableError
from headgate.service.service import Service
from headgate.service.store.keys import Asker, Key, all_keys, match
from headgate.service.store.keys import Scope as KeyScope
from headgate.service.web import errors, logs
from headgate.service.web.health import REQUESTS, SECONDS
from headgate.service.web.lean import LeanRoute
from headgate.service.web.sessions import COOKIE, session_of

_ALWAYS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
_TWICE = {"host": "", "authorization": "bearer", "x-request-id": ""}
"""What these count as, sent more than once: no host of ours, a key that is not known, no id."""
_OPEN = ("/healthz", "/readyz", "/login", "/logout", "/static/", "/favicon.ico")
_FORWARDED = frozenset({"forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip"})
_DECIDING = ("/decisions", "/decisions/batch", "/outcome", "/outcomes", "/live")
_PUSHING = re.compile(r"/v1/allocators/[^/]+/edges/[^/]+/pushes/[^/]+")
_STEPPING = re.compile(r"/v1/(?:allocators/[^/]+/)?live/[^/]+/steps/[^/]+")
_OF_ONE = re.compile(r"/(?:v1/)?allocators/([^/]+)(?:/.*)?", re.DOTALL)
"""Paths that name an allocator."""
_OF_ALL = re.compile(
    r"/|/data|/metrics|/docs|/openapi\.json|/v1/allocators|/v1/outcomes|/v1/(?:decisions|live)/.+", re.DOTALL
)
"""Paths of several allocators, or of none: their routes show what exists for who asks, and no more."""
_LOOKING = frozenset({"GET", "HEAD", "OPTIONS"})
_FRESH = 2.0  # seconds that keys are believed: a revoked key is useless after that
_TURNED_AWAY = frozenset({401, 403, 429})
_BURST = 2.0  # seconds of a key's rate that may come at once


class Keyring:
    """The keys, read again every few seconds, and how much each has left of its rate."""

    def __init__(self) -> None:
        self._keys: dict[str, Key] = {}
        self._read_at = float("-inf")
        self._lock = asyncio.Lock()
        self._left: dict[str, tuple[float, float]] = {}

    async def known(self, service: Service) -> dict[str, Key]:
        """Return the keys by their ids, revoked ones too."""
        if time.monotonic() - self._read_at > _FRESH:
            async with self._lock:
                if time.monotonic() - self._read_at > _FRESH:
                    self._keys = {key.id: key for key in await service.glance(all_keys)}
                    self._read_at = time.monotonic()
        return self._keys

    def charge(self, key: Key, number: int = 1) -> None:
        """Take so many off the key's rate, or refuse.

        More than a burst at once is let through when a whole burst is there (less one, which the call itself was), and
        the rest has to be waited for later.
        """
        now = time.monotonic()
        most = max(key.rate * _BURST, 1.0)
        left, since = self._left.get(key.id, (most, now))
        left = min(left + (now - since) * key.rate, most)
        missing = min(float(number), max(most - 1.0, 1.0)) - left
        self._left[key.id] = left if missing > 0.0 else left - number, now
        if missing > 0.0:
            raise TooManyError(f"at most {key.rate:g} requests a second", missing / key.rate)


class Guard:
    """Refuses what must not reach a route."""

    def __init__(self, app: ASGIApp, lean: Sequence[LeanRoute], keys: bool, local: bool, most_bytes: int) -> None:
        self.app, self._lean = app, lean
        self._keys, self._local, self._most = keys, local, most_bytes
        self._ring = Keyring()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refusal or go on to the routes, and note how that went."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status, sent = time.perf_counter(), 500, scope["headers"]
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(sent)
        }  # the first counts
        if len(headers) < len(sent):
            headers |= {name: value for name, value in _TWICE.items() if sum(name.encode() == n for n, _ in sent) > 1}
        request_id = headers.get("x-request-id", "")
        if logs.GOOD_ID.fullmatch(request_id) is None:
            request_id = secrets.token_hex(8)
        logs.REQUEST_ID.set(request_id)

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, answer = message["status"], message.setdefault("headers", [])
                answer.append((b"x-request-id", request_id.encode()))
                there = {name for name, _ in answer}
                answer += [header for header in _ALWAYS if header[0] not in there]
                if "renewed" in scope:
                    cookie = scope["renewed"].cookie(secure=scope["scheme"] == "https")
                    answer.append((b"set-cookie", cookie.encode("latin-1")))
            await send(message)

        refusal = self._refusal(scope["method"], headers)
        if refusal is None and self._keys and not scope["path"].startswith(_OPEN):
            refusal = await self._unknown(scope, headers)
        if refusal is None and "transfer-encoding" in headers:
            receive = _counted(receive, self._most)
        answer = refusal or self.app
        if refusal is None and scope["method"] == "POST" and "fastapi.telemetry" not in scope:  # its router names spans
            for lean in self._lean:
                found = lean.path_regex.match(scope["path"])
                if found is not None:
                    scope["route"], scope["path_params"], answer = lean, found.groupdict(), lean.handle
                    break
        try:
            await answer(scope, receive, noted)
        finally:
            seconds = time.perf_counter() - start
            route = getattr(scope.get("route"), "path", "none")
            requests, times = _counters(scope["method"] if route != "none" else "any", route, status)
            requests.inc()
            times.observe(seconds)
            if status in _TURNED_AWAY or "refused" in scope:
                logs.turned_away(scope, status, scope.get("refused"), scope.get("key_id"))
            if logs.access.isEnabledFor(logging.INFO):
                logs.answered(scope, status, route, seconds)

    def _refusal(self, method: str, headers: Mapping[str, str]) -> ASGIApp | None:
        """Refuse bodies that are too large, and requests that come from where they must not."""
        size = headers.get("content-length", "0")
        if not (size.isascii() and size.isdigit() and int(size) <= self._most):
            return errors.answer(413, f"a body may have at most {self._most} bytes, got {size[:30]}")
        if not self._keys and self._local:  # so that nobody reaches it by another name of this machine, or by a proxy
            if not _names_this_machine(headers.get("host", "")):
                return errors.answer(403, "without keys only names of this machine are answered, such as localhost")
            if not _FORWARDED.isdisjoint(headers.keys()):
                return errors.answer(403, "without keys nothing is answered through a proxy: run it with --keys")
        if method not in _LOOKING:  # a browser says for which page it asks
            site, origin = headers.get("sec-fetch-site"), headers.get("origin")
            same = origin is None or urlsplit(origin).netloc == headers.get("host")
            if site not in {None, "same-origin", "none"} or not same:
                return errors.answer(403, "pages of other sites may not change anything here")
        return None

    async def _unknown(self, scope: Scope, headers: Mapping[str, str]) -> ASGIApp | None:
        """Find out who asks, and refuse those who may not: then the reason is left in `scope` for the log."""
        looking = scope["method"] in {"GET", "HEAD"}
        try:
            key = await self._asker(scope, headers, looking)
        except UnavailableError as error:
            return errors.refusal(error)
        if key is None:
            if looking and "text/html" in headers.get("accept", ""):
                return RedirectResponse("/login", 303)
            return errors.answer(
                401, "an API key is needed: Authorization: Bearer hg_...", {"WWW-Authenticate": "Bearer"}
            )
        scope["key_id"], scope["actor"] = key.id, f"key {key.id} ({key.name})"
        needed = needed_scope(scope["method"], scope["path"])
        if not key.may(needed):
            scope["refused"] = f"scope {needed} is needed, the key has {key.scope}"
            return errors.answer(403, f"this needs a key with scope {needed}, this one has {key.scope}")
        asker = scope["asker"] = key.asker()
        if not _exists_for(asker, scope["path"]):
            scope["refused"] = f"the key is bound to {key.allocators}"
            return errors.refusal(NotFoundError(_unknown_words(scope["path"])))
        try:
            self._ring.charge(key)
        except TooManyError as error:
            return errors.refusal(error)
        scope["charge"] = partial(self._ring.charge, key)  # for routes whose body says that it is more than one
        return None

    async def _asker(self, scope: Scope, headers: Mapping[str, str], looking: bool) -> Key | None:
        """Return the key that a request shows, or that its session was begun with."""
        kind, _, token = headers.get("authorization", "").partition(" ")
        service: Service = scope["app"].state.service
        if kind.lower() == "bearer":
            key = match(token.strip(), await self._ring.known(service))
            if key is None:
                scope["refused"] = "the key is not known, or was revoked"
            return key
        # A session may look, never change: no page can misuse it.
        token = cookie_parser(headers.get("cookie", "")).get(COOKIE, "") if looking else ""
        if not token:
            return None
        session = session_of(token, await self._ring.known(service))
        if session is None:
            scope["refused"] = "the session is over, or never was"
            return None
        longer = session.renewed()
        if longer is not None:
            scope["renewed"] = longer
        return session.key


@lru_cache(maxsize=1000)
def _counters(method: str, route: str, status: int) -> tuple[Counter, Histogram]:
    """Return the metrics of requests such as these: to look them up by their labels costs more than to count."""
    return REQUESTS.labels(method, route, status), SECONDS.labels(route)


def _exists_for(asker: Asker, path: str) -> bool:
    """Whether there is such a path for who asks: for a key that is bound, what is not known to be its own is not."""
    if asker.bound is None:
        return True
    found = _OF_ONE.fullmatch(path)
    return asker.sees(found[1]) if found is not None else _OF_ALL.fullmatch(path) is not None


def _unknown_words(path: str) -> str:
    """Return what a route says of an allocator that there is not."""
    found = _OF_ONE.fullmatch(path)
    return "Not Found" if found is None else f"there is no allocator {found[1]!r}"


def needed_scope(method: str, path: str) -> KeyScope:
    """Return what a key must be good for.

    >>> needed_scope("POST", "/v1/decisions/d1/outcome"), needed_scope("PUT", "/v1/allocators/a")
    ('decide', 'admin')
    """
    if method in _LOOKING:
        return "read"
    deciding = path.endswith(_DECIDING) or _STEPPING.fullmatch(path) is not None
    if method == "PUT" and re.fullmatch(_PUSHING, path):  # what an edge saw is what it would have reported
        return "decide"
    return "decide" if method == "POST" and deciding else "admin"


def is_loopback(host: str) -> bool:
    """Whether a host's name is this machine and no other.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@lru_cache(maxsize=1000)
def _names_this_machine(host: str) -> bool:
    """Whether a Host header names this machine and no other."""
    try:
        return "@" not in host and is_loopback(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False


def _counted(receive: Receive, most: int) -> Receive:
    """Refuse a body of unknown length once it is too long."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise HTTPException(413, f"a body may have at most {most} bytes")
        return message

    return counted
