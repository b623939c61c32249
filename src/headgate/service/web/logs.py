"""What the service writes to its log: lines for people or for machines, with the request's id, and no secret.

Loggers: `headgate.service` for what goes wrong, `headgate.security` for who was turned away, `headgate.access` for
every request (at level info).
"""

from __future__ import annotations

import json
import logging
import re
import time
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Literal

from starlette.types import Scope

Format = Literal["text", "json"]
FORMATS: tuple[Format, ...] = ("text", "json")
REQUEST_ID: ContextVar[str | None] = ContextVar("headgate_request_id", default=None)
"""The id of the request that is being answered, where there is one."""
GOOD_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,99}")
"""What a caller may choose as the id of a request: nobody writes lines into our log."""
access = logging.getLogger("headgate.access")
_security = logging.getLogger("headgate.security")
_SECRET = re.compile(r"(hg_[0-9a-f]{12})_[A-Za-z0-9_-]+|\b([0-9a-f]{12}\.\d{1,11}\.\d{1,11})\.[0-9a-f]{64}")
_PASSWORD = re.compile(r"(\b[a-z][a-z0-9+]*://[^\s:/@]*):[^\s@/]+@")
_LINES_A_SECOND = 50


def without_secrets(text: str) -> str:
    """Return a text without secrets of keys, tokens of sessions, and passwords of databases.

    >>> without_secrets("Bearer hg_0123456789ab_very-secret, postgresql://me:word@db/x")
    'Bearer hg_0123456789ab_***, postgresql://me:***@db/x'
    """
    return _PASSWORD.sub(r"\1:***@", _SECRET.sub(lambda m: f"{m[1]}_***" if m[1] else f"{m[2]}.***", text))


def turned_away(scope: Scope, status: int, why: str | None, key: str | None) -> None:
    """Write down that a request was refused: what it asked for, from where, and with which key, not its secret."""
    client = (scope.get("client") or ("unknown",))[0]
    fields = {"status": status, "method": scope["method"], "path": scope["path"][:200], "client": client}
    fields |= {"key": key} if key else {}
    words = " ".join(f"{name}={value!r}" for name, value in fields.items())
    _security.warning("turned away: %s (%s)", why or "refused", words, extra={"fields": fields})


def answered(scope: Scope, status: int, route: str, seconds: float) -> None:
    """Write down that a request was answered."""
    fields = {"status": status, "method": scope["method"], "route": route, "ms": round(seconds * 1e3, 3)}
    fields |= {"key": scope["key_id"]} if "key_id" in scope else {}
    access.info(" ".join(f"{name}={value}" for name, value in fields.items()), extra={"fields": fields})


class Sparing(logging.Filter):
    """Lets so many lines a second through, and says how many it did not: strangers must not fill the disk."""

    def __init__(self) -> None:
        super().__init__()
        self._second, self._lines, self._dropped = 0, 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written."""
        second = int(time.monotonic())
        if second != self._second:
            if self._dropped:
                record.msg = f"{record.msg} [{self._dropped} lines like this were left out]"
            self._second, self._lines, self._dropped = second, 0, 0
        self._lines += 1
        if self._lines <= _LINES_A_SECOND:
            return True
        self._dropped += 1
        return False


class TextFormatter(logging.Formatter):
    """A line for people."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; what strangers sent begins no new one."""
        request_id = REQUEST_ID.get()
        text = super().format(record)
        return without_secrets(f"{text} request_id={request_id}" if request_id else text)


class JsonFormatter(logging.Formatter):
    """A line for machines: one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        request_id = REQUEST_ID.get()
        if request_id:
            line["request_id"] = request_id
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return without_secrets(json.dumps(line, default=str))


def configuration(kind: Format, level: str) -> dict[str, Any]:
    """Return what `logging.config.dictConfig` is told, by uvicorn in every worker: lines to standard error."""
    formatter = {"text": TextFormatter, "json": JsonFormatter}[kind]
    shown = "DEBUG" if level == "trace" else level.upper()
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": f"{__name__}.{formatter.__name__}"}},
        "filters": {name: {"()": f"{__name__}.{Sparing.__name__}"} for name in ("refusals", "protocol")},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "loggers": {
            "headgate": {"level": shown},
            "headgate.security": {"filters": ["refusals"]},
            "uvicorn": {"level": shown},
            "uvicorn.error": {"filters": ["protocol"]},
        },
        "root": {"handlers": ["stderr"], "level": "WARNING"},
    }
