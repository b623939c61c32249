"""The bodies of requests and answers, as the OpenAPI schema shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from headgate.service.spec import AllocatorSpec, Amount, ArmName, ArmSpec, Body, DecisionId, Json, Name, Positive

MOST_AT_ONCE = 1000
MOST_SCHEDULES = 10
Whole = Annotated[int, Field(strict=True)]
Cell = Annotated[list[Whole], Field(min_length=3, max_length=3, description="[bin, count, total]")]
Cells = dict[Literal["failed", "played", "seen"], list[Cell]]


class DecisionRequest(Body):
    """How much there is to split."""

    budget: Amount | None = Field(description="null: not known in advance; the answer is then a schedule.")
    decision_id: DecisionId | None = Field(
        None, description="Yours, so that asking again gives the same answer; without one, the service makes it."
    )
    context: Json | None = Field(None, description="Anything to keep with the decision; it is not looked at.")
    step: Positive | None = Field(None, description="The size of a schedule's steps; only without a budget.")


class Step(Body):
    """One step of a schedule."""

    arm: str
    amount: float


class Decision(Body):
    """An allocation, or for an unknown budget a schedule to follow in order until the money is gone."""

    decision_id: str
    allocator: str
    budget: float | None
    allocation: dict[str, float] | None
    schedule: list[Step] | None = None
    created_at: datetime
    expires_at: datetime | None


class ArmResult(Body):
    """What came of one arm: the threshold of a success; nothing more is known of a failure."""

    success: Annotated[bool, Field(strict=True)]
    threshold: Amount | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.success != (self.threshold is not None):
            raise ValueError("a success needs a threshold and a failure has none")
        return self


class Outcome(Body):
    """What came of a decision, whole or in part; later parts may follow in any order."""

    results: dict[Annotated[str, Field(max_length=100)], ArmResult] = Field(max_length=1000)
    spent: Amount | None = Field(None, description="Of a schedule: how much of it was carried out.")


class OutcomeAnswer(Body):
    """What was new, and what was said before."""

    decision_id: str
    accepted: list[str]
    repeated: list[str]
    complete: bool
    late: bool


class ManyDecisions(Body):
    """Many decisions at once."""

    decisions: Annotated[list[DecisionRequest], Field(min_length=1, max_length=MOST_AT_ONCE)]

    @model_validator(mode="after")
    def _few_schedules(self) -> Self:
        if sum(one.budget is None for one in self.decisions) > MOST_SCHEDULES:
            raise ValueError(f"at most {MOST_SCHEDULES} of them may be schedules")
        return self


class OutcomeOf(Outcome):
    """An outcome that says of which decision."""

    decision_id: DecisionId


class ManyOutcomes(Body):
    """Many outcomes at once."""

    outcomes: Annotated[list[OutcomeOf], Field(min_length=1, max_length=MOST_AT_ONCE)]


class FieldError(Body):
    """A field and the rule it breaks."""

    field: str
    rule: str


class ErrorDetail(Body):
    """What is wrong, in words and for programs."""

    code: str
    message: str
    fields: tuple[FieldError, ...] = ()


class Error(Body):
    """The answer to a request that was refused; nothing of it was stored."""

    error: ErrorDetail


class DecisionItem(Body):
    """The answer to one of many."""

    status: int
    decision: Decision | None = None
    error: ErrorDetail | None = None


class OutcomeItem(Body):
    """The answer to one of many."""

    status: int
    outcome: OutcomeAnswer | None = None
    error: ErrorDetail | None = None


class Decisions(Body):
    """Answers in the order of the requests, each with its status."""

    answers: list[DecisionItem]


class Outcomes(Body):
    """Answers in the order of the requests, each with its status."""

    answers: list[OutcomeItem]


class Arm(ArmSpec):
    """An arm as it stands."""

    retired_at: datetime | None = None


class Counts(Body):
    """How many decisions, and what became of them."""

    decisions: int
    complete: int
    pending: int
    expired: int
    late: int
    duplicates: int
    contradictions: int
    reward: int = Field(description="Successes in complete decisions.")
    budget: float = Field(description="Asked to be split, in complete decisions.")
    given: float = Field(description="Given to arms, in complete decisions.")


class Allocator(Body):
    """An allocator as it stands."""

    name: Name
    spec: AllocatorSpec
    arms: list[Arm]
    created_at: datetime
    archived_at: datetime | None
    counts: Counts


class Allocators(Body):
    """All of them, by name."""

    allocators: list[Allocator]


class ArmEstimate(Body):
    """What is known of an arm."""

    arm: str
    known: Literal["known", "only activation * rate", "not identified yet"]
    activation: float
    activation_interval: tuple[float, float]
    rate: float
    rate_interval: tuple[float, float | None] = Field(description="null: nothing bounds it from above.")
    shape: float | None = None
    shape_interval: tuple[float, float] | None = None
    trials: int
    successes: int


class Estimates(Body):
    """Estimates of all arms that are not retired, and the best allocation by them."""

    allocator: str
    level: float
    arms: list[ArmEstimate]
    budget: float
    best: dict[str, float]
    value: float = Field(description="Expected reward of the best allocation, by the estimates.")
    gap: float


class HistoryItem(Body):
    """A decision and everything heard of it."""

    round: int
    decision: Decision
    context: Json | None
    spent: float | None
    results: dict[str, ArmResult]
    complete: bool


class History(Body):
    """Decisions, newest first; `before` gets the page after this one."""

    items: list[HistoryItem]
    next_before: int | None


class EvidenceBody(Body):
    """Evidence as `headgate.evidence.plain` documents it and `Evidence.to_dict` writes it, in whole numbers."""

    version: Literal[2] = 2
    max_budget: Positive
    bins: Annotated[list[Whole], Field(min_length=2, max_length=2, description="[bins to an octave, octaves]")]
    arms: dict[ArmName, Cells] | list[Cells] = Field(description="By name, or a list in the order of the arms.")


class ImportAnswer(Body):
    """What was added."""

    import_id: str
    repeated: bool
    trials: int


class Health(Body):
    """Whether the service can do its work."""

    status: str
