"""Times: microseconds since 1970 in the database, RFC 3339 in UTC outside."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> int:
    """Return the time in microseconds."""
    return time.time_ns() // 1000


def after(start: int, seconds: float | None) -> int | None:
    """Return the time so many seconds later; None is never."""
    return None if seconds is None else start + round(seconds * 1e6)


@lru_cache(maxsize=256)
def as_text(micros: int | None) -> str | None:
    """Return a stored time as text. The decisions of a batch have the same time: it is remembered for a while.

    >>> as_text(1_700_000_000_000_000)
    '2023-11-14T22:13:20.000000Z'
    """
    if micros is None:
        return None
    return (_EPOCH + timedelta(microseconds=micros)).isoformat(timespec="microseconds")[:-6] + "Z"


def of(moment: datetime) -> int:
    """Return a time as it is stored.

    >>> of(datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC))
    1700000000000000
    """
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return round((aware - _EPOCH) / timedelta(microseconds=1))
