"""The bodies of edges: what one pulls to decide by itself, and what it pushes of what it saw."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from headgate.service.bodies import MOST_AT_ONCE, ByArm, EvidenceBody
from headgate.service.spec import Amount, ArmName, Body, DecisionId, Positive

EdgeId = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$"),
    Field(description="Letters, digits, '.', '_' and '-', at most 80. One for each run of an edge."),
]
PushNumber = Annotated[int, Field(ge=0, le=2**53, description="Of the edge's pushes; the same again changes nothing.")]


class Weighed(Body):
    """Evidence as `headgate.evidence.plain` documents it; where it fades, with fractions."""

    version: Literal[3] = 3
    max_budget: Positive
    bins: list[int]
    arms: dict[ArmName, dict[str, list[tuple[int, float, float]]]]


class LearnerBody(Body):
    """A learner to decide with elsewhere: its policy without a state, and the evidence of all arms."""

    allocator: str
    config: int = Field(description="The allocator's version: grows with every change of it or of its arms.")
    seq: int = Field(description="Grows with the evidence.")
    arms: list[str] = Field(description="All arms, retired ones too, in the order of the evidence.")
    active: list[int] = Field(description="The places of those in use, in the order of the policy's arms.")
    policy: dict[str, Any] = Field(description="{name, options}, as a policy's own JSON has them.")
    archived: bool = Field(False, description="Whether it makes no more decisions, here or elsewhere.")
    evidence: Weighed | None = Field(
        description="The sum of all that has been seen, as far as it counts if it fades; null: as you know it."
    )


class EdgeResult(Body):
    """What came of one arm at an edge; a model, because a push is known again by all of its fields, unsaid ones too."""

    success: Annotated[bool, Field(strict=True)]
    threshold: Amount | None = None
    amount: Amount | None = Field(
        None, description="What the arm really got, less or more than it was given; null: exactly that."
    )


class EdgeDecision(Body):
    """A decision that an edge made, with what it heard of it."""

    decision_id: DecisionId
    budget: Amount
    allocation: ByArm[Amount] = Field(description="Arms that got nothing may be left out.")
    made_at: datetime
    results: dict[ArmName, EdgeResult]
    version: Annotated[int, Field(ge=0, le=2**53)] | None = Field(
        None, description="Of the allocator that it was made by; null: not written down."
    )


class Push(Body):
    """What an edge has seen since its last push, and decisions that are over; whatever it tells of is in evidence."""

    evidence: EvidenceBody
    decisions: tuple[EdgeDecision, ...] = Field((), max_length=MOST_AT_ONCE)

    @property
    def many(self) -> int:
        """How many decisions they are, for the rate of a key."""
        return len(self.decisions)


class PushAnswer(Body):
    """What was added, or had been before."""

    edge: str
    number: int
    repeated: bool
    trials: int = Field(description="Results of arms, in the evidence of this push.")


class EdgeItem(Body):
    """What an edge has pushed so far."""

    edge: str
    pushes: int
    trials: int
    decisions: int
    last_at: datetime


class Edges(Body):
    """Edges by their ids."""

    edges: list[EdgeItem]
