"""A batch: many requests in one transaction. It locks their allocators, catches up with other workers, and writes.

In between they are answered, one by one: `absorb` takes reports, `decide` decides, `live_batch` plays live rounds.
"""

from __future__ import annotations

import time
from collections import OrderedDict, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, final

from sqlalchemy import Connection

from headgate.service.engine.cells import read_cells
from headgate.service.engine.learner import Learner
from headgate.service.engine.live import Playing
from headgate.service.engine.modes import ModeSums
from headgate.service.engine.records import LoggedDecision, Reports, not_the_one, read_reports
from headgate.service.engine.requests import Busy, Decide, LiveStep, Report
from headgate.service.engine.windows import turn
from headgate.service.faults import ConflictError, NotFoundError, ServiceError
from headgate.service.settings import REMEMBERED_ARMS
from headgate.service.store import statements
from headgate.service.store.database import Statement, write

_MOST_DECISIONS = 20_000
_MOST_TEXT = 32_000_000
"""Characters of the answers of all of these: with what is read from them, some 100 MB."""
_MOST_PLAYING = 1_000


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
    text: int = 0
    """Characters of all of their answers."""
    playing: OrderedDict[DecisionName, Playing] = field(default_factory=OrderedDict)
    """The latest live rounds that are not over."""
    names: dict[int, str] = field(default_factory=dict)
    """Of allocators, by their ids."""
    removals: dict[int, int] = field(default_factory=dict)
    """How often rows of theirs had gone: decisions that are remembered may be among them."""
    arms: dict[str, int] = field(default_factory=dict)
    """How many arms an allocator has: what a decision of it costs."""
    most_arms: int = REMEMBERED_ARMS
    """Of all learners: some 19 KB each, half as much again where evidence fades."""
    _lock: Lock = field(default_factory=Lock)
    """Batches that wait for an allocator go on in threads of their own."""

    def forget(self, row: Mapping[str, Any]) -> None:
        """Remember nothing any more of the decisions of an allocator of which rows have gone."""
        with self._lock:
            self.removals[row["id"]] = row["removals"]
            for name in [name for name in self.decisions if name[0] == row["name"]]:
                self.text -= len(self.decisions.pop(name).answer)
            for name in [name for name in self.playing if name[0] == row["name"]]:
                del self.playing[name]

    def keep(self, batch: Batch) -> None:
        """Remember what was decided and is committed now, and drop what was not asked for longest."""
        with self._lock:
            for learner in batch.learners.values():
                self.arms[learner.name] = len(learner.active)
            if batch.opened:
                arms = 0
                # A copy: other threads take theirs out meanwhile.
                for allocator_id, learner in reversed(list(self.learners.items())):
                    arms += len(learner.names)
                    if arms > self.most_arms and allocator_id not in batch.learners:
                        self.learners.pop(allocator_id, None)
            self.decisions.update(batch.new_decisions)
            self.text += sum(len(decision.answer) for decision in batch.new_decisions.values())
            while len(self.decisions) > _MOST_DECISIONS or self.text > _MOST_TEXT:
                self.text -= len(self.decisions.popitem(last=False)[1].answer)
            for key, playing in batch.playing.items():
                if not playing.round.done:
                    self.playing[key] = playing
            while len(self.playing) > _MOST_PLAYING:
                self.playing.popitem(last=False)


