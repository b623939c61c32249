"""What can be asked of the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from headgate.service.bodies import DecisionRequest, Outcome


@dataclass(frozen=True, slots=True)
class Decide:
    """Split a budget."""

    allocator: str
    request: DecisionRequest


@dataclass(frozen=True, slots=True)
class Report:
    """Take note of an outcome."""

    decision_id: str
    outcome: Outcome
    by_expiry: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """Change something else, in a transaction of its own."""

    make: Callable[[Connection], Any]


Request = Decide | Report | Change


@dataclass(frozen=True, slots=True)
class Reported:
    """What became of a report."""

    accepted: list[str]
    repeated: list[str]
    complete: bool
    late: bool
