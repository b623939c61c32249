"""The guard: before any route, how large a body may be, who asks, what the key may do, and how often.

It also counts and times what is answered, and sees to it that no browser guesses at types or keeps what the API says.
"""

from __future__ import annotations

import ipaddress
import logging
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from itertools import count
from urllib.parse import urlsplit

from fastapi import FastAPI
from fastapi.responses import RedirectResponse
from prometheus_client import Counter, Histogram
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headgate.service.faults import NotFoundError, TooManyError, UnavailableError
from headgate.service.service import Service
from headgate.service.store.keys import Asker, Key, key_of_token
from headgate.service.store.keys import Scope as KeyScope
from headgate.service.web import errors, logs
from headgate.service.web.health import REQUESTS, SECONDS
from headgate.service.web.keyring import Keyring
from headgate.service.web.lean import LeanRoute
from headgate.service.web.sessions import COOKIE, session_of

_NUMBERS = count(secrets.randbits(63))
"""Ids of requests that bring none: one after the other from a place that no other process begins at."""
_ALWAYS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
_TWICE = {b"host": b"", b"authorization": b"bearer", b"x-request-id": b""}
"""What these count as, sent more than once: no host of ours, a key that is not known, no id."""
_OPEN = ("/healthz", "/readyz", "/login", "/logout", "/static/", "/favicon.ico")
_FORWARDED = frozenset({b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip"})
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
_TURNED_AWAY = frozenset({401, 403, 429})


class GuardedApp(FastAPI):
    """Lets its guard answer before all layers of FastAPI and Starlette: routes of every round need none of them."""

    guard: Guard | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or begin and end."""
        if self.guard is None or scope["type"] != "http":
            await super().__call__(scope, receive, send)
        else:
            scope["app"] = self
            await self.guard(scope, receive, send)


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
        start, status, pairs = time.perf_counter(), 0, scope["headers"]
        headers: dict[bytes, bytes] = dict(reversed(pairs))  # the first counts
        if len(headers) < len(pairs):
            headers |= {name: value for name, value in _TWICE.items() if sum(name == n for n, _ in pairs) > 1}
        request_id = headers.get(b"x-request-id", b"").decode("latin-1")
        if logs.GOOD_ID.fullmatch(request_id) is None:
            request_id = f"{next(_NUMBERS):016x}"
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

        try:
            refusal = self._refusal(scope["method"], headers)
            if refusal is None and self._keys and not scope["path"].startswith(_OPEN):
                refusal = await self._unknown(scope, headers)
            if refusal is None and b"transfer-encoding" in headers:
                receive = _limit(receive, self._most)
            answer = refusal or self.app
            if refusal is None and scope["method"] == "POST":
                for lean in self._lean:
                    match = lean.path_regex.match(scope["path"])
                    if match is not None:
                        scope["route"], scope["path_params"], answer = lean, match.groupdict(), lean.handle
                        break
            await answer(scope, receive, noted)
        except Exception as error:
            if status:  # it was answered, and whoever did so wants it to be seen
                raise
            await errors.unexpected(scope, error)(scope, receive, noted)
        finally:
            status = status or 500
            seconds = time.perf_counter() - start
            route = getattr(scope.get("route"), "path", "none")
            requests, times = _counters(scope["method"] if route != "none" else "any", route, status)
            requests.inc()
            times.observe(seconds)
            if status in _TURNED_AWAY or "refused" in scope:
                logs.turned_away(scope, status, scope.get("refused"), scope.get("key_id"))
            if logs.access.isEnabledFor(logging.INFO):
                logs.answered(scope, status, route, seconds)

    def _refusal(self, method: str, headers: Mapping[bytes, bytes]) -> ASGIApp | None:
        """Refuse bodies that are too large, and requests that come from where they must not."""
        size = headers.get(b"content-length", b"0")
        if not (size.isdigit() and len(size) < 20 and int(size) <= self._most):
            text = size[:30].decode("latin-1")
            return errors.answer(413, f"a body may have at most {self._most} bytes, got {text}")
        if not self._keys and self._local:  # so that nobody reaches it by another name of this machine, or by a proxy
            if not _names_this_machine(headers.get(b"host", b"").decode("latin-1")):
                return errors.answer(403, "without keys only names of this machine are answered, such as localhost")
            if not _FORWARDED.isdisjoint(headers.keys()):
                return errors.answer(403, "without keys nothing is answered through a proxy: run it with --keys")
        if method not in _LOOKING:  # a browser says for which page it asks
            site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
            same = origin is None or _host_of(origin) == headers.get(b"host")
            if site not in {None, b"same-origin", b"none"} or not same:
                return errors.answer(403, "pages of other sites may not change anything here")
        return None

    async def _unknown(self, scope: Scope, headers: Mapping[bytes, bytes]) -> ASGIApp | None:
        """Find out who asks, and refuse those who may not: then the reason is left in `scope` for the log."""
        looking = scope["method"] in {"GET", "HEAD"}
        try:
            key = await self._asker(scope, headers, looking)
        except UnavailableError as error:
            return errors.refusal(error)
        if key is None:
            if looking and b"text/html" in headers.get(b"accept", b""):
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

    async def _asker(self, scope: Scope, headers: Mapping[bytes, bytes], looking: bool) -> Key | None:
        """Return the key that a request shows, or that its session was begun with."""
        kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        service: Service = scope["app"].state.service
        if kind.lower() == "bearer":
            key = key_of_token(token.strip(), await self._ring.keys(service))
            if key is None:
                scope["refused"] = "the key is not known, or was revoked"
            return key
        # A session may look, never change: no page can misuse it.
        token = cookie_parser(headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE, "") if looking else ""
        if not token:
            return None
        session = session_of(token, await self._ring.keys(service))
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
    match = _OF_ONE.fullmatch(path)
    return asker.sees(match[1]) if match is not None else _OF_ALL.fullmatch(path) is not None


def _unknown_words(path: str) -> str:
    """Return what a route says of an allocator that there is not."""
    match = _OF_ONE.fullmatch(path)
    return "Not Found" if match is None else f"there is no allocator {match[1]!r}"


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


def _host_of(origin: bytes) -> bytes | None:
    """Return the host and port of an Origin header; None: it is no address."""
    try:
        return urlsplit(origin.decode("latin-1")).netloc.encode("latin-1")
    except ValueError:
        return None


def _limit(receive: Receive, most: int) -> Receive:
    """Refuse a body of unknown length once it is too long."""
    total = 0

    async def receive_limited() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > most:
            raise HTTPException(413, f"a body may have at most {most} bytes")
        return message

    return receive_limited
