"""A client of the decision service, `Client` and `AsyncClient`: typed, and safe to retry. It needs httpx."""

from headgate.client.aio import AsyncClient
from headgate.client.answers import (
    Allocator,
    Arm,
    ArmEstimate,
    Counts,
    Decision,
    Estimates,
    ImportAnswer,
    OutcomeAnswer,
    Round,
    Step,
)
from headgate.client.errors import (
    AccessError,
    ClientError,
    ConflictError,
    FieldError,
    InvalidRequestError,
    NotFoundError,
    RateLimitError,
    ServerError,
    UnavailableError,
)
from headgate.client.retry import Retry
from headgate.client.sync import Client

__all__ = [
    "AccessError",
    "Allocator",
    "Arm",
    "ArmEstimate",
    "AsyncClient",
    "Client",
    "ClientError",
    "ConflictError",
    "Counts",
    "Decision",
    "Estimates",
    "FieldError",
    "ImportAnswer",
    "InvalidRequestError",
    "NotFoundError",
    "OutcomeAnswer",
    "RateLimitError",
    "Retry",
    "Round",
    "ServerError",
    "Step",
    "UnavailableError",
]
