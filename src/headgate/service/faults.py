"""What the service refuses, each with the HTTP status it becomes: `web.errors` has the table for all others."""

from __future__ import annotations

from typing import ClassVar

from headgate.errors import HeadgateError


class ServiceError(HeadgateError):
    """A request that cannot be served; nothing was stored."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "bad-request"


class NotFoundError(ServiceError):
    """There is no such allocator, decision or key."""

    status, code = 404, "not-found"


class ConflictError(ServiceError):
    """The request contradicts what is stored: the first word wins."""

    status, code = 409, "conflict"


class RefusedError(ServiceError):
    """The request breaks a rule that only the stored allocator knows."""

    status, code = 422, "invalid"

    def __init__(self, message: str, field: str = "body") -> None:
        super().__init__(message)
        self.field = field


class UnavailableError(ServiceError):
    """The database cannot be reached or written; ask again with the same ids."""

    status, code = 503, "unavailable"
