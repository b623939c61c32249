"""Modes: whether a decision is the policy's or the baseline's, and sums of what came of each.

Which decisions the baseline gets is a function of the allocator's name and the decision's number, so every worker and
`verify` draw the same. Sums are of complete decisions by version and mode, as exact fractions: order does not matter.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np
from sqlalchemy import Connection, insert, select

from headgate.policies import Guarded, Policy
from headgate.service.bodies import Mode
from headgate.service.engine.records import LoggedDecision, Results
from headgate.service.spec import AllocatorSpec, ArmSpec
from headgate.service.store import schema, statements


@dataclass(frozen=True, slots=True)
class Split:
    """An allocation and who made it."""

    allocation: dict[str, float]
    mode: Mode = "policy"
    probability: float = 1.0
    """Of the draw between the baseline and the policy to end as it did."""
    policy_allocation: dict[str, float] | None = None
    """Of a shadow: what the policy would have given."""


def draw(name: str, number: int) -> float:
    """Return a number ~ U[0, 1) of an allocator's decision, always the same; the baseline gets it if below `holdout`.

    >>> draw("quiz", 17) == draw("quiz", 17) != draw("quiz", 18)
    True
    """
    digest = hashlib.sha256(f"holdout {name} {number}".encode()).digest()
    return float(int.from_bytes(digest[:8]) >> 11) * 2.0**-53


def unguarded(policy: Policy) -> Policy:
    """Return the policy itself, or the one that a guard holds back."""
    return policy.policy if isinstance(policy, Guarded) else policy


@dataclass(slots=True)
class ModeSum:
    """How many decisions of a version had a mode, how many are complete, and what these were worth."""

    allocator_id: int
    version: int
    mode: str
    decisions: int = 0
    complete: int = 0
    worth: Fraction = Fraction(0)
    """The sum of what complete decisions were worth: values of their successes."""
    squares: Fraction = Fraction(0)
    """The sum of the squares of that."""

    @classmethod
    def of_row(cls, row: schema.Fields) -> Self:
        """Read a row."""
        return cls(**{**row, "worth": Fraction(row["worth"]), "squares": Fraction(row["squares"])})

    def row(self) -> dict[str, Any]:
        """Return the row as it is stored."""
        values = {name: getattr(self, name) for name in ("allocator_id", "version", "mode", "decisions", "complete")}
        return values | {"worth": str(self.worth), "squares": str(self.squares)}

    def add(self, worth: Fraction, times: int = 1) -> None:
        """Count a decision that has become complete; -1 times: one that no longer is."""
        self.complete += times
        self.worth += times * worth
        self.squares += times * worth**2


@dataclass(slots=True)
class ModeSums:
    """The sums that a transaction changes, of allocators that it has locked."""

    _connection: Connection
    _sums: dict[tuple[int, int, str], ModeSum] = field(default_factory=dict)
    _values: dict[tuple[int, int], dict[str, float]] = field(default_factory=dict)

    def decided(self, decision: LoggedDecision) -> None:
        """Count a decision that was just made, and is to be compared."""
        self._sum(decision).decisions += 1

    def completed(self, decision: LoggedDecision, results: Results, cascade: bool, times: int = 1) -> None:
        """Count what came of a decision of which everything has been reported; -1 times: no longer."""
        mode_sum = self._sum(decision)
        key = decision.allocator_id, mode_sum.version
        if key not in self._values:
            self._values[key] = values_of(terms_of(self._connection, *key))
        mode_sum.add(worth_of(decision, results, self._values[key], cascade), times)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows to be written."""
        return [one.row() for one in self._sums.values()]

    def _sum(self, decision: LoggedDecision) -> ModeSum:
        key = decision.allocator_id, decision.version or 0, decision.mode or ""
        if key not in self._sums:
            here = dict(zip(("allocator_id", "version", "mode"), key, strict=True))
            rows = statements.MODE.rows(self._connection, **here)
            self._sums[key] = ModeSum.of_row(rows[0]) if rows else ModeSum(*key)
        return self._sums[key]


def worth_of(decision: LoggedDecision, results: Results, values: Mapping[str, float], cascade: bool) -> Fraction:
    """Return what came of a decision: the values of its successes, by its own terms where it has some."""
    won = [arm for arm, result in results.items() if result is not None]
    if cascade:
        return Fraction(min(len(won), 1))
    own = json.loads(decision.request).get("value") or {}
    return sum((Fraction(own.get(arm, values.get(arm, 1.0))) for arm in won), Fraction(0))


# -- what versions with a baseline were ------------------------------------------------------------------------------


def write_terms(
    connection: Connection,
    allocator_id: int,
    version: int,
    spec: AllocatorSpec,
    arms: Sequence[ArmSpec],
    fold: tuple[int, int] | None = None,
) -> None:
    """Write down what decisions of a version are made and compared by, if it has a baseline; `arms` are those in use.

    Where the version began to follow the log anew, `fold` is after how many decisions and reports that was.
    """
    if spec.baseline is None:
        return
    values = np.broadcast_to(spec.policy.get("value", [arm.value for arm in arms]), len(arms)).tolist()
    limits = {arm.name: [arm.lower, arm.upper, value] for arm, value in zip(arms, values, strict=True)}
    terms = spec.model_dump(include={"baseline", "holdout", "shadow", "guard"}) | {"arms": limits, "fold": fold}
    data = json.dumps(terms, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    row = {"allocator_id": allocator_id, "version": version, "data": data}
    connection.execute(insert(schema.baselines).values(row))


def terms_of(connection: Connection, allocator_id: int, version: int) -> dict[str, Any]:
    """Return the same; of a version without a baseline, nothing."""
    table = schema.baselines.c
    here = table.allocator_id == allocator_id, table.version == version
    text = connection.execute(select(table.data).where(*here)).scalar()
    return {} if text is None else json.loads(text)


def fold_start(connection: Connection, allocator_id: int) -> tuple[int, int]:
    """Return after how many decisions and reports an allocator's policy began to follow the log anew; (0, 0): never."""
    table = schema.baselines.c
    query = select(table.data).where(table.allocator_id == allocator_id).order_by(table.version.desc())
    for text in connection.execute(query).scalars():
        fold = json.loads(text)["fold"]
        if fold is not None:
            return fold[0], fold[1]
    return 0, 0


def values_of(terms: Mapping[str, Any]) -> dict[str, float]:
    """Return what a success of each arm was worth."""
    return {name: value for name, (_, _, value) in terms.get("arms", {}).items()}
