"""Decisions as the engine remembers them: what each arm got, and what was said of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Self

from headgate.service import clock
from headgate.service.faults import RefusedError
from headgate.service.store import schema


@dataclass(slots=True)
class Heard:
    """What has been reported of a decision so far: the threshold of each success, None for a failure."""

    results: dict[str, float | None] = field(default_factory=dict)
    spent: float | None = None
    parts: int = 0

    def add(self, results: dict[str, float | None], spent: float | None) -> None:
        """Take over one more part."""
        self.results.update(results)
        self.spent = spent if self.spent is None else self.spent
        self.parts += 1


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision in the log; it never changes."""

    id: str
    allocator_id: int
    round: int
    request: str
    answer: str
    expires_at: int | None
    allocation: dict[str, float] | None
    steps: list[tuple[str, float]] | None
    budget: float | None

    @classmethod
    def of_row(cls, row: schema.Fields) -> Self:
        """Read a decision from its row."""
        answer = json.loads(row["answer"])
        steps = answer["schedule"]
        return cls(
            id=row["id"],
            allocator_id=row["allocator_id"],
            round=row["round"],
            request=row["request"],
            answer=row["answer"],
            expires_at=row["expires_at"],
            allocation=answer["allocation"],
            steps=None if steps is None else [(step["arm"], step["amount"]) for step in steps],
            budget=answer["budget"],
        )

    def amounts(self, spent: float | None) -> dict[str, float]:
        """What each arm got: as allocated, or as far as the schedule was carried out."""
        if self.allocation is not None:
            return self.allocation
        if spent is None:
            raise RefusedError("the outcome of a schedule must say how much was spent", "spent")
        got: dict[str, float] = {}
        left = spent
        for arm, amount in self.steps or ():
            part = min(amount, left)
            got[arm] = got.get(arm, 0.0) + part
            left -= part
        planned = sum(amount for _, amount in self.steps or ())
        if left > 1e-9 * planned:
            raise RefusedError(f"spent must be at most what the schedule plans, {planned:.9g}, got {spent:g}", "spent")
        return got

    def complete(self, heard: Heard) -> bool:
        """Whether every arm that got something has been heard of."""
        if self.steps is not None and heard.spent is None:
            return False
        return all(arm in heard.results for arm, amount in self.amounts(heard.spent).items() if amount > 0.0)


def answer_text(
    decision_id: str,
    allocator: str,
    budget: float | None,
    allocation: dict[str, float] | None,
    steps: list[tuple[str, float]] | None,
    created_at: int,
    expires_at: int | None,
) -> str:
    """Write the answer once; asked again, the very same text is given."""
    return json.dumps(
        {
            "decision_id": decision_id,
            "allocator": allocator,
            "budget": budget,
            "allocation": allocation,
            "schedule": None if steps is None else [{"arm": arm, "amount": amount} for arm, amount in steps],
            "created_at": clock.as_text(created_at),
            "expires_at": clock.as_text(expires_at),
        },
        allow_nan=False,
        separators=(",", ":"),
    )
