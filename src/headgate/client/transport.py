"""How an httpx client is set up: where to go, and with which key."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from headgate.errors import InputError


def options(url: str, key: str | None) -> dict[str, Any]:
    """Return what an httpx client is made with."""
    place = urlsplit(url)
    if place.scheme not in {"http", "https"} or not place.hostname or place.query or place.fragment:
        raise InputError(f"url must be http://host:port or https://host, got {url!r}")
    headers = {"accept": "application/json", "content-type": "application/json"}
    if key is not None:
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise InputError("key must be what `headgate keys create` printed")  # and is not shown
        headers["authorization"] = f"Bearer {key}"
    return {"base_url": url, "headers": headers}
