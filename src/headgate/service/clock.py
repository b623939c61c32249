"""Times: microseconds since 1970 in the database, RFC 3339 in UTC outside."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> int:
    """Return the time in microseconds."""
    return time.time_ns() // 1000


def after(start: int, seconds: float | None) -> int | None:
    """Return the time so many seconds later; None is never."""
    return None if seconds is None else start + round(seconds * 1e6)


def as_datetime(micros: int | None) -> datetime | None:
    """Return a stored time as a datetime."""
    return None if micros is None else _EPOCH + timedelta(microseconds=micros)


def as_text(micros: int | None) -> str | None:
    """Return a stored time as text.

    >>> as_text(1_700_000_000_000_000)
    '2023-11-14T22:13:20.000000Z'
    """
    if micros is None:
        return None
    return (_EPOCH + timedelta(microseconds=micros)).isoformat(timespec="microseconds")[:-6] + "Z"
