"""The keys as the guard knows them, and how much each has left of its rate."""

from __future__ import annotations

import asyncio
import time

from headgate.service.faults import TooManyError
from headgate.service.service import Service
from headgate.service.store.keys import Key, all_keys

_FRESH = 2.0  # seconds that keys are believed: a revoked key is useless after that
_BURST = 2.0  # seconds of a key's rate that may come at once


class Keyring:
    """The keys, read again every few seconds, and how much each has left of its rate."""

    def __init__(self) -> None:
        self._keys: dict[str, Key] = {}
        self._read_at = float("-inf")
        self._lock = asyncio.Lock()
        self._credit: dict[str, tuple[float, float]] = {}

    async def keys(self, service: Service) -> dict[str, Key]:
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
        credit, since = self._credit.get(key.id, (most, now))
        credit = min(credit + (now - since) * key.rate, most)
        missing = min(float(number), max(most - 1.0, 1.0)) - credit
        self._credit[key.id] = credit if missing > 0.0 else credit - number, now
        if missing > 0.0:
            raise TooManyError(f"at most {key.rate:g} requests a second", missing / key.rate)
