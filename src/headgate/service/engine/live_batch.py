"""The part of a batch that plays live rounds: opens them, takes reports of their steps, ends them at their deadline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headgate.service.engine.batch import Batch, DecisionName
from headgate.service.engine.live import Playing
from headgate.service.engine.records import Decide, Heard, LoggedDecision, Report, StepTaken
from headgate.service.faults import ConflictError, NotFoundError
from headgate.service.store import statements


@dataclass(slots=True)
class LiveBatch(Batch):
    """A batch that knows live rounds too."""

    _live: dict[DecisionName, dict[str, Any]] = field(default_factory=dict)
    """Rows of live rounds that the requests speak of, as they will be stored."""

    def _opened(self, decision: LoggedDecision, playing: Playing, asked: Decide) -> str:
        """Store a live round that begins, and hand out its first step."""
        data, text = playing.data(), playing.answer(decision.id)
        done = playing.round.done
        row = {"allocator_id": decision.allocator_id, "round": decision.round, "data": data, "answer": text,
               "steps": 0, "done": done}  # fmt: skip
        self._live[decision.name] = row
        self._write[statements.OPENED].append(dict(row))
        self._write[statements.WAIT].append({**row, "expires_at": decision.expires_at})
        self._heard[decision.name] = Heard()
        self.playing[decision.name] = playing
        if done:
            self._absorb(Report(decision.id, playing.outcome(), ends_live=True, asker=asked.asker), decision)
        return text

    def _again(self, decision: LoggedDecision) -> str:
        """Return what was answered when a live round began."""
        return str(self._stored(decision)["answer"])

    def _stored(self, decision: LoggedDecision) -> dict[str, Any]:
        """Return the row of a live round, as this batch will leave it."""
        if decision.name not in self._live:
            here = {"allocator_id": decision.allocator_id, "round": decision.round}
            (self._live[decision.name],) = statements.LIVE.rows(self._connection, **here)
        return self._live[decision.name]

    def _played(self, decision: LoggedDecision) -> Playing:
        """Return a live round where it stands: from memory, or by following its reports."""
        row = self._stored(decision)
        playing = self.playing.get(decision.name) or self._memory.playing.pop(decision.name, None)
        if playing is None or playing.steps != row["steps"]:
            here = {"allocator_id": decision.allocator_id, "round": decision.round}
            playing = Playing.of_row(row, statements.LIVE_STEPS.rows(self._connection, **here))
        self.playing[decision.name] = playing
        return playing

    def _go_on(self, step: StepTaken, decision: LoggedDecision) -> str:
        """Take the report of a step of a live round, and hand out the next."""
        if not decision.live:
            raise NotFoundError(f"there is no live round {step.decision_id!r}")
        if decision.allocator_id in self._held:
            raise self._held[decision.allocator_id]
        if decision.allocator_id in self._closed:
            raise self._closed[decision.allocator_id]
        row, told = self._stored(decision), step.told.model_dump()
        here = {"allocator_id": decision.allocator_id, "round": decision.round}
        if step.number < row["steps"]:
            new = [
                s for s in self._write[statements.STEPPED] if (s["allocator_id"], s["round"]) == tuple(here.values())
            ]
            before = [*statements.LIVE_STEPS.rows(self._connection, **here), *new][step.number]
            if any(before[name] != value for name, value in told.items()):
                self._rows[decision.allocator_id]["contradictions"] += 1
                raise ConflictError(f"step {step.number} of live round {decision.id!r} was reported otherwise before")
            self._rows[decision.allocator_id]["duplicates"] += 1
            return str(before["answer"])
        if row["done"] or step.number > row["steps"]:
            words = "it is over" if row["done"] else f"the next is {row['steps']}"
            raise ConflictError(f"step {step.number} of live round {decision.id!r} was not handed out: {words}")
        playing = self._played(decision)
        playing.report(step.told)
        text = playing.answer(decision.id)
        self._write[statements.STEPPED].append(
            {**here, "step": step.number, **told, "answer": text, "recorded_at": self._now, "key_id": step.asker.key_id}
        )
        row["steps"], row["done"] = playing.steps, playing.round.done
        self._write[statements.MOVED].append(dict(row))
        if playing.round.done:
            self._absorb(Report(decision.id, playing.outcome(), ends_live=True, asker=step.asker), decision)
        return text

    def _end_live(self, decision: LoggedDecision, report: Report) -> str:
        """End a live round at its deadline: what was reported of it counts, and no more is."""
        if report.outcome is not None:
            raise ConflictError(f"decision {decision.id!r} is a live round: report its steps")
        row, playing = self._stored(decision), self._played(decision)
        if row["done"]:
            return ""
        playing.round.stop()
        row["done"] = True
        self._write[statements.MOVED].append(dict(row))
        return self._absorb(Report(decision.id, playing.outcome(), ends_live=True), decision)
