"""The bodies of what is done to the log itself: reports that are taken back, rows of a subject that go."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from headgate.service import clock
from headgate.service.spec import Body, printable


class RetractionRequest(Body):
    """Which reports are to be taken back: those of a key, of a time, or of a key in a time."""

    key: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]{1,16}$")] | None = Field(
        None, description="The id of the key that they came with; null: any, and the service's own."
    )
    since: datetime | None = Field(None, description="The first moment; without a time zone it is UTC.")
    until: datetime | None = Field(None, description="The first moment after.")
    reason: Annotated[str, StringConstraints(max_length=200), AfterValidator(printable)] | None = Field(
        None, description="For people to read."
    )

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.key is None and self.since is None and self.until is None:
            raise ValueError("key, since or until must be given: nobody takes back everything by accident")
        if self.since is not None and self.until is not None and clock.of(self.since) >= clock.of(self.until):
            raise ValueError("since must be before until")
        return self


class PushOf(Body):
    """Which push of which edge."""

    edge: str
    number: int


class RetractionAnswer(Body):
    """What was taken back, or had been before."""

    retraction_id: str
    repeated: bool
    reports: int = Field(description="Reports of decisions, and of live rounds.")
    imports: list[str]
    pushes: list[PushOf]
    trials: int = Field(description="Results of arms in all of these.")
    made_at: datetime


class RetractionItem(RetractionAnswer):
    """The same, with what was asked for."""

    request: RetractionRequest


class Retractions(Body):
    """Retractions, the first one first."""

    retractions: list[RetractionItem]


class RemovalAnswer(Body):
    """What is gone."""

    decisions: int = Field(description="With their reports, live rounds and reasons.")
    evidence: Literal["keep", "subtract"]
