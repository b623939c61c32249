"""What goes through the engine: requests, decisions of the log, and what was reported of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, TypeAlias

from sqlalchemy import Connection

from headgate.service.bodies import DecisionRequest, Outcome
from headgate.service.faults import ConflictError, RefusedError
from headgate.service.store import schema

Results: TypeAlias = dict[str, float | None]
"""By arm: the threshold of a success, None for a failure."""


@dataclass(frozen=True, slots=True)
class Decide:
    """Split a budget."""

    allocator: str
    request: DecisionRequest


@dataclass(frozen=True, slots=True)
class Report:
    """Take note of an outcome; without one, of the silence until a decision's deadline."""

    decision_id: str
    outcome: Outcome | None


@dataclass(frozen=True, slots=True)
class Change:
    """Change something else, in a transaction of its own."""

    make: Callable[[Connection], Any]


Request = Decide | Report | Change


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer to a report."""

    accepted: list[str]
    repeated: list[str]
    complete: bool
    late: bool


@dataclass(slots=True)
class Heard:
    """All reports of a decision so far, taken together."""

    results: Results = field(default_factory=dict)
    spent: float | None = None
    parts: int = 0

    def add(self, results: Results, spent: float | None) -> None:
        """Take over one more part."""
        self.results.update(results)
        self.spent = spent if self.spent is None else self.spent
        self.parts += 1


class News(NamedTuple):
    """What a report adds to those before it."""

    results: Results
    """Of arms that had not been reported."""
    spent: float | None
    """If that was not known before."""
    amounts: Mapping[str, float]
    """What each arm got."""


@dataclass(frozen=True, slots=True)
class LoggedDecision:
    """A decision in the log; it never changes."""

    id: str
    allocator_id: int
    round: int
    budget: float | None
    request: str
    answer: str
    expires_at: int | None
    allocation: dict[str, float] | None
    steps: list[tuple[str, float]] | None

    @classmethod
    def of_row(cls, row: schema.Fields) -> Self:
        """Read a decision from its row."""
        answer = json.loads(row["answer"])
        steps = answer["schedule"]
        return cls(
            id=row["id"],
            allocator_id=row["allocator_id"],
            round=row["round"],
            budget=row["budget"],
            request=row["request"],
            answer=row["answer"],
            expires_at=row["expires_at"],
            allocation=answer["allocation"],
            steps=None if steps is None else [(step["arm"], step["amount"]) for step in steps],
        )

    def amounts(self, spent: float | None) -> dict[str, float]:
        """Return what each arm got: as allocated, or as far as the schedule was carried out."""
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
        """Whether every arm that got something has been reported."""
        if self.steps is not None and heard.spent is None:
            return False
        return all(arm in heard.results for arm, amount in self.amounts(heard.spent).items() if amount > 0.0)

    def silence(self, heard: Heard) -> Results:
        """Return what silence says: that every silent arm failed; nothing, where nobody knows what was spent."""
        if self.steps is not None and heard.spent is None:
            return {}
        amounts = self.amounts(heard.spent)
        return {arm: None for arm, amount in amounts.items() if amount > 0.0 and arm not in heard.results}

    def news(self, heard: Heard, results: Results, spent: float | None) -> News:
        """Return what a report adds; raise if it contradicts what was heard, or cannot be of this decision."""
        if spent is not None and self.steps is None:
            raise RefusedError("only the outcome of a schedule says what was spent", "spent")
        other = [arm for arm, v in results.items() if arm in heard.results and heard.results[arm] != v]
        if heard.spent is not None and spent not in (None, heard.spent):
            other.append("spent")
        if other:
            raise ConflictError(f"decision {self.id!r} was reported otherwise before: {', '.join(other)}")
        amounts = self.amounts(spent if heard.spent is None else heard.spent)
        new = {arm: threshold for arm, threshold in results.items() if arm not in heard.results}
        for arm, threshold in new.items():
            if arm not in amounts:
                raise RefusedError(f"arm {arm!r} is not in decision {self.id!r}", f"results.{arm}")
            if threshold is not None and (threshold > amounts[arm] or amounts[arm] <= 0.0):
                raise RefusedError(
                    f"arm {arm!r} succeeded with threshold {threshold:g} above its allocation {amounts[arm]:g}: "
                    "a success needs threshold <= allocation",
                    f"results.{arm}.threshold",
                )
        return News(new, spent if heard.spent is None else None, amounts)
