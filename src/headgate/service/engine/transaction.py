"""One transaction for a batch of requests: lock the allocators, catch up, hear reports, decide, write."""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from headgate.errors import InputError, UnsupportedError
from headgate.service import clock
from headgate.service.bodies import Outcome
from headgate.service.engine.decided import Decided, Heard, answer_text
from headgate.service.engine.learner import Learner
from headgate.service.engine.requests import Decide, Report, Reported
from headgate.service.faults import ConflictError, NotFoundError, RefusedError, ServiceError
from headgate.service.store import schema, statements

if TYPE_CHECKING:
    from headgate.service.engine.ledger import Ledger


class Transaction:
    """What a batch changes, gathered so that it is written in a few statements however large the batch is."""

    def __init__(self, connection: Connection, ledger: Ledger) -> None:
        self.connection = connection
        self.ledger = ledger
        self.now = clock.now()
        self.learners: dict[int, Learner] = {}
        self.fresh: dict[str, Decided] = {}
        self._counters: dict[int, dict[str, int]] = {}
        self._decisions: list[dict[str, Any]] = []
        self._reports: list[dict[str, Any]] = []
        self._waiting: list[dict[str, Any]] = []
        self._done: list[dict[str, int]] = []

    def run(self, requests: Sequence[Decide | Report]) -> list[Any]:
        """Answer every request, with what it asks for or with the error it deserves."""
        names = {r.allocator for r in requests if isinstance(r, Decide)}
        asked = {r.request.decision_id for r in requests if isinstance(r, Decide) and r.request.decision_id}
        heard_of = {r.decision_id for r in requests if isinstance(r, Report)}
        ids = self.ledger.ids(self.connection, names)
        known = self._find(heard_of)
        self._lock({*ids.values(), *(d.allocator_id for d in known.values())})
        heard = self._heard(known.values())
        known |= self._find(asked)
        answers: list[Any] = [None] * len(requests)
        for reporting in (True, False):  # decisions know of every report that came with them
            for place, request in enumerate(requests):
                if isinstance(request, Report) is not reporting:
                    continue
                try:
                    if isinstance(request, Report):
                        answers[place] = self._report(request, known, heard)
                    else:
                        answers[place] = self._decide(request, ids, known)
                except (ServiceError, InputError, UnsupportedError) as refused:
                    answers[place] = refused
            if reporting:
                self._settle()
        self._write()
        return answers

    # -- reading -----------------------------------------------------------------------------------------------------

    def _find(self, ids: Iterable[str]) -> dict[str, Decided]:
        """Return the decisions of these ids, of which the ledger remembers the latest."""
        known: dict[str, Decided] = {}
        missing = []
        for key in ids:
            found = self.ledger.recent.get(key)
            if found is None:
                missing.append(key)
            else:
                known[key] = found
        if missing:
            for row in statements.FIND.rows(self.connection, ids=missing):
                known[row["id"]] = Decided.of_row(row)
        return known

    def _lock(self, ids: set[int]) -> None:
        """Lock the allocators, always in one order, and catch up with what others did to them."""
        if not ids:
            return
        for row in statements.LOCK.rows(self.connection, ids=list(ids)):
            self.learners[row["id"]] = self.ledger.learner(self.connection, row)
            self._counters[row["id"]] = _start(row)

    def _heard(self, decisions: Iterable[Decided]) -> dict[str, Heard]:
        """Return what has been reported of these decisions."""
        rounds: dict[int, dict[int, str]] = defaultdict(dict)
        heard: dict[str, Heard] = {}
        for decided in decisions:
            rounds[decided.allocator_id][decided.round] = decided.id
            heard[decided.id] = Heard()
        for allocator_id, wanted in rounds.items():
            rows = statements.HEARD.rows(self.connection, allocator=allocator_id, rounds=list(wanted))
            for row in rows:
                heard[wanted[row["round"]]].add(json.loads(row["results"]), row["spent"])
        return heard

    # -- reports -----------------------------------------------------------------------------------------------------

    def _report(self, request: Report, known: dict[str, Decided], heard: dict[str, Heard]) -> Reported:
        decided = known.get(request.decision_id)
        if decided is None:
            raise NotFoundError(f"there is no decision {request.decision_id!r}")
        before, counters = heard[decided.id], self._counters[decided.allocator_id]
        learner = self.learners[decided.allocator_id]
        if request.by_expiry:
            request = _silence(request, decided, before)
        said: dict[str, float | None] = {arm: r.threshold for arm, r in request.outcome.results.items()}
        contradicted = [arm for arm, v in said.items() if arm in before.results and before.results[arm] != v]
        spent = request.outcome.spent
        if spent is not None and decided.steps is None:
            raise RefusedError("only the outcome of a schedule says what was spent", "spent")
        if before.spent is not None and spent not in (None, before.spent):
            contradicted.append("spent")
        if contradicted:
            counters["contradictions"] += 1
            raise ConflictError(f"decision {decided.id!r} was reported otherwise before: {', '.join(contradicted)}")
        spent = before.spent if spent is None else spent
        amounts = decided.amounts(spent)
        new = {arm: v for arm, v in said.items() if arm not in before.results}
        _check(decided, amounts, new)
        repeated = [arm for arm in said if arm not in new]
        late = decided.expires_at is not None and self.now > decided.expires_at and not request.by_expiry
        waited = not decided.complete(before)
        if new or (spent is not None and before.spent is None):
            told = {arm: v for arm, v in new.items() if amounts[arm] > 0.0}
            if told and not learner.count(amounts, told):
                raise RefusedError(f"the results of decision {decided.id!r} cannot be counted", "results")
            self._reports.append(
                {
                    "allocator_id": decided.allocator_id,
                    "round": decided.round,
                    "part": before.parts,
                    "results": json.dumps(new, separators=(",", ":")),
                    "spent": request.outcome.spent if before.spent is None else None,
                    "recorded_at": self.now,
                    "by_expiry": request.by_expiry,
                }
            )
            counters["late"] += late
            before.add(new, spent)
        elif not request.by_expiry:
            counters["duplicates"] += 1
        complete = decided.complete(before)
        if complete and waited:
            self._done.append({"a": decided.allocator_id, "r": decided.round})
            budget = decided.budget if decided.budget is not None else spent
            _complete(counters, learner, budget or 0.0, amounts, before.results)
        return Reported(sorted(new), repeated, complete, late)

    def _settle(self) -> None:
        """Add what the reports told to the evidence."""
        cells = []
        for learner in self.learners.values():
            cells += learner.settle()
            self._counters[learner.id]["seq"] = learner.seq
        if cells:
            statements.ADD.each(self.connection, cells)

    # -- decisions ---------------------------------------------------------------------------------------------------

    def _decide(self, asked: Decide, ids: dict[str, int], known: dict[str, Decided]) -> str:
        allocator_id = ids.get(asked.allocator)
        if allocator_id is None:
            raise NotFoundError(f"there is no allocator {asked.allocator!r}")
        learner, request = self.learners[allocator_id], asked.request
        body = request.model_dump_json(exclude={"decision_id"})
        before = known.get(request.decision_id) if request.decision_id else None
        if before is not None:
            if before.allocator_id != allocator_id or not _same(before.request, body):
                raise ConflictError(f"decision {before.id!r} was asked for with another body")
            self._counters[allocator_id]["duplicates"] += 1
            return before.answer
        if learner.archived:
            raise ConflictError(f"allocator {asked.allocator!r} is archived: it makes no more decisions")
        decided = self._new(learner, asked, body)
        known[decided.id] = self.fresh[decided.id] = decided
        return decided.answer

    def _new(self, learner: Learner, asked: Decide, body: str) -> Decided:
        request, counters = asked.request, self._counters[learner.id]
        turn, allocation, steps = counters["decisions"], None, None
        if request.budget is None:
            steps = learner.schedule(request.step, turn)
        elif request.step is not None:
            raise RefusedError("step is only for a budget that is not known", "step")
        else:
            allocation = learner.allocate(request.budget, turn)
        counters["decisions"] += 1
        key = request.decision_id or f"{self.now:014x}-{secrets.token_hex(6)}"  # in the order of time, for the index
        expires_at = clock.after(self.now, learner.spec.feedback_deadline)
        answer = answer_text(key, asked.allocator, request.budget, allocation, steps, self.now, expires_at)
        decided = Decided(key, learner.id, turn, body, answer, expires_at, allocation, steps, request.budget)
        place = {"allocator_id": learner.id, "round": turn, "expires_at": expires_at}
        self._decisions.append(
            {**place, "id": key, "budget": request.budget, "request": body, "answer": answer, "created_at": self.now}
        )
        if allocation is None or any(allocation.values()):
            self._waiting.append(place)
        else:  # nobody got anything: there is nothing to hear of
            _complete(counters, learner, request.budget or 0.0, {}, {})
        return decided

    # -- writing -----------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        for statement, rows in (
            (statements.DECIDED, self._decisions),
            (statements.REPORTED, self._reports),
            (statements.WAIT, self._waiting),
            (statements.DONE, self._done),
            (statements.COUNT, [{"key": key, **values} for key, values in self._counters.items()]),
        ):
            if rows:
                statement.each(self.connection, rows)


