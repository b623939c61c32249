"""A batch: many requests in one transaction, which locks the allocators, catches up, absorbs, decides and writes."""

from __future__ import annotations

import json
import secrets
import time
from abc import ABC, abstractmethod
from collections import OrderedDict, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from pydantic_core import to_json
from sqlalchemy import Connection

from headgate.errors import InputError, UnsupportedError
from headgate.service import clock
from headgate.service.bodies import LiveRequest
from headgate.service.engine.learner import Learner
from headgate.service.engine.live import Playing
from headgate.service.engine.modes import ModeSums, Split
from headgate.service.engine.order import Part
from headgate.service.engine.records import (
    TALLY,
    Decide,
    Heard,
    Held,
    LoggedDecision,
    Report,
    Results,
    StepTaken,
    check_corrected,
    hear,
    short,
    the_one,
)
from headgate.service.engine.windows import turn
from headgate.service.faults import ConflictError, NotFoundError, RefusedError, ServiceError
from headgate.service.store import schema, statements
from headgate.service.store.database import Statement

REFUSALS = (ServiceError, InputError, UnsupportedError)
"""What a single request may deserve, while the others of its batch go on."""
_MOST_DECISIONS = 20_000
_MOST_PLAYING = 1_000
MOST_WORK = 20_000
"""Decisions times arms that one call may ask for: about half a second of work."""


DecisionName = tuple[str, str]
"""The name of its allocator, and its id."""


@dataclass(slots=True)
class Memory:
    """What a worker remembers from batch to batch: a cache, which may be thrown away at any moment.

    A batch takes its learners out, and they come back when it has committed: several batches may go on at once, each
    with allocators of its own.
    """

    learners: dict[int, Learner] = field(default_factory=dict)
    decisions: OrderedDict[DecisionName, LoggedDecision] = field(default_factory=OrderedDict)
    """The latest that were committed; they never change."""
    playing: OrderedDict[DecisionName, Playing] = field(default_factory=OrderedDict)
    """The latest live rounds that are not over."""
    names: dict[int, str] = field(default_factory=dict)
    """Of allocators, by their ids."""
    removals: dict[int, int] = field(default_factory=dict)
    """How often rows of theirs had gone: decisions that are remembered may be among them."""
    arms: dict[str, int] = field(default_factory=dict)
    """How many arms an allocator has: what a decision of it costs."""

    def is_stale(self, row: Mapping[str, Any]) -> bool:
        """Whether rows of an allocator have gone; then nothing of its decisions is remembered any more."""
        if self.removals.setdefault(row["id"], row["removals"]) == row["removals"]:
            return False
        self.removals[row["id"]] = row["removals"]
        for known in (self.decisions, self.playing):
            for name in [name for name in known if name[0] == row["name"]]:
                del known[name]
        return True

    def keep(self, batch: Batch) -> None:
        """Remember what was decided and is committed now, and drop the oldest decisions."""
        self.decisions.update(batch.made)
        while len(self.decisions) > _MOST_DECISIONS:
            self.decisions.popitem(last=False)
        for key, playing in batch.playing.items():
            if not playing.round.done:
                self.playing[key] = playing
        while len(self.playing) > _MOST_PLAYING:
            self.playing.popitem(last=False)
        for learner in batch.learners.values():
            self.arms[learner.name] = len(learner.active)


