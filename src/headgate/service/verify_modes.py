"""Recomputing from the log, by another way than the engine's, whose turn each decision was and what came of it."""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, select

from headgate.service.engine.records import LoggedDecision, Results
from headgate.service.store import schema

_HALVINGS = 200


class ModeCheck:
    """The modes of an allocator's decisions as they must be, given what its versions with a baseline were."""

    def __init__(self, connection: Connection, row: schema.Fields, whole: Mapping[str, bool]) -> None:
        table = schema.baselines.c
        rows = connection.execute(select(table.version, table.data).where(table.allocator_id == row["id"]))
        self._terms: dict[int, dict[str, Any]] = {version: json.loads(data) for version, data in rows}
        self._name, self._whole, spec = row["name"], whole, json.loads(row["spec"])
        self._cascade, self._close = spec["reward"] == "cascade", 1e-9 * spec["max_budget"]
        self._sums: dict[tuple[int, str], list[Any]] = defaultdict(lambda: [0, 0, Fraction(0), Fraction(0)])
        self._written = False

    @property
    def fold(self) -> tuple[int, int]:
        """After how many decisions and reports its policy began to follow the log."""
        folds = [terms["fold"] for _, terms in sorted(self._terms.items()) if terms["fold"] is not None]
        return (folds[-1][0], folds[-1][1]) if folds else (0, 0)

    def decided(self, decision: LoggedDecision) -> Iterator[str]:
        """Say what is not as it must be of a decision, and count it."""
        if decision.mode is None:
            if self._written:
                yield f"decision {decision.id!r} has no mode, and one before it has"
            return
        self._written = True
        terms = self._terms.get(decision.version or 0, {})
        once = decision.allocation is not None and not decision.live
        modes, probability = self._expected(terms, decision.round) if once else ({"policy"}, 1.0)
        if decision.mode not in modes or decision.probability != probability:
            words = f"{decision.mode!r} with probability {decision.probability}"
            allowed = " or ".join(map(repr, sorted(modes)))
            yield f"decision {decision.id!r} is {words}, by its number it is {allowed} with {probability}"
        elif decision.mode in {"holdout", "shadow"}:
            expected = self._baseline(terms, json.loads(decision.request))
            allocation = decision.allocation or {}
            if allocation.keys() != expected.keys() or any(
                abs(allocation[a] - x) > self._close for a, x in expected.items()
            ):
                yield f"decision {decision.id!r} is not what the baseline of version {decision.version} gives"
        if (decision.policy_allocation is not None) != (decision.mode == "shadow"):
            yield f"decision {decision.id!r} is {decision.mode!r}: only a shadow keeps what its policy would have given"
        if decision.mode != "policy" or probability < 1.0:
            self._sums[decision.version or 0, decision.mode][0] += 1

    def _expected(self, terms: Mapping[str, Any], number: int) -> tuple[set[str], float]:
        """Return the modes that a decision of this number may have, and their probability."""
        if not terms:
            return {"policy"}, 1.0
        if terms["shadow"]:
            return {"shadow"}, 1.0
        text = hashlib.sha256(f"holdout {self._name} {number}".encode()).hexdigest()[:16]
        if Fraction(int(text, 16) >> 11, 2**53) < Fraction(terms["holdout"]):
            return {"holdout"}, terms["holdout"]
        return {"policy"} if terms["guard"] is None else {"policy", "guard"}, 1.0 - terms["holdout"]

    def completed(self, decision: LoggedDecision, results: Results) -> None:
        """Count what came of a decision."""
        if decision.mode is None or (decision.mode == "policy" and decision.probability == 1.0):
            return
        arms = self._terms.get(decision.version or 0, {"arms": {}})["arms"]
        values = {name: value for name, (_, _, value) in arms.items()}
        values |= json.loads(decision.request).get("value") or {}
        worth = sum(Fraction(values.get(arm, 1.0)) for arm in results if results[arm] is not None)
        if self._cascade:
            worth = Fraction(any(result is not None for result in results.values()))
        sums = self._sums[decision.version or 0, decision.mode]
        sums[1:] = [sums[1] + 1, sums[2] + worth, sums[3] + worth * worth]

    def add(self, sums: list[list[Any]]) -> None:
        """Begin with what decisions have left whose rows are gone."""
        for version, mode, decisions, complete, worth, squares in sums:
            own, more = self._sums[version, mode], (decisions, complete, Fraction(worth), Fraction(squares))
            own[:] = [had + has for had, has in zip(own, more, strict=True)]

    def differences(self, connection: Connection, allocator_id: int) -> Iterator[str]:
        """Compare the sums with those that are stored."""
        table = schema.modes
        stored = {
            (row["version"], row["mode"]): [
                row["decisions"], row["complete"], Fraction(row["worth"]), Fraction(row["squares"])
            ]
            for row in connection.execute(select(table).where(table.c.allocator_id == allocator_id)).mappings()
        }  # fmt: skip
        for version, mode in sorted(stored.keys() | self._sums.keys()):
            if stored.get((version, mode)) != self._sums.get((version, mode)):
                yield f"what came of decisions of mode {mode!r} of version {version} is not what the log says"

    # -- the baseline, with plain loops ------------------------------------------------------------------------------

    def _baseline(self, terms: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, float]:
        limits: dict[str, tuple[float, float]] = {}
        able = request.get("eligible")
        for arm, (lower, upper, _) in terms["arms"].items():
            low = max(lower, (request.get("lower") or {}).get(arm, 0.0))
            high = min(math.inf if upper is None else upper, (request.get("upper") or {}).get(arm, math.inf))
            if self._whole[arm]:
                low, high = math.ceil(low), math.floor(high) if high < math.inf else high
            limits[arm] = (low, high) if able is None or arm in able else (0.0, 0.0)
        budget = request["budget"]
        if all(self._whole[arm] for arm in limits):
            budget = math.floor(budget)
        baseline = terms["baseline"]
        total = 0.0 if baseline == "even" else sum(baseline.get(arm, 0.0) for arm in limits)

        def at(level: float) -> dict[str, float]:
            wish = {arm: level if baseline == "even" else baseline.get(arm, 0.0) for arm in limits}
            if baseline != "even" and total > budget:
                wish = {arm: amount * budget / total for arm, amount in wish.items()}
            x = {arm: min(max(wish[arm], low), high) for arm, (low, high) in limits.items()}
            if baseline == "even":
                return x
            return {arm: limits[arm][0] + level * (x[arm] - limits[arm][0]) for arm in limits}

        low, high = 0.0, float(budget) if baseline == "even" else 1.0
        if sum(at(high).values()) > budget:
            for _ in range(_HALVINGS):
                middle = (low + high) / 2.0
                low, high = (low, middle) if sum(at(middle).values()) > budget else (middle, high)
            high = low
        x = at(high)
        if any(self._whole.values()):
            x = {arm: math.floor(amount + 1e-9) if self._whole[arm] else amount for arm, amount in x.items()}
            rest = budget - sum(x.values())
            for arm in x if baseline == "even" else ():
                if self._whole[arm] and rest >= 1.0 - 1e-9 and x[arm] + 1 <= limits[arm][1]:
                    x[arm], rest = x[arm] + 1, rest - 1
        return x