@final
@dataclass(slots=True, eq=False)
class Batch:
    """Requests that are answered together.

    What they change is gathered and written in a few statements, however many they are. The rows of the allocators,
    locked, are the counters: they are counted up in place and written back.
    """

    connection: Connection
    memory: Memory
    patient: bool = True
    """Whether to wait for allocators that another has locked; else their requests are answered with `Busy`."""
    now: int = field(default_factory=lambda: time.time_ns() // 1000)
    """In microseconds, as the tables have it: one moment for all of the batch."""
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    """The allocators' rows, by their ids."""
    ids: dict[str, int] = field(default_factory=dict)
    """Their ids, by name."""
    busy: dict[int | str, Busy] = field(default_factory=dict)
    """Allocators that another has locked, by id and by name."""
    closed: dict[int, ConflictError] = field(default_factory=dict)
    """Allocators that this version cannot open, with the reason."""
    decisions: dict[DecisionName, LoggedDecision] = field(default_factory=dict)
    """Decisions that the requests speak of."""
    decision_of: dict[int, LoggedDecision | ServiceError] = field(default_factory=dict)
    """By the place of a report in the batch, the decision that it is of, or why there is none."""
    live: dict[DecisionName, dict[str, Any]] = field(default_factory=dict)
    """Rows of live rounds that the requests speak of, as they will be stored."""
    playing: dict[DecisionName, Playing] = field(default_factory=dict)
    """These live rounds, to be remembered once all is committed."""
    answers: list[Any] = field(default_factory=list)
    """For each request the text of its answer, or the error it deserves."""
    new_decisions: dict[DecisionName, LoggedDecision] = field(default_factory=dict)
    """Decisions of this batch."""
    learners: dict[int, Learner] = field(default_factory=dict)
    """Those of the allocators, to be remembered once all is committed."""
    opened: bool = False
    """Whether there are some among them that were not remembered."""
    reports: dict[tuple[int, int], Reports] = field(default_factory=dict)
    """What has been reported of those that are reported now, by allocator and round."""
    sums: ModeSums | None = None
    """What comes of decisions by their mode, where some are compared."""
    write: dict[Statement, list[Any]] = field(default_factory=lambda: defaultdict(list))
    """What is to be written, by statement."""

    # -- lock and catch up -------------------------------------------------------------------------------------------

    def lock(self, requests: Sequence[Decide | Report | LiveStep]) -> None:
        """Lock the allocators of these requests, always in one order, and catch up with other workers."""
        names = {r.allocator for r in requests if isinstance(r, Decide)}
        self.find({(r.allocator, r.decision_id) for r in requests if not isinstance(r, Decide)})
        by_id: dict[str, list[str]] = defaultdict(list)
        for name, decision_id in self.decisions:
            by_id[decision_id].append(name)
        for place, request in enumerate(requests):
            if not isinstance(request, Decide):
                decision = self.decision_of[place] = self._speaks_of(request, by_id)
                if isinstance(decision, LoggedDecision):
                    self.reports[decision.allocator_id, decision.round] = Reports()
        ids = {allocator_id for allocator_id, _ in self.reports}
        lock = statements.LOCK if self.patient else statements.LOCK_FREE
        stale: set[str] = set()
        behind: dict[int, int] = {}
        for row in lock.rows(self.connection, ids=list(ids), names=list(names)):
            key = row["id"]
            self.rows[key], self.ids[row["name"]], self.memory.names[key] = row, key, row["name"]
            if self.memory.removals.setdefault(key, row["removals"]) != row["removals"]:
                self.memory.forget(row)
                stale.add(row["name"])
            learner = self.memory.learners.pop(key, None)
            if learner is not None and learner.plain and learner.config == row["config"]:
                self.learners[key] = learner
                if learner.seq != row["seq"]:
                    behind[key] = learner.seq
            else:
                self._open(learner, row)
        if behind:  # another worker has learned: one statement for all of them
            latest = read_cells(self.connection, behind, {key: self.learners[key].everything for key in behind})
            for key in behind:
                self.learners[key].has_read(self.rows[key]["seq"], latest)
        if not self.patient and (names - self.ids.keys() or ids - self.rows.keys()):
            for row in statements.ALLOCATORS.rows(self.connection, ids=list(ids), names=list(names)):
                if row["id"] not in self.rows:
                    self.busy[row["id"]] = self.busy[row["name"]] = Busy(row["id"])
        if stale:
            self._look_again(stale)
        if self.reports:
            read_reports(self.connection, self.reports)

    def _open(self, learner: Learner | None, row: dict[str, Any]) -> None:
        """Have a learner that stands where its allocator's row does, new or as it was remembered."""
        try:
            if learner is None:
                learner, self.opened = Learner(self.connection, row), True
            else:
                learner.catch_up(self.connection, row)
            if learner.fading is not None:
                row.update(turn(self.connection, learner, row, self.now))
            self.learners[row["id"]] = learner
        except ConflictError as refusal:  # of this allocator alone
            self.closed[row["id"]] = refusal

    def _look_again(self, stale: Container[str]) -> None:
        """Find out which decisions are still there, of allocators of which rows have gone."""
        names = [name for name in self.decisions if name[0] in stale]
        for name in names:
            del self.decisions[name]
        self.find(names)
        for place, decision in self.decision_of.items():
            if isinstance(decision, LoggedDecision) and decision.name not in self.decisions:
                self.decision_of[place] = NotFoundError(f"there is no decision {decision.id!r}")

    def find(self, names: Iterable[tuple[str | None, str]]) -> None:
        """Get to know the decisions of these names, as far as there are any; of ids alone, those of all allocators."""
        pairs, missing = list(names), set()
        alone = [key for allocator, key in pairs if allocator is None]
        if alone:  # only the database knows whose they are
            owners = statements.WHOSE.rows(self.connection, ids=alone)
            pairs = [(self.memory.names.get(row["allocator_id"], ""), row["id"]) for row in owners] + pairs
        for allocator, key in pairs:
            decision = None if allocator is None else self.memory.decisions.get((allocator, key))
            if decision is not None:
                self.decisions[decision.allocator, key] = decision
            elif allocator is not None:
                missing.add(key)
        if missing:
            for row in statements.FIND.rows(self.connection, ids=list(missing)):
                decision = LoggedDecision.of_row(row)
                self.decisions[decision.name] = decision

    def _speaks_of(self, request: Report | LiveStep, by_id: Mapping[str, list[str]]) -> LoggedDecision | ServiceError:
        """Return the decision that a report is of: of the allocator it names, or the only one that its asker sees."""
        owners: Iterable[str] = by_id.get(request.decision_id, ())
        if request.allocator is not None:
            owners = {request.allocator}.intersection(owners)
        if request.asker.bound is not None:
            owners = filter(request.asker.sees, owners)
        names = sorted(owners)
        if len(names) == 1:
            return self.decisions[names[0], request.decision_id]
        return not_the_one(request.decision_id, names, "decision" if isinstance(request, Report) else "live round")

    def why_closed(self, allocator_id: int) -> ServiceError:
        """Return why there is no learner of an allocator that has decisions: it is locked, or cannot be opened."""
        return self.busy.get(allocator_id) or self.closed[allocator_id]

    # -- write -------------------------------------------------------------------------------------------------------

    def modes(self) -> ModeSums:
        """Return the sums of decisions by their mode."""
        if self.sums is None:
            self.sums = ModeSums(self.connection)
        return self.sums

    def store(self) -> None:
        """Write everything that was gathered."""
        for key, learner in self.learners.items():
            if learner.ordered:
                self.write[statements.KEEP_STATE] += learner.stand(self.rows[key])
        if self.sums is not None:
            self.write[statements.KEEP_MODE] += self.sums.rows()
        self.write[statements.COUNT] = [row | {"key": key} for key, row in self.rows.items()]
        write(self.connection, self.write, statements.IN_THIS_ORDER)
