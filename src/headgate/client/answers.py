"""Answers of the service, read from JSON. What a newer service adds is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import datetime
from typing import Any, Self, TypeVar

from headgate.client.errors import ClientError, UnavailableError, of_detail

T = TypeVar("T")
Json = Mapping[str, Any]


class _Answer:
    """A dataclass whose fields are those of a JSON object."""

    __slots__ = ()

    @classmethod
    def of(cls, data: Json) -> Self:
        """Read it from JSON."""
        known = {f.name: data[f.name] for f in fields(cls) if f.name in data or f.default is MISSING}  # type: ignore[arg-type]  # every subclass is a dataclass
        return cls(**{name: _READ[name](value) if name in _READ else value for name, value in known.items()})


@dataclass(frozen=True, slots=True)
class Step(_Answer):
    """One step of a schedule."""

    arm: str
    amount: float


@dataclass(frozen=True, slots=True)
class Decision(_Answer):
    """What each arm gets; for an unknown budget a schedule, to follow in order until the money is gone."""

    decision_id: str
    allocator: str
    budget: float | None
    allocation: dict[str, float] | None
    schedule: tuple[Step, ...] | None
    created_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class OutcomeAnswer(_Answer):
    """What was new, and what was said before, which it also is after a retry whose first answer was lost."""

    decision_id: str
    accepted: tuple[str, ...]
    repeated: tuple[str, ...]
    complete: bool
    late: bool


@dataclass(frozen=True, slots=True)
class Round(_Answer):
    """A decision of the past and what was heard of it: per arm the threshold of its success, None for a failure."""

    round: int
    decision: Decision
    context: dict[str, Any] | None
    spent: float | None
    results: dict[str, float | None]
    complete: bool


@dataclass(frozen=True, slots=True)
class Arm(_Answer):
    """An arm as it stands."""

    name: str
    law: dict[str, Any] | None = None
    lower: float = 0.0
    upper: float | None = None
    retired_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Counts(_Answer):
    """How many decisions, and what became of them."""

    decisions: int
    complete: int
    pending: int
    expired: int
    late: int
    duplicates: int
    contradictions: int
    reward: int
    budget: float
    given: float


@dataclass(frozen=True, slots=True)
class Allocator(_Answer):
    """An allocator as it stands; `spec` is the body it was made with."""

    name: str
    spec: dict[str, Any]
    arms: tuple[Arm, ...]
    created_at: datetime
    archived_at: datetime | None
    counts: Counts


@dataclass(frozen=True, slots=True)
class ArmEstimate(_Answer):
    """What is known of an arm."""

    arm: str
    known: str
    activation: float
    activation_interval: tuple[float, float]
    rate: float
    rate_interval: tuple[float, float | None]
    shape: float | None
    shape_interval: tuple[float, float] | None
    trials: int
    successes: int


@dataclass(frozen=True, slots=True)
class Estimates(_Answer):
    """What is known of the arms in use, and the best allocation by it."""

    allocator: str
    level: float
    arms: dict[str, ArmEstimate]
    budget: float
    best: dict[str, float]
    value: float
    gap: float

    @classmethod
    def of(cls, data: Json) -> Self:
        """Read it from JSON; the arms by name."""
        arms = {one["arm"]: ArmEstimate.of(one) for one in data["arms"]}
        return cls(**{f.name: data[f.name] for f in fields(cls)} | {"arms": arms})


@dataclass(frozen=True, slots=True)
class ImportAnswer(_Answer):
    """What was added, or had been before."""

    import_id: str
    repeated: bool
    trials: int


@dataclass(frozen=True, slots=True)
class Page:
    """Some rounds, newest first, and where the next page begins."""

    rounds: tuple[Round, ...]
    next_before: int | None

    @classmethod
    def of(cls, data: Json) -> Self:
        """Read it from JSON."""
        return cls(tuple(Round.of(item) for item in data["items"]), data["next_before"])


def many(member: str, read: Callable[[Json], T]) -> Callable[[Json], list[T | ClientError]]:
    """Return what reads answers to many requests: each what was asked for, or the error it deserves.

    If the service could not serve one, all are asked again: those it could serve get the same answers.
    """

    def read_all(data: Json) -> list[T | ClientError]:
        found: list[T | ClientError] = []
        for item in data["answers"]:
            error = None if item["status"] == 200 else of_detail(item["status"], item["error"])
            if isinstance(error, UnavailableError):
                raise error
            found.append(read(item[member]) if error is None else error)
        return found

    return read_all


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _tuple(values: list[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)


#: How a field is read that is not JSON as it is; a name means one thing in all answers.
_READ: Mapping[str, Callable[[Any], Any]] = {
    "created_at": _time,
    "expires_at": _time,
    "archived_at": _time,
    "retired_at": _time,
    "accepted": _tuple,
    "repeated": lambda v: v if isinstance(v, bool) else _tuple(v),
    "activation_interval": _tuple,
    "rate_interval": _tuple,
    "shape_interval": _tuple,
    "schedule": lambda steps: None if steps is None else tuple(Step.of(step) for step in steps),
    "decision": Decision.of,
    "results": lambda results: {arm: result["threshold"] for arm, result in results.items()},
    "counts": Counts.of,
    "arms": lambda arms: tuple(Arm.of(arm) for arm in arms),
}
