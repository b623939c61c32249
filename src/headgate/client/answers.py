"""Answers of the service, read from JSON as their annotations say. What a newer service adds is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from headgate.client.errors import ClientError, UnavailableError, of_detail

T = TypeVar("T")
Json = Mapping[str, Any]
_hints = cache(get_type_hints)


def reader(kind: type[T]) -> Callable[[Json], T]:
    """Return what reads such an answer."""
    return lambda data: read(kind, data)


def read(kind: Any, data: Any) -> Any:
    """Read JSON as what an annotation says: a dataclass of this module, a time, a tuple, any of them or None."""
    if data is None:
        return None
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**{name: read(hint, data[name]) for name, hint in _hints(kind).items() if name in data})
    if get_origin(kind) is UnionType:  # of something and None
        return read(get_args(kind)[0], data)
    if get_origin(kind) is tuple:
        return tuple(read(get_args(kind)[0], item) for item in data)
    return datetime.fromisoformat(data) if kind is datetime else data


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a schedule."""

    arm: str
    amount: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What each arm gets; for an unknown budget a schedule, to follow in order until the money is gone."""

    decision_id: str
    allocator: str
    budget: float | None
    allocation: dict[str, float] | None
    schedule: tuple[Step, ...] | None
    created_at: datetime
    expires_at: datetime | None
    fallback: bool = False
    """Whether the client split the budget itself, because the service did not answer; it does not know of this."""
    version: int | None = None
    """Of the allocator that made it; None: the service did not write it down then."""
    mode: str | None = None
    """Whose it is: "policy", the baseline's by "holdout" or "shadow", or one that a "guard" held back."""
    probability: float | None = None
    """Of the draw between policy and baseline to end as it did."""
    policy_allocation: dict[str, float] | None = None
    """Of a shadow, whose answer is the baseline's: what the policy would have given."""


@dataclass(frozen=True, slots=True)
class OutcomeAnswer:
    """What was new, and what was said before, which it also is after a retry whose first answer was lost."""

    decision_id: str
    accepted: tuple[str, ...]
    repeated: tuple[str, ...]
    complete: bool
    late: bool


@dataclass(frozen=True, slots=True)
class Round:
    """A decision of the past and what was heard of it.

    Per arm the threshold of its success, True for a success whose threshold is not known, None for a failure.
    """

    round: int
    decision: Decision
    context: dict[str, Any] | None
    spent: float | None
    results: dict[str, float | bool | None]
    complete: bool


@dataclass(frozen=True, slots=True)
class Arm:
    """An arm as it stands."""

    name: str
    law: dict[str, Any] | None = None
    lower: float = 0.0
    upper: float | None = None
    retired_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Counts:
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
class Allocator:
    """An allocator as it stands; `spec` is the body it was made with, as far as no later version has another."""

    name: str
    spec: dict[str, Any]
    arms: tuple[Arm, ...]
    created_at: datetime
    archived_at: datetime | None
    counts: Counts
    version: int | None = None
    """Grows with every change of it or of its arms; decisions name it."""


@dataclass(frozen=True, slots=True)
class ImportAnswer:
    """What was added, or had been before."""

    import_id: str
    repeated: bool
    trials: int


@dataclass(frozen=True, slots=True)
class Learner:
    """What an edge decides with: arms, policy, and the evidence of all, None where it is as the edge knows it."""

    allocator: str
    config: int
    seq: int
    arms: tuple[str, ...]
    active: tuple[int, ...]
    policy: dict[str, Any]
    evidence: dict[str, Any] | None
    archived: bool = False
    """Whether the allocator makes no more decisions."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


def learner_of(data: Json) -> Learner:
    """Read a learner."""
    learner: Learner = read(Learner, data)
    return learner


@dataclass(frozen=True, slots=True)
class PushAnswer:
    """What an edge's push added, or had added before."""

    edge: str
    number: int
    repeated: bool
    trials: int


@dataclass(frozen=True, slots=True)
class PushOf:
    """Which push of which edge."""

    edge: str
    number: int


@dataclass(frozen=True, slots=True)
class RetractionAnswer:
    """What a retraction took back."""

    retraction_id: str
    repeated: bool
    reports: int
    imports: tuple[str, ...]
    pushes: tuple[PushOf, ...]
    trials: int
    """Results of arms in all of these."""
    made_at: datetime


@dataclass(frozen=True, slots=True)
class EdgeState:
    """What an edge has pushed so far."""

    edge: str
    pushes: int
    trials: int
    decisions: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Page:
    """Some rounds, newest first, and where the next page begins."""

    rounds: tuple[Round, ...]
    next_before: int | None
    """Or, of pages that are oldest first, after which round."""


def read_page(data: Json) -> Page:
    """Read a page of rounds."""
    return Page(tuple(map(read_round, data["items"])), data["next_before"])


def read_log(data: Json) -> Page:
    """Read a page of rounds, oldest first."""
    return Page(tuple(map(read_round, data["items"])), data["next_after"])


def read_round(data: Json) -> Round:
    """Read a round; of a success its threshold is enough."""
    results = {
        arm: True if result["success"] and result["threshold"] is None else result["threshold"]
        for arm, result in data["results"].items()
    }
    answer: Round = read(Round, {**data, "results": results})
    return answer


def many(member: str, kind: type[T]) -> Callable[[Json], list[T | ClientError]]:
    """Return what reads answers to many requests: each what was asked for, or the error it deserves.

    If the service could not serve one, all are asked again: those it could serve get the same answers.
    """

    def read_all(data: Json) -> list[T | ClientError]:
        answers: list[T | ClientError] = []
        for item in data["answers"]:
            error = None if item["status"] == 200 else of_detail(item["status"], item["error"])
            if isinstance(error, UnavailableError):
                raise error
            answers.append(read(kind, item[member]) if error is None else error)
        return answers

    return read_all
