"""The bodies of requests and answers, as the OpenAPI schema shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, NotRequired, Self, TypeVar

from pydantic import ConfigDict, Field, model_validator, with_config
from typing_extensions import TypedDict

from headgate.service.spec import (
    MOST_ARMS,
    AllocatorSpec,
    Amount,
    ArmName,
    Body,
    DecisionId,
    Json,
    Name,
    Positive,
    Worth,
)

T = TypeVar("T")
ByArm = Annotated[dict[ArmName, T], Field(max_length=MOST_ARMS)]
MOST_AT_ONCE = 1000
MOST_SCHEDULES = 10
Mode = Literal["policy", "holdout", "shadow", "guard"]
Whole = Annotated[int, Field(strict=True)]
Cell = Annotated[list[Whole], Field(min_length=3, max_length=3, description="[bin, count, total]")]
Cells = dict[Literal["failed", "played", "seen", "reached"], list[Cell]]


class DecisionRequest(Body):
    """How much there is to split."""

    budget: Amount | None = Field(description="null: not known in advance; the answer is then a schedule.")
    decision_id: DecisionId | None = Field(
        None, description="Yours, so that asking again gives the same answer; without one, the service makes it."
    )
    value: ByArm[Worth] | None = Field(
        None, description="What a success is worth this time, by arm; others are worth what they always are."
    )
    eligible: Annotated[list[ArmName], Field(max_length=MOST_ARMS)] | None = Field(
        None, description="The arms that may get something this time; null: all."
    )
    lower: ByArm[Amount] | None = Field(None, description="The least that arms must get this time.")
    upper: ByArm[Amount] | None = Field(None, description="The most that arms may get this time.")
    subject: DecisionId | None = Field(
        None, description="Whom it is about, opaque to the service: what is kept of a subject can be deleted."
    )
    context: Json | None = Field(None, description="Anything to keep with the decision; it is not looked at.")
    features: Json | None = Field(
        None, description="What is known of the round, by name, as the policy 'contextual' declares it."
    )
    arm_features: ByArm[Json] | None = Field(None, description="The same of some arms, beside that of the round.")
    step: Positive | None = Field(None, description="The size of a schedule's steps; only without a budget.")
    switching: Annotated[bool, Field(strict=True)] = Field(
        True, description="false: a schedule that takes no arm up again once it was left; only without a budget."
    )


class LiveRequest(DecisionRequest):
    """How much there is to hand out step by step."""

    budget: Amount | None = Field(description="null: not known in advance; the round ends with a last report.")
    step: None = None
    switching: Annotated[bool, Field(strict=True)] = Field(
        True, description="false: an arm once left is never taken up again; only with a budget."
    )


class StepReport(Body):
    """What came of a step of a live round."""

    success: Annotated[bool, Field(strict=True)]
    spent: Amount | None = Field(
        None, description="What the arm was served with; null: all of the step, or of a success nobody knows."
    )
    last: Annotated[bool, Field(strict=True)] = Field(False, description="Whether the budget is gone: end the round.")


class LiveStep(Body):
    """Serve this arm until it succeeds, with at most so much."""

    number: int
    arm: str
    amount: float


class Live(Body):
    """A live round as it goes on."""

    decision_id: str
    step: LiveStep | None = Field(description="What to do next; null when the round is over.")
    left: float | None = Field(description="Of the budget; null if nobody knows it.")
    done: bool


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
    version: int | None = Field(None, description="Of the allocator that made it; null: not written down then.")
    mode: Mode | None = Field(
        None, description="Whose it is: the policy's, the baseline's by holdout or shadow, or one a guard held back."
    )
    probability: float | None = Field(None, description="Of the draw between policy and baseline to end as it did.")
    policy_allocation: dict[str, float] | None = Field(
        None, description="Of a shadow, whose answer is the baseline's: what the policy would have given."
    )
    created_at: datetime
    expires_at: datetime | None


@with_config(ConfigDict(extra="forbid"))
class ArmResult(TypedDict):
    """What came of one arm: a success, with its threshold if that is known; or a failure, of which nothing more is."""

    # A dict and no model: an outcome has one for each arm, and is read in two fifths of the time.
    success: Annotated[bool, Field(strict=True)]
    threshold: NotRequired[Amount | None]
    amount: NotRequired[
        Annotated[
            Amount | None,
            Field(description="What the arm really got, less or more than it was given; null: exactly that."),
        ]
    ]


class Outcome(Body):
    """What came of a decision, whole or in part; later parts may follow in any order."""

    results: dict[Annotated[str, Field(max_length=100)], ArmResult] = Field(max_length=MOST_ARMS)
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

    @property
    def many(self) -> int:
        """How many they are, for the rate of a key."""
        return len(self.decisions)

    @model_validator(mode="after")
    def _few_schedules(self) -> Self:
        if sum(one.budget is None for one in self.decisions) > MOST_SCHEDULES:
            raise ValueError(f"at most {MOST_SCHEDULES} of them may be schedules")
        return self


class OutcomeOf(Outcome):
    """An outcome that says of which decision."""

    decision_id: DecisionId
    allocator: Name | None = Field(None, description="Whose decision; needed where several have one of that id.")


class ManyOutcomes(Body):
    """Many outcomes at once."""

    outcomes: Annotated[list[OutcomeOf], Field(min_length=1, max_length=MOST_AT_ONCE)]

    @property
    def many(self) -> int:
        """How many they are, for the rate of a key."""
        return len(self.outcomes)


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


class EvidenceBody(Body):
    """Evidence as `headgate.evidence.plain` documents it and `Evidence.to_dict` writes it, in whole numbers."""

    version: Literal[2, 3] = 2
    max_budget: Positive
    bins: Annotated[list[Whole], Field(min_length=2, max_length=2, description="[bins to an octave, octaves]")]
    arms: dict[ArmName, Cells] | list[Cells] = Field(description="By name, or a list in the order of the arms.")


class NewAllocator(AllocatorSpec):
    """An allocator, and what it knows from the first decision on."""

    evidence: EvidenceBody | None = Field(
        None, description="Of a log, such as `headgate calibrate` writes: the import warm-start."
    )

    def spec(self) -> AllocatorSpec:
        """Return the allocator without it."""
        return AllocatorSpec.model_validate(self.model_dump(exclude={"evidence"}))


class ImportAnswer(Body):
    """What was added."""

    import_id: str
    repeated: bool
    trials: int


class Health(Body):
    """Whether the service can do its work."""

    status: str
