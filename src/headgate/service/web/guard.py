"""The guard: before any route, how large a body may be, who asks, what the key may do, and how often."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from functools import lru_cache
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from fastapi.responses import RedirectResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headgate.service.faults import UnavailableError
from headgate.service.service import Service
from headgate.service.store.keys import Key, all_keys, match
from headgate.service.store.keys import Scope as KeyScope
from headgate.service.web import errors

COOKIE = "headgate_key"
_OPEN = ("/healthz", "/readyz", "/login", "/logout", "/static/", "/favicon.ico")
_FORWARDED = frozenset({"forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip"})
_LOOKING = frozenset({"GET", "HEAD", "OPTIONS"})
_FRESH = 2.0  # seconds that keys are believed: a revoked key is useless after that
_BURST = 2.0  # seconds of a key's rate that may come at once


class Keyring:
    """The keys, read again every few seconds, and how much each has left of its rate."""

    def __init__(self) -> None:
        self._keys: dict[str, Key] = {}
        self._read_at = float("-inf")
        self._lock = asyncio.Lock()
        self._left: dict[str, tuple[float, float]] = {}

    async def find(self, service: Service, token: str) -> Key | None:
        """Return the key of this secret, if it is in use."""
        if time.monotonic() - self._read_at > _FRESH:
            async with self._lock:
                if time.monotonic() - self._read_at > _FRESH:
                    self._keys = {key.id: key for key in await service.look(all_keys)}
                    self._read_at = time.monotonic()
        return match(token, self._keys)

    def wait(self, key: Key) -> float:
        """Take one request off the key's rate: 0, or the seconds until there is one to take."""
        now = time.monotonic()
        most = max(key.rate * _BURST, 1.0)
        left, since = self._left.get(key.id, (most, now))
        left = min(left + (now - since) * key.rate, most)
        if left < 1.0:
            self._left[key.id] = left, now
            return (1.0 - left) / key.rate
        self._left[key.id] = left - 1.0, now
        return 0.0


class Guard:
    """Refuses what must not reach a route."""

    def __init__(self, app: ASGIApp, keys: bool, local: bool, most_bytes: int) -> None:
        self.app = app
        self._keys, self._local, self._most = keys, local, most_bytes
        self._ring = Keyring()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refusal, or go on to the routes."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope["method"], headers)
        if refusal is None and self._keys and not scope["path"].startswith(_OPEN):
            refusal = await self._unknown(scope, headers)
        if refusal is None and "transfer-encoding" in headers:
            receive = _counted(receive, self._most)
        await (refusal or self.app)(scope, receive, _guarded(send))

    def _refusal(self, method: str, headers: Headers) -> ASGIApp | None:
        """Refuse bodies that are too large, and requests that come from where they must not."""
        size = headers.get("content-length", "0")
        if not (size.isascii() and size.isdigit() and int(size) <= self._most):
            return errors.answer(413, f"a body may have at most {self._most} bytes, got {size[:30]}")
        if not self._keys and self._local:  # so that nobody reaches it by another name of this machine, or by a proxy
            hosts = headers.getlist("host")
            if len(hosts) != 1 or not _names_this_machine(hosts[0]):
                return errors.answer(403, "without keys only names of this machine are answered, such as localhost")
            if not _FORWARDED.isdisjoint(headers.keys()):
                return errors.answer(403, "without keys nothing is answered through a proxy: run it with --keys")
        if method not in _LOOKING:  # a browser says for which page it asks
            site, origin = headers.get("sec-fetch-site"), headers.get("origin")
            same = origin is None or urlsplit(origin).netloc == headers.get("host")
            if site not in {None, "same-origin", "none"} or not same:
                return errors.answer(403, "pages of other sites may not change anything here")
        return None

    async def _unknown(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        looking = scope["method"] in {"GET", "HEAD"}
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            token = _cookie(headers) if looking else ""  # a cookie may look, never change: no page can misuse it
        try:
            key = await self._ring.find(scope["app"].state.service, token.strip()) if token else None
        except UnavailableError as error:
            return errors.answer(503, str(error), {"Retry-After": "1"})
        if key is None:
            if looking and "text/html" in headers.get("accept", ""):
                return RedirectResponse("/login", 303)
            return errors.answer(
                401, "an API key is needed: Authorization: Bearer hg_...", {"WWW-Authenticate": "Bearer"}
            )
        needed = needed_scope(scope["method"], scope["path"])
        if not key.may(needed):
            return errors.answer(403, f"this needs a key with scope {needed}, this one has {key.scope}")
        seconds = self._ring.wait(key)
        if seconds > 0.0:
            return errors.answer(429, f"at most {key.rate:g} requests a second", {"Retry-After": str(int(seconds) + 1)})
        scope["actor"] = f"key {key.id} ({key.name})"
        return None


def needed_scope(method: str, path: str) -> KeyScope:
    """Return what a key must be good for.

    >>> needed_scope("POST", "/v1/decisions/d1/outcome"), needed_scope("PUT", "/v1/allocators/a")
    ('decide', 'admin')
    """
    if method in _LOOKING:
        return "read"
    deciding = path.endswith(("/decisions", "/decisions/batch", "/outcome", "/outcomes"))
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


def _guarded(send: Send) -> Send:
    """Let no browser guess at types, nor keep what the API says."""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message.setdefault("headers", []))
            headers.setdefault("x-content-type-options", "nosniff")
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return guarded


def _cookie(headers: Headers) -> str:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


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
