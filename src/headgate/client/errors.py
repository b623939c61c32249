"""What a call to the service can end in, besides an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate.errors import HeadgateError


@dataclass(frozen=True, slots=True)
class FieldError:
    """A field of the request and the rule it breaks."""

    field: str
    rule: str


class ClientError(HeadgateError):
    """The service did not do what was asked. `status` is None where there was no answer at all."""

    def __init__(
        self, message: str, *, status: int | None = None, code: str = "error", fields: tuple[FieldError, ...] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.fields = fields


class InvalidRequestError(ClientError):
    """A field breaks a rule, or the request is too large; nothing of it was stored."""


class AccessError(ClientError):
    """A key is needed, or this one is not known, or it may not do that."""


class NotFoundError(ClientError):
    """There is no such allocator, arm or decision."""


class ConflictError(ClientError):
    """It contradicts what is stored: the first word wins."""


class RateLimitError(ClientError):
    """The key's rate limit was reached, until the deadline."""


class ServerError(ClientError):
    """The service failed, or what answered is not the service."""


class UnavailableError(ServerError):
    """The service or its database could not be reached until the deadline; ask again with the same id."""


_BY_STATUS: Mapping[int, type[ClientError]] = {
    400: InvalidRequestError,
    401: AccessError,
    403: AccessError,
    404: NotFoundError,
    409: ConflictError,
    413: InvalidRequestError,
    422: InvalidRequestError,
    429: RateLimitError,
    502: UnavailableError,
    503: UnavailableError,
    504: UnavailableError,
}


def of_detail(status: int, detail: Mapping[str, Any]) -> ClientError:
    """Return the error that an answer describes."""
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else ClientError)
    fields = tuple(FieldError(str(f.get("field")), str(f.get("rule"))) for f in detail.get("fields") or ())
    return kind(str(detail.get("message")), status=status, code=str(detail.get("code", "error")), fields=fields)


def of_body(status: int, content: bytes) -> ClientError:
    """Return the error of an answer that is not a success, whoever wrote it: a proxy may have."""
    try:
        return of_detail(status, json.loads(content)["error"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return of_detail(status, {"message": f"the service answered with status {status}"})
