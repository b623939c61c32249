"""Remembering what is costly to compute, so that many who look cost little more than one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Memory:
    """Values by key, the latest so many; a key says all that its value depends on."""

    def __init__(self, most: int = 100) -> None:
        self._most = most
        self._kept: dict[tuple[Any, ...], Any] = {}

    def get(self, key: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        """Return what was computed for this key, or compute it."""
        value = self._kept.pop(key, None) or compute()
        self._kept[key] = value  # at the end, which is thrown away last
        for old in list(self._kept)[: -self._most]:
            self._kept.pop(old, None)
        return value
