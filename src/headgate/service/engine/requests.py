"""What is asked of the engine: decide, take a report or a step of a live round, change something else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from headgate.service.bodies import DecisionRequest, Outcome, StepReport
from headgate.service.faults import ServiceError
from headgate.service.store.keys import ANYBODY, Asker


@dataclass(frozen=True, slots=True)
class Decide:
    """Split a budget."""

    allocator: str
    request: DecisionRequest
    together: int = 1
    """How many decisions its call asks for."""
    asker: Asker = ANYBODY


@dataclass(frozen=True, slots=True)
class Report:
    """Take note of an outcome; without one, of the silence until a decision's deadline."""

    decision_id: str
    outcome: Outcome | None
    ends_live: bool = False
    """Whether it is what came of a live round in all, and not what somebody reports."""
    allocator: str | None = None
    """Whose decision it is; None: of the only one that has such a decision."""
    asker: Asker = ANYBODY


@dataclass(frozen=True, slots=True)
class LiveStep:
    """Take note of what came of a step of a live round, and hand out the next."""

    decision_id: str
    number: int
    report: StepReport
    allocator: str | None = None
    """Whose live round it is; None: of the only one that has such a round."""
    asker: Asker = ANYBODY


@dataclass(frozen=True, slots=True)
class Change:
    """Change something else, in a transaction of its own."""

    make: Callable[[Connection], Any]
    is_small: bool = False
    """Whether it is no more than a few rows, and so no reason to let a thread do it."""


class Busy(ServiceError):  # noqa: N818  # no error, but a reason to wait
    """The allocator is locked by another: its requests wait beside the others."""

    def __init__(self, allocator_id: int) -> None:
        super().__init__("the allocator is locked by another transaction")
        self.allocator_id = allocator_id


Request = Decide | Report | LiveStep | Change
