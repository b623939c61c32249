"""A call as a value, and the parts that all calls are made of: paths, and bodies as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import quote

from headgate.client.answers import Json
from headgate.errors import InputError

T = TypeVar("T")


class HasDict(Protocol):
    """A law or evidence of Headgate, or whatever else can be written as plain data."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        ...


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call."""

    method: str
    path: str
    body: bytes | None
    read: Callable[[Json], T]
    instead: T | None = None
    """What is returned where the service does not answer; None: that is an error."""
    unsent: T | None = None
    """What is returned at once, because there is nothing to tell the service."""


def allocator_path(name: str) -> str:
    """Return where an allocator is."""
    value: object = name
    if not isinstance(value, str):
        raise InputError(f'the allocator\'s name comes first, such as decide("quiz", 20.0), got {value!r}')
    return f"/v1/allocators/{path_part(name)}"


def path_part(text: str) -> str:
    """Return a text as one part of a path, even if it is '..'."""
    value: object = text
    if not isinstance(value, str):
        raise InputError(f"a name or an id must be text, got {value!r}")
    if not text:
        raise InputError("a name or an id must not be empty")
    return quote(text, safe="").replace(".", "%2E")


def as_json(body: Json) -> bytes:
    """Return a request's body, or an error that says what in it is no JSON."""
    try:
        return json.dumps(body, allow_nan=False, default=_plain).encode()
    except (TypeError, ValueError) as cause:
        raise InputError(f"a request must be plain JSON with finite numbers: {cause}") from cause


def _plain(value: Any) -> Any:
    """Numbers and arrays of NumPy and mappings, as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} is not JSON")
