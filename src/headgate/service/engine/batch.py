"""A batch: many requests in one transaction, which locks the allocators, catches up, absorbs, decides and writes."""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from headgate.errors import InputError, UnsupportedError
from headgate.service import clock
from headgate.service.engine.learner import Learner
from headgate.service.engine.records import Decide, Heard, LoggedDecision, Receipt, Report, Results
from headgate.service.faults import ConflictError, NotFoundError, RefusedError, ServiceError
from headgate.service.store import schema, statements

REFUSALS = (ServiceError, InputError, UnsupportedError)
"""What a single request may deserve, while the others of its batch go on."""
_MOST_DECISIONS = 20_000


@dataclass(slots=True)
class Memory:
    """What a worker remembers from batch to batch: a cache, which may be thrown away at any moment."""

    learners: dict[int, Learner] = field(default_factory=dict)
    decisions: OrderedDict[str, LoggedDecision] = field(default_factory=OrderedDict)
    """The latest that were committed; they never change."""

    def keep(self, decisions: Mapping[str, LoggedDecision]) -> None:
        """Remember decisions that are committed now, and drop the oldest."""
        self.decisions.update(decisions)
        while len(self.decisions) > _MOST_DECISIONS:
            self.decisions.popitem(last=False)


class Batch:
    """Requests that are answered together.

    What they change is gathered and written in a few statements, however many they are. The rows of the allocators,
    locked, are the counters: they are counted up in place and written back.
    """

    def __init__(self, connection: Connection, memory: Memory) -> None:
        self.made: dict[str, LoggedDecision] = {}
        """Decisions of this batch, to be remembered once they are committed."""
        self._connection, self._memory, self._now = connection, memory, clock.now()
        self._rows: dict[int, dict[str, Any]] = {}
        self._ids: dict[str, int] = {}
        self._known: dict[str, LoggedDecision] = {}
        self._heard: dict[str, Heard] = {}
        self._reports: list[dict[str, Any]] = []
        self._waiting: list[dict[str, Any]] = []
        self._done: list[dict[str, int]] = []
        self._new: list[dict[str, Any]] = []

    def answer(self, requests: Sequence[Decide | Report]) -> list[Any]:
        """Return for each request what it asks for, or the error it deserves."""
        answers: list[Any] = [None] * len(requests)
        reports = [(place, r) for place, r in enumerate(requests) if isinstance(r, Report)]
        decisions = [(place, r) for place, r in enumerate(requests) if isinstance(r, Decide)]
        self._lock({r.allocator for _, r in decisions}, {r.decision_id for _, r in reports})
        for place, report in reports:
            try:
                answers[place] = self._absorb(report)
            except REFUSALS as refusal:
                answers[place] = refusal
        if reports:  # before any decision, so that decisions know of every report that came with them
            self._settle()
        if decisions:
            self._find({r.request.decision_id for _, r in decisions if r.request.decision_id})
        for place, decision in decisions:
            try:
                answers[place] = self._decide(decision)
            except REFUSALS as refusal:
                answers[place] = refusal
        self._write()
        return answers

    # -- lock and catch up -------------------------------------------------------------------------------------------

    def _lock(self, names: set[str], reported: set[str]) -> None:
        """Lock the allocators of these names and decisions, always in one order, and catch up with other workers."""
        if reported:
            self._find(reported)
        ids = {decision.allocator_id for decision in self._known.values()}
        learners = self._memory.learners
        for row in statements.LOCK.rows(self._connection, ids=list(ids), names=list(names)):
            key, learner = row["id"], learners.get(row["id"])
            self._rows[key], self._ids[row["name"]] = row, key
            if learner is None:
                learners[key] = Learner(self._connection, row)
            elif (learner.config, learner.seq) != (row["config"], row["seq"]):
                learner.catch_up(self._connection, row)
        if reported:
            self._hear()

    def _find(self, ids: Iterable[str]) -> None:
        """Get to know the decisions of these ids, as far as there are any."""
        missing = []
        for key in ids:
            decision = self._memory.decisions.get(key)
            if decision is None:
                missing.append(key)
            else:
                self._known[key] = decision
        if missing:
            for row in statements.FIND.rows(self._connection, ids=missing):
                self._known[row["id"]] = LoggedDecision.of_row(row)

    def _hear(self) -> None:
        """Read what has been reported of the known decisions."""
        rounds: dict[int, dict[int, Heard]] = defaultdict(dict)
        for decision in self._known.values():
            rounds[decision.allocator_id][decision.round] = self._heard[decision.id] = Heard()
        for allocator_id, heard in rounds.items():
            for row in statements.HEARD.rows(self._connection, allocator=allocator_id, rounds=list(heard)):
                heard[row["round"]].add(json.loads(row["results"]), row["spent"])

    # -- absorb ------------------------------------------------------------------------------------------------------

    def _absorb(self, report: Report) -> Receipt:
        """Take a report: what is new in it is counted and written, a repeat changes nothing."""
        decision = self._known.get(report.decision_id)
        if decision is None:
            raise NotFoundError(f"there is no decision {report.decision_id!r}")
        row, heard = self._rows[decision.allocator_id], self._heard[decision.id]
        if report.outcome is None:
            results, spent, late = decision.silence(heard), None, False
        else:
            results = {arm: result.threshold for arm, result in report.outcome.results.items()}
            spent, late = report.outcome.spent, decision.expires_at is not None and self._now > decision.expires_at
        try:
            news = decision.news(heard, results, spent)
        except ConflictError:
            row["contradictions"] += 1
            raise
        served = [arm for arm, amount in news.amounts.items() if amount > 0.0]
        waited = news.spent is not None or any(arm not in heard.results for arm in served)
        if news.results or news.spent is not None:
            self._memory.learners[decision.allocator_id].count(news.amounts, news.results)
            self._reports.append(
                {
                    "allocator_id": decision.allocator_id,
                    "round": decision.round,
                    "part": heard.parts,
                    "results": json.dumps(news.results, separators=(",", ":")),
                    "spent": news.spent,
                    "recorded_at": self._now,
                    "by_expiry": report.outcome is None,
                }
            )
            row["late"] += late
            heard.add(news.results, news.spent)
            if waited and all(arm in heard.results for arm in served):
                self._done.append({"a": decision.allocator_id, "r": decision.round})
                budget = heard.spent if decision.budget is None else decision.budget
                self._complete(decision.allocator_id, budget, news.amounts, heard.results)
        elif report.outcome is not None:
            row["duplicates"] += 1
        complete = all(arm in heard.results for arm in served)
        return Receipt(sorted(news.results), [arm for arm in results if arm not in news.results], complete, late)

    def _complete(
        self, allocator_id: int, budget: float | None, amounts: Mapping[str, float], results: Results
    ) -> None:
        """Count a decision of which everything has been reported."""
        row, spec = self._rows[allocator_id], self._memory.learners[allocator_id].spec
        won = sum(threshold is not None for threshold in results.values())
        scale = schema.BUDGET_UNITS / spec.max_budget
        row["complete"] += 1
        row["reward"] += min(won, 1) if spec.reward == "cascade" else won
        row["budget_units"] += round((budget or 0.0) * scale)
        row["given_units"] += round(sum(amounts.values()) * scale)

    def _settle(self) -> None:
        """Add what the reports said to the evidence."""
        cells = []
        for key, row in self._rows.items():
            learner = self._memory.learners[key]
            cells += learner.settle()
            row["seq"] = learner.seq
        if cells:
            statements.ADD.each(self._connection, cells)

    # -- decide ------------------------------------------------------------------------------------------------------

    def _decide(self, asked: Decide) -> str:
        """Return the text of a decision: that which was made for its id before, or a new one."""
        key, request = self._ids.get(asked.allocator), asked.request
        if key is None:
            raise NotFoundError(f"there is no allocator {asked.allocator!r}")
        row, learner = self._rows[key], self._memory.learners[key]
        body = request.model_dump_json(exclude={"decision_id"})
        before = self._known.get(request.decision_id or "")
        if before is not None:
            if before.allocator_id != key or not _same(before.request, body):
                raise ConflictError(f"decision {before.id!r} was asked for with another body")
            row["duplicates"] += 1
            return before.answer
        if row["archived_at"] is not None:
            raise ConflictError(f"allocator {asked.allocator!r} is archived: it makes no more decisions")
        if request.budget is not None and request.step is not None:
            raise RefusedError("step is only for a budget that is not known", "step")
        allocation, steps = None, None
        if request.budget is None:
            steps = learner.schedule(request.step, row["decisions"])
        else:
            allocation = learner.allocate(request.budget, row["decisions"])
        name = request.decision_id or f"{self._now:014x}-{secrets.token_hex(6)}"  # in the order of time, for the index
        expires_at = clock.after(self._now, learner.spec.feedback_deadline)
        text = json.dumps(  # written once; asked again, the very same text is given
            {
                "decision_id": name,
                "allocator": asked.allocator,
                "budget": request.budget,
                "allocation": allocation,
                "schedule": None if steps is None else [{"arm": arm, "amount": amount} for arm, amount in steps],
                "created_at": clock.as_text(self._now),
                "expires_at": clock.as_text(expires_at),
            },
            allow_nan=False,
            separators=(",", ":"),
        )
        self._known[name] = self.made[name] = made = LoggedDecision(
            name, key, row["decisions"], request.budget, body, text, expires_at, allocation, steps
        )
        self._new.append({column: getattr(made, column) for column in _COLUMNS} | {"created_at": self._now})
        if allocation is None or any(allocation.values()):
            self._waiting.append({"allocator_id": key, "round": made.round, "expires_at": expires_at})
        else:  # nobody got anything: there is nothing to be reported
            self._complete(key, request.budget, {}, {})
        row["decisions"] += 1
        return text

    # -- write -------------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        for statement, rows in (
            (statements.DECIDED, self._new),
            (statements.REPORTED, self._reports),
            (statements.WAIT, self._waiting),
            (statements.DONE, self._done),
            (statements.COUNT, [row | {"key": key} for key, row in self._rows.items()]),
        ):
            if rows:
                statement.each(self._connection, rows)


_COLUMNS = ("allocator_id", "round", "id", "budget", "request", "answer", "expires_at")


def _same(first: str, second: str) -> bool:
    """Whether two requests mean the same, whatever the order of their fields."""
    return first == second or json.loads(first) == json.loads(second)
