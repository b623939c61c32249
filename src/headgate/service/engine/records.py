"""Decisions of the log, and what has been reported of them."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self, TypeAlias

from pydantic_core import from_json
from sqlalchemy import Connection

from headgate.service.bodies import ArmResult, Outcome
from headgate.service.faults import ConflictError, NotFoundError, RefusedError, ServiceError
from headgate.service.store import schema, statements

TALLY = ("complete", "reward", "budget_units", "given_units")
"""The counters of an allocator that count complete decisions."""
Results: TypeAlias = dict[str, float | Literal[True] | None]
"""By arm: the threshold of a success, True for a success whose threshold is not known, None for a failure."""


def the_one(decision_id: str, names: Iterable[str], what: str = "decision") -> str:
    """Return the name of the one allocator that has such a decision or live round, of those that the asker sees."""
    owners = sorted(names)
    if len(owners) != 1:
        raise not_the_one(decision_id, owners, what)
    return owners[0]


def not_the_one(decision_id: str, names: Sequence[str], what: str) -> ServiceError:
    """Return why it is not known which decision or live round is meant: no allocator has such a one, or several."""
    if not names:
        return NotFoundError(f"there is no {what} {decision_id!r}")
    part = "live" if what == "live round" else "decisions"
    paths = ", ".join(f"/v1/allocators/{name}/{part}/{decision_id}" for name in names[:3])
    return ConflictError(
        f"{len(names)} allocators have a {what} {decision_id!r}: say which, {paths}{', ...' * (len(names) > 3)}"
    )


def in_full(result: float | Literal[True] | None, amount: float | None = None) -> ArmResult:
    """Return what was reported of an arm, from the short form of it."""
    return ArmResult(success=result is not None, threshold=None if result is True else result, amount=amount)


@dataclass(slots=True)
class Reports:
    """All reports of a decision so far, taken together."""

    results: Results = field(default_factory=dict)
    amounts: dict[str, float] = field(default_factory=dict)
    """What arms really got, where that was said."""
    spent: float | None = None
    parts: int = 0
    """Rows of the log, those that take others back too."""
    valid: int = 0
    """Of these, the reports that were not taken back."""

    def add(self, results: Results, amounts: Mapping[str, float], spent: float | None) -> None:
        """Add one more report."""
        self.results.update(results)
        self.amounts.update(amounts)
        self.spent = spent if self.spent is None else self.spent
        self.parts += 1
        self.valid += 1

    def take_back(self, results: Results, amounts: Mapping[str, float], spent: float | None) -> None:
        """Take back a report that had these results, amounts and sum spent."""
        for arm in (*results, *amounts):
            self.results.pop(arm, None)
            self.amounts.pop(arm, None)
        self.spent = self.spent if spent is None else None
        self.parts += 1
        self.valid -= 1


def short(outcome: Outcome, max_budget: float) -> tuple[Results, dict[str, float]]:
    """Return the short form of what was reported of each arm, and what arms really got, where that was said."""
    results: Results = {}
    amounts: dict[str, float] = {}
    for arm, result in outcome.results.items():
        threshold, amount = result.get("threshold"), result.get("amount")
        if not result["success"]:
            if threshold is not None:
                raise RefusedError("a failure has no threshold", f"results.{arm}")
            results[arm] = None
        else:
            results[arm] = True if threshold is None else threshold
        if amount is not None:
            amounts[arm] = amount
            if amount > max_budget:
                raise RefusedError(
                    f"amount must be at most max_budget {max_budget:g}, got {amount:g}", f"results.{arm}.amount"
                )
    return results, amounts


def check_corrected(outcome: Outcome, arms: Container[str]) -> None:
    """Raise unless the outcome of a live round, whose report was taken back, says what each arm got."""
    for arm, result in outcome.results.items():
        if arm not in arms:
            raise RefusedError(f"there is no arm {arm!r}", f"results.{arm}")
        if result.get("amount") is None:
            raise RefusedError("amount must say what the arm got in the live round", f"results.{arm}.amount")


def read_reports(connection: Connection, rounds: Mapping[tuple[int, int], Reports]) -> None:
    """Read what has been reported of some rounds, given by allocator and round."""
    for row in statements.REPORTS.rows(connection, pairs=list(rounds)):
        reports, amounts = (
            rounds[row["allocator_id"], row["round"]],
            json.loads(row["amounts"]) if row["amounts"] else {},
        )
        take = reports.add if row["retracts"] is None else reports.take_back
        take(json.loads(row["results"]), amounts, row["spent"])


_COLUMNS = ("id", "allocator_id", "round", "budget", "request", "answer", "created_at", "expires_at")


@dataclass(frozen=True, slots=True)
class LoggedDecision:
    """A decision in the log; it never changes."""

    id: str
    allocator_id: int
    round: int
    budget: float | None
    request: str
    answer: str
    created_at: int
    expires_at: int | None
    allocator: str
    """Its name."""
    allocation: dict[str, float] | None
    steps: list[tuple[str, float]] | None
    version: int | None = None
    """Of the allocator that made it, where that was written down."""
    live: bool = False
    """Whether it is a live round: its only report says what each arm got."""
    mode: str | None = None
    """Who made it (`headgate.service.engine.modes`), and the probability of that; None: not written down then."""
    probability: float | None = None
    policy_allocation: dict[str, float] | None = None
    """Of a shadow: what the policy would have given."""
    compared: bool = False
    """Whether it is counted by its mode: it might have been, or was, other than the policy's."""

    @classmethod
    def of_row(cls, row: schema.Fields) -> Self:
        """Read a decision from its row."""
        answer = from_json(row["answer"])
        steps = None if answer["schedule"] is None else [(step["arm"], step["amount"]) for step in answer["schedule"]]
        fields = {"allocation": answer["allocation"], "policy_allocation": answer.get("policy_allocation")}
        fields |= {name: answer.get(name) for name in ("allocator", "version", "mode", "probability")}
        fields["compared"] = fields["mode"] is not None and (fields["mode"], fields["probability"]) != ("policy", 1.0)
        own = {name: row[name] for name in _COLUMNS}
        return cls(**own, **fields, steps=steps, live=answer["allocation"] == {})

    @property
    def name(self) -> tuple[str, str]:
        """What it is known by: its allocator's name and its id."""
        return self.allocator, self.id

    def amounts(self, spent: float | None) -> dict[str, float]:
        """Return what each arm was given: as allocated, or as far as the schedule was carried out."""
        if self.allocation is not None:
            return self.allocation
        if spent is None:
            raise RefusedError("the outcome of a schedule must say how much was spent", "spent")
        amounts: dict[str, float] = {}
        rest = spent
        for arm, amount in self.steps or ():
            part = min(amount, rest)
            amounts[arm] = amounts.get(arm, 0.0) + part
            rest -= part
        planned = sum(amount for _, amount in self.steps or ())
        if rest > 1e-9 * planned:
            raise RefusedError(f"spent must be at most what the schedule plans, {planned:.9g}, got {spent:g}", "spent")
        return amounts

    def lasted(self, spent: float) -> tuple[float, bool] | None:
        """Return how long the budget of a schedule without switching lasted, and whether it may have been longer.

        Other schedules tell nothing: nobody plans by them.
        """
        if self.budget is not None or json.loads(self.request).get("switching", True):
            return None
        planned = sum(amount for _, amount in self.steps or ())
        return min(spent, planned), spent >= planned * (1.0 - 1e-9)

    def silent(self, reports: Reports) -> list[str] | None:
        """Return the arms that got something and were not reported; None while nobody knows what they got."""
        if self.live:
            return [] if reports.valid else None
        if self.steps is not None and reports.spent is None:
            return None
        amounts = self.amounts(reports.spent)
        return [arm for arm, amount in amounts.items() if amount > 0.0 and arm not in reports.results]

    def tally(self, reports: Reports, cascade: bool, scale: float) -> tuple[int, int, int, int]:
        """Return what a decision adds to the counters of `TALLY`: nothing until all of it has been reported."""
        if (self.steps is not None and reports.spent is None) or (self.live and not reports.valid):
            return 0, 0, 0, 0
        allocation = self.amounts(reports.spent)
        if any(allocation[arm] > 0.0 for arm in allocation.keys() - reports.results.keys()):
            return 0, 0, 0, 0
        won = len(reports.results) - list(reports.results.values()).count(None)
        total = sum((allocation | reports.amounts).values())
        budget = self.budget
        if budget is None:
            budget = total if self.live else reports.spent
        return 1, min(won, 1) if cascade else won, round((budget or 0.0) * scale), round(total * scale)

    def news(
        self, reports: Reports, results: Results, amounts: Mapping[str, float], spent: float | None
    ) -> tuple[Results, dict[str, float]]:
        """Return what a report adds, and what each arm got; raise if it contradicts an earlier report, or cannot be.

        `amounts` are what arms really got, where the report says so.
        """
        if spent is not None and self.steps is None:
            raise RefusedError("only the outcome of a schedule says what was spent", "spent")
        allocation = self.amounts(spent if reports.spent is None else reports.spent)
        before = allocation | reports.amounts if reports.amounts else allocation
        now = allocation
        if amounts:
            now = {**allocation, **{a: x for a, x in amounts.items() if a in allocation or self.live}}
        other = [
            arm
            for arm in (results if reports.results else ())
            if arm in reports.results
            and in_full(results[arm], now[arm]) != in_full(reports.results[arm], before[arm])  # True is not 1.0
        ]
        if reports.spent is not None and spent not in (None, reports.spent):
            other.append("spent")
        if other:
            raise ConflictError(f"decision {self.id!r} was reported otherwise before: {', '.join(other)}")
        new = results
        if reports.results:
            new = {arm: result for arm, result in results.items() if arm not in reports.results}
        all_amounts = before | {arm: now[arm] for arm in new if arm in now} if amounts else before
        for arm, threshold in new.items():
            if arm not in all_amounts:
                raise RefusedError(f"arm {arm!r} is not in decision {self.id!r}", f"results.{arm}")
            if threshold is None:
                continue
            if all_amounts[arm] <= 0.0:
                raise RefusedError(
                    f"arm {arm!r} succeeded with an amount of 0: a success needs something", f"results.{arm}"
                )
            if threshold is not True and threshold > all_amounts[arm]:
                raise RefusedError(
                    f"arm {arm!r} succeeded with threshold {threshold:g} above its amount {all_amounts[arm]:g}: "
                    "a success needs threshold <= what the arm got",
                    f"results.{arm}.threshold",
                )
        return new, all_amounts
