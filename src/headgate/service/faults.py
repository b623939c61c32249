"""What the service refuses, each with the HTTP status it becomes: `web.errors` has the table for all others."""

from __future__ import annotations

from typing import ClassVar

from headgate.errors import HeadgateError


class ServiceError(HeadgateError):
    """A request that cannot be served; nothing was stored."""

    status: ClassVar[int] = 400


class NotFoundError(ServiceError):
    """There is no such allocator, decision or key."""

    status = 404


class ConflictError(ServiceError):
    """The request contradicts what is stored: the first word wins."""

    status = 409


class RefusedError(ServiceError):
    """The request breaks a rule that only the stored allocator knows."""

    status = 422

    def __init__(self, message: str, field: str = "body") -> None:
        super().__init__(message)
        self.field = field


class InternalError(ServiceError):
    """An error of ours, which has been logged; the transaction of the request was rolled back."""

    status = 500


class TooManyError(ServiceError):
    """The key's rate limit is reached; `seconds` until there is enough of it again."""

    status = 429

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class UnavailableError(ServiceError):
    """The database cannot be reached or written; ask again with the same ids."""

    status = 503