def _start(row: schema.Fields) -> dict[str, int]:
    return {name: row[name] for name in statements.COUNTERS}


def _silence(request: Report, decided: Decided, before: Heard) -> Report:
    """What an expired decision says: that every silent arm failed; nothing, where nobody knows what was spent."""
    if decided.steps is not None and before.spent is None:
        return Report(request.decision_id, Outcome(results={}), by_expiry=True)
    silent = [
        arm for arm, amount in decided.amounts(before.spent).items() if amount > 0.0 and arm not in before.results
    ]
    failures = Outcome.model_validate({"results": {arm: {"success": False} for arm in silent}})
    return Report(request.decision_id, failures, by_expiry=True)


def _same(first: str, second: str) -> bool:
    """Whether two requests mean the same, whatever the order of their fields."""
    return first == second or json.loads(first) == json.loads(second)


def _check(decided: Decided, amounts: dict[str, float], new: dict[str, float | None]) -> None:
    """Raise if a result cannot be of this decision."""
    for arm, threshold in new.items():
        if arm not in amounts:
            raise RefusedError(f"arm {arm!r} is not in decision {decided.id!r}", f"results.{arm}")
        if threshold is not None and (threshold > amounts[arm] or amounts[arm] <= 0.0):
            raise RefusedError(
                f"arm {arm!r} succeeded with threshold {threshold:g} above its allocation {amounts[arm]:g}: "
                "a success needs threshold <= allocation",
                f"results.{arm}.threshold",
            )


def _complete(
    counters: dict[str, int],
    learner: Learner,
    budget: float,
    amounts: dict[str, float],
    results: dict[str, float | None],
) -> None:
    won = sum(threshold is not None for threshold in results.values())
    scale = schema.BUDGET_UNITS / learner.spec.max_budget
    counters["complete"] += 1
    counters["reward"] += min(won, 1) if learner.spec.reward == "cascade" else won
    counters["budget_units"] += round(budget * scale)
    counters["given_units"] += round(sum(amounts.values()) * scale)