@dataclass(slots=True)
class Batch(ABC):
    """Requests that are answered together.

    What they change is gathered and written in a few statements, however many they are. The rows of the allocators,
    locked, are the counters: they are counted up in place and written back.
    """

    _connection: Connection
    _memory: Memory
    _patient: bool = True
    """Whether to wait for allocators that another has locked; else their requests are answered with `Held`."""
    _now: int = field(default_factory=lambda: time.time_ns() // 1000)
    """In microseconds, as the tables have it: one moment for all of the batch."""
    _rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    """The allocators' rows, by their ids."""
    _ids: dict[str, int] = field(default_factory=dict)
    """Their ids, by name."""
    _held: dict[int | str, Held] = field(default_factory=dict)
    """Allocators that another has locked, by id and by name."""
    _closed: dict[int, ConflictError] = field(default_factory=dict)
    """Allocators that this version cannot open, with the reason."""
    _known: dict[DecisionName, LoggedDecision] = field(default_factory=dict)
    """Decisions that the requests speak of."""
    _meant: dict[int, LoggedDecision | ServiceError] = field(default_factory=dict)
    """By the place of a report in the batch, the decision that it is of, or why there is none."""
    playing: dict[DecisionName, Playing] = field(default_factory=dict)
    """Live rounds that the requests speak of, to be remembered once all is committed."""
    answers: list[Any] = field(default_factory=list)
    made: dict[DecisionName, LoggedDecision] = field(default_factory=dict)
    """Those of this batch."""
    learners: dict[int, Learner] = field(default_factory=dict)
    """Those of the allocators, to be remembered once all is committed."""
    _heard: dict[DecisionName, Heard] = field(default_factory=dict)
    """What has been reported of those that are reported now."""
    _modes: ModeSums | None = None
    """What comes of decisions by their mode, where some are compared."""
    _write: dict[Statement, list[Any]] = field(default_factory=lambda: defaultdict(list))

    def answer(self, requests: Sequence[Decide | Report | StepTaken]) -> Self:
        """Put into `answers` for each request the text of its answer, or the error it deserves."""
        self._lock(requests)
        answers = self.answers = [None] * len(requests)
        for place, request in enumerate(requests):
            if not isinstance(request, Decide):
                try:
                    decision = self._meant[place]
                    if isinstance(decision, ServiceError):
                        raise decision
                    if isinstance(request, Report):
                        answers[place] = self._absorb(request, decision)
                    else:
                        answers[place] = self._go_on(request, decision)
                except REFUSALS as refusal:
                    answers[place] = refusal
        for key in {report["allocator_id"]: None for report in self._write[statements.REPORTED]}:
            learner = self.learners[key]  # before any decision: they know of every report of their batch
            self._write[statements.ADD] += learner.settle()
            self._rows[key]["seq"] = learner.seq
        # Only now that nobody else decides: an id may have been used while we waited for the lock.
        self._find(
            {(r.allocator, r.request.decision_id) for r in requests if isinstance(r, Decide) and r.request.decision_id}
        )
        for place, request in enumerate(requests):
            if isinstance(request, Decide):
                try:
                    answers[place] = self._decide(request)
                except REFUSALS as refusal:
                    answers[place] = refusal
        for key, learner in self.learners.items():
            if learner.ordered:
                self._write[statements.KEEP_STATE] += learner.stand(self._rows[key])
        if self._modes is not None:
            self._write[statements.KEEP_MODE] += self._modes.rows()
        self._write[statements.COUNT] = [row | {"key": key} for key, row in self._rows.items()]
        for statement in statements.IN_THIS_ORDER:
            if rows := self._write.get(statement):
                statement.each(self._connection, rows)
        return self

    # -- lock and catch up -------------------------------------------------------------------------------------------

    def _lock(self, requests: Sequence[Decide | Report | StepTaken]) -> None:
        """Lock the allocators of these requests, always in one order, and catch up with other workers."""
        names = {r.allocator for r in requests if isinstance(r, Decide)}
        self._find({(r.allocator, r.decision_id) for r in requests if not isinstance(r, Decide)})
        rounds: dict[tuple[int, int], Heard] = {}
        by_id: dict[str, list[str]] = defaultdict(list)
        for name, key in self._known:
            by_id[key].append(name)
        for place, request in enumerate(requests):
            if not isinstance(request, Decide):
                decision = self._meant[place] = self._speaks_of(request, by_id)
                if isinstance(decision, LoggedDecision) and decision.name not in self._heard:
                    rounds[decision.allocator_id, decision.round] = self._heard[decision.name] = Heard()
        ids = {allocator_id for allocator_id, _ in rounds}
        lock = statements.LOCK if self._patient else statements.LOCK_FREE
        stale = set()
        for row in lock.rows(self._connection, ids=list(ids), names=list(names)):
            self._rows[row["id"]], self._ids[row["name"]] = row, row["id"]
            self._memory.names[row["id"]] = row["name"]
            if self._memory.is_stale(row):
                stale.add(row["name"])
            learner = self._memory.learners.pop(row["id"], None)
            try:
                if learner is None:
                    learner = Learner(self._connection, row)
                elif (learner.config, learner.seq) != (row["config"], row["seq"]) or (
                    learner.ordered and learner.stands != (row["decisions"], row["reports"])
                ):
                    learner.catch_up(self._connection, row)
                if learner.fading is not None:
                    row.update(turn(self._connection, learner, row, self._now))
                self.learners[row["id"]] = learner
            except ConflictError as refusal:  # of this allocator alone
                self._closed[row["id"]] = refusal
        if not self._patient and (names - self._ids.keys() or ids - self._rows.keys()):
            for row in statements.NAMED.rows(self._connection, ids=list(ids), names=list(names)):
                if row["id"] not in self._rows:
                    self._held[row["id"]] = self._held[row["name"]] = Held(row["id"])
        if stale:
            self._look_again(stale)
        if rounds:
            hear(self._connection, rounds)

    def _look_again(self, stale: Container[str]) -> None:
        """Find out which decisions are still there, of allocators of which rows have gone."""
        sought = [name for name in self._known if name[0] in stale]
        for name in sought:
            del self._known[name]
        self._find(sought)
        for place, decision in self._meant.items():
            if isinstance(decision, LoggedDecision) and decision.name not in self._known:
                self._meant[place] = NotFoundError(f"there is no decision {decision.id!r}")

    def _find(self, names: Iterable[tuple[str | None, str]]) -> None:
        """Get to know the decisions of these names, as far as there are any; of ids alone, those of all allocators."""
        sought, missing, known = list(names), set(), self._memory.decisions
        alone = [key for allocator, key in sought if allocator is None]
        if alone:  # only the database knows whose they are
            owners = statements.WHOSE.rows(self._connection, ids=alone)
            sought = [(self._memory.names.get(row["allocator_id"], ""), row["id"]) for row in owners] + sought
        for allocator, key in sought:
            decision = None if allocator is None else known.get((allocator, key))
            if decision is not None:
                self._known[decision.name] = decision
            elif allocator is not None:
                missing.add(key)
        if missing:
            for row in statements.FIND.rows(self._connection, ids=list(missing)):
                decision = LoggedDecision.of_row(row)
                self._known[decision.name] = decision

    def _speaks_of(self, request: Report | StepTaken, by_id: Mapping[str, list[str]]) -> LoggedDecision | ServiceError:
        """Return the decision that a report is of: of the allocator it names, or the only one that its asker sees."""
        what = "decision" if isinstance(request, Report) else "live round"
        names = [name for name in by_id.get(request.decision_id, ()) if request.asker.sees(name)]
        if request.allocator is not None:
            names = [name for name in names if name == request.allocator]
        if len(names) == 1:
            return self._known[names[0], request.decision_id]
        try:
            return self._known[the_one(request.decision_id, names, what), request.decision_id]
        except ServiceError as refusal:
            return refusal

    # -- absorb ------------------------------------------------------------------------------------------------------

    def _absorb(self, report: Report, decision: LoggedDecision) -> str:
        """Take a report of a decision: what is new in it is counted and written, a repeat changes nothing."""
        if decision.allocator_id in self._held:
            raise self._held[decision.allocator_id]
        row, learner = self._rows[decision.allocator_id], self.learners.get(decision.allocator_id)
        heard, now = self._heard[decision.name], max(self._now, row["window_at"] or 0)
        if learner is None:
            raise self._closed[decision.allocator_id]
        said: dict[str, float] = {}
        if decision.live and not report.ends_live:
            if report.outcome is None or not heard.parts or heard.counted:
                return self._end_live(decision, report)
            check_corrected(report.outcome, learner.position)
        if report.outcome is None:  # silence until the deadline says that every silent arm failed
            results: Results = dict.fromkeys(decision.silent(heard) or ())
            spent, late = None, False
        else:
            results, said = short(report.outcome, learner.spec.max_budget)
            spent, late = report.outcome.spent, decision.expires_at is not None and now > decision.expires_at
        try:
            new, amounts = decision.news(heard, results, said, spent)
        except ConflictError:
            row["contradictions"] += 1
            raise
        spent = spent if heard.spent is None else None
        told = {arm: said[arm] for arm in new if arm in said} if said else {}
        terms = learner.spec.reward == "cascade", schema.BUDGET_UNITS / learner.spec.max_budget
        before = after = decision.tally(heard, *terms)
        if new or spent is not None or report.ends_live:
            part = {
                "allocator_id": decision.allocator_id,
                "round": decision.round,
                "part": heard.parts,
                "results": to_json(new).decode(),  # in a fifth of the time that the standard library takes
                "amounts": to_json(told).decode() if told else None,
                "spent": spent,
                "recorded_at": now,
                "by_expiry": report.outcome is None or (report.ends_live and late),
                "place": row["reports"],
                "after": row["decisions"],
                "key_id": report.asker.key_id,
                "retracts": None,
            }
            lasted = None if spent is None else decision.lasted(spent)
            if learner.ordered:
                learner.learn(Part(new, amounts, lasted, decision.request))
            learner.count(amounts, new)
            if lasted is not None:
                learner.count_budget(*lasted)
            self._write[statements.REPORTED].append(part)
            row["reports"] += 1
            row["late"] += late and not report.ends_live
            heard.add(new, told, spent)
            after = decision.tally(heard, *terms)
            for counter, had, has in zip(TALLY, before, after, strict=True):
                row[counter] += has - had
            if after[0] > before[0]:
                self._write[statements.DONE].append(part)
                if decision.compared:
                    self._sums().completed(decision, heard.results, terms[0])
        elif report.outcome is not None:
            row["duplicates"] += 1
        answer = {
            "decision_id": decision.id,
            "accepted": sorted(new),
            "repeated": [arm for arm in results if arm not in new] if len(new) < len(results) else [],
            "complete": bool(after[0]),
            "late": late,
        }
        return to_json(answer).decode()

    # -- decide ------------------------------------------------------------------------------------------------------

    def _decide(self, asked: Decide) -> str:
        """Return the text of a decision: that which was made for its id before, or a new one."""
        key, request = self._ids.get(asked.allocator), asked.request
        if key is None:
            raise self._held.get(asked.allocator) or NotFoundError(f"there is no allocator {asked.allocator!r}")
        body = request.model_dump_json(exclude={"decision_id"}, exclude_defaults=True)
        before = self._known.get((asked.allocator, request.decision_id or ""))
        live = isinstance(request, LiveRequest)
        if live:
            body = json.dumps({"live": True} | json.loads(body))
        if before is not None:
            if _meaning(before.request) != _meaning(body):
                raise ConflictError(f"decision {before.id!r} was asked for with another body")
            self._rows[key]["duplicates"] += 1
            return self._again(before) if live else before.answer
        row, learner = self._rows[key], self.learners.get(key)
        if learner is None:
            raise self._closed[key]
        if asked.together * len(learner.active) > MOST_WORK:
            raise RefusedError(
                f"decisions times arms must be at most {MOST_WORK} in one call, got {asked.together} for "
                f"{len(learner.active)} arms",
                "decisions",
            )
        if row["archived_at"] is not None:
            raise ConflictError(f"allocator {asked.allocator!r} is archived: it makes no more decisions")
        if request.step is not None and (request.budget is not None or not request.switching):
            raise RefusedError("step is only for a budget that is not known, and with switching", "step")
        if request.budget is not None and not request.switching and not live:
            raise RefusedError("switching is only for a budget that is not known", "switching")
        allocation: dict[str, float] | None = None
        steps, opened, turn = None, None, row["decisions"]
        split = Split({})
        if isinstance(request, LiveRequest):
            learner.refuse_as_it_goes("body")
            allocation, opened = {}, learner.open(request, turn)
        elif request.budget is None:
            learner.refuse_as_it_goes("budget")
            steps = learner.schedule(request, turn) if request.switching else learner.plan(request, turn)
        else:
            split = learner.allocate(request, turn)
            allocation = split.allocation
        name = request.decision_id or f"{self._now:014x}-{secrets.token_hex(6)}"  # in the order of time, for the index
        expires_at = clock.after(self._now, learner.spec.feedback_deadline)
        answer = {
            "decision_id": name,
            "allocator": asked.allocator,
            "budget": request.budget,
            "allocation": allocation,
            "schedule": None if steps is None else [{"arm": arm, "amount": amount} for arm, amount in steps],
            "version": row["config"],
            "mode": split.mode,
            "probability": split.probability,
            "policy_allocation": split.wanted,
            "created_at": clock.as_text(self._now),
            "expires_at": clock.as_text(expires_at),
        }
        logged = {
            "id": name,
            "allocator_id": key,
            "round": row["decisions"],
            "budget": request.budget,
            "request": body,
            "answer": to_json(answer).decode(),  # once: asked again, it is the same
            "created_at": self._now,
            "expires_at": expires_at,
        }
        made = LoggedDecision(
            **logged, allocator=asked.allocator, allocation=allocation, steps=steps, live=live, version=row["config"],
            mode=split.mode, probability=split.probability, wanted=split.wanted,
            compared=split.mode != "policy" or split.probability < 1.0,
        )  # fmt: skip
        self._known[asked.allocator, name] = self.made[asked.allocator, name] = made
        if made.compared:
            self._sums().decided(made)
        self._write[statements.DECIDED].append({**logged, "key_id": asked.asker.key_id, "subject": request.subject})
        if allocation and learner.reason is not None:
            self._write[statements.REASON].append({**logged, "data": learner.reason})
        if opened is not None:
            row["decisions"] += 1
            return self._opened(made, opened, asked)
        if allocation is None or any(allocation.values()):
            self._write[statements.WAIT].append(logged)
        else:  # nobody got anything: there is nothing to be reported
            scale = schema.BUDGET_UNITS / learner.spec.max_budget
            for counter, has in zip(TALLY, made.tally(Heard(), False, scale), strict=True):
                row[counter] += has
            if made.compared:
                self._sums().completed(made, {}, learner.spec.reward == "cascade")
        row["decisions"] += 1
        return made.answer

    def _sums(self) -> ModeSums:
        """Return the sums of decisions by their mode."""
        if self._modes is None:
            self._modes = ModeSums(self._connection)
        return self._modes

    # -- live rounds: `LiveBatch` plays them -------------------------------------------------------------------------

    @abstractmethod
    def _opened(self, decision: LoggedDecision, playing: Playing, asked: Decide) -> str:
        """Store a live round that begins, and hand out its first step."""

    @abstractmethod
    def _again(self, decision: LoggedDecision) -> str:
        """Return what was answered when a live round began."""

    @abstractmethod
    def _go_on(self, step: StepTaken, decision: LoggedDecision) -> str:
        """Take the report of a step of a live round, and hand out the next."""

    @abstractmethod
    def _end_live(self, decision: LoggedDecision, report: Report) -> str:
        """End a live round at its deadline."""


def _meaning(request: str) -> dict[str, Any]:
    """Return what a stored request says; older ones name what they leave open."""
    said = json.loads(request)
    return {name: value for name, value in said.items() if value is not None and (name, value) != ("switching", True)}
