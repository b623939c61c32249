"""What every edge has, whatever its network: decisions made here, results learned here, and what is to be pushed.

`Edge` and `AsyncEdge` send and ask (`edge.py`); this keeps the books. Threads may share it.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headgate import files
from headgate.client import calls
from headgate.client.answers import Decision, Learner, learner_of
from headgate.client.calls import Call
from headgate.client.errors import ConflictError, UnavailableError
from headgate.edge.deciding import Deciding, Results
from headgate.errors import InputError
from headgate.evidence import Evidence

_MOST_OPEN = 100_000
"""Decisions without all of their results that are remembered; of older ones nothing more can be reported."""
_MOST_DONE = 100_000
"""Decisions that are over and wait to be pushed; the oldest of more are dropped: their evidence is pushed anyway."""
_MOST_AMOUNTS = 5_000
"""Of the decisions of one push, in all."""


class EdgeBase:
    """What both kinds have: everything but the network. Threads may share it."""

    def __init__(self, name: str, every: float, file: str | Path | None, label: str, keep_decisions: bool) -> None:
        if not 0.0 < every < float("inf"):
            raise InputError(f"every must be seconds, > 0, got {every!r}")
        self.name = name
        self.id = f"{label}-{secrets.token_hex(6)}"
        """Of this run: its pushes and decisions carry it."""
        self.dropped = 0
        """Decisions that were not kept for the record, because too many waited; what was learned from them is."""
        self._every, self._keep = every, keep_decisions
        self._file = None if file is None else Path(file)
        self._number = self._made = 0
        self._lock = threading.RLock()
        self._open: OrderedDict[str, tuple[Decision, dict[str, float | bool | None], dict[str, float]]] = OrderedDict()
        self._over: OrderedDict[str, None] = OrderedDict()
        self._done: deque[dict[str, Any]] = deque()
        self._pending: tuple[str, int, dict[str, Any], Evidence | None] | None = None
        self._deciding: Deciding | None = None
        self._refused: ConflictError | None = None
        self._kept: dict[str, Any] = {}
        self._read_file()

    def _read_file(self) -> None:
        """Go on with a push that a run before this one could not finish."""
        if self._file is None or not self._file.is_file():
            return
        try:
            self._kept = json.loads(self._file.read_text("utf-8"))
            pending, of = self._kept["pending"], self._kept["allocator"]
        except (ValueError, KeyError, TypeError) as cause:
            raise InputError(f"{self._file} is not what an edge keeps: {cause}") from cause
        if of != self.name:
            raise InputError(f"{self._file} is of an edge of allocator {of!r}, not of {self.name!r}")
        if pending is not None:
            self._pending = pending["edge"], pending["number"], pending["body"], None

    def _write_file(self) -> None:
        """Keep what must survive a kill: the push that is under way, and what the service last said."""
        if self._file is not None:
            pending = None
            if self._pending is not None:
                edge, number, body, _ = self._pending
                pending = {"edge": edge, "number": number, "body": body}
            self._kept |= {"allocator": self.name, "pending": pending}
            files.write(self._file, json.dumps(self._kept))

    # -- every round ---------------------------------------------------------------------------------------------------

    @property
    def _here(self) -> Deciding:
        if self._deciding is None:
            raise InputError("the edge has not begun: use it in a `with` block, or call pull() first")
        return self._deciding

    def decide(
        self,
        budget: float,
        *,
        value: Mapping[str, float] | None = None,
        eligible: Sequence[str] | None = None,
        lower: Mapping[str, float] | None = None,
        upper: Mapping[str, float] | None = None,
    ) -> Decision:
        """Split a budget here and now; nobody is asked. `value` to `upper` are this decision's own, by arm.

        It is made by the version of the allocator that was last pulled; one that was archived until then is a
        `ConflictError`, and so is one that is not to be decided at edges any more: it has a holdout, a shadow or a
        guard now.
        """
        terms = {
            name: term
            for name, term in (("value", value), ("eligible", eligible), ("lower", lower), ("upper", upper))
            if term is not None
        }
        with self._lock:
            here = self._here
            if self._refused is not None:
                raise self._refused
            if here.archived:
                raise ConflictError(f"allocator {self.name!r} is archived: it makes no more decisions")
            allocation, now = here.decide(budget, terms), datetime.now(UTC)
            key = f"{self.id}.{self._made}"
            decision = Decision(key, self.name, budget, allocation, None, now, None, version=here.config)
            self._made += 1
            if any(allocation.values()):
                self._open[decision.decision_id] = decision, {}, {}
                if len(self._open) > _MOST_OPEN:
                    self._open.popitem(last=False)
            elif self._keep:
                self._record(decision, {}, {})
            return decision

    def report(
        self, decision: str | Decision, results: Results, *, amounts: Mapping[str, float] | None = None
    ) -> tuple[str, ...]:
        """Say what came of a decision, whole or in part, as `Client.report` does; return the arms that were news.

        The first word about an arm wins: a repeat changes nothing, a contradiction is a `ConflictError`.
        """
        key = decision.decision_id if isinstance(decision, Decision) else decision
        amounts = amounts or {}
        unknown = next((arm for arm in amounts if arm not in results), None)
        if unknown is not None:
            raise InputError(f"amounts must be of arms that have a result, got {unknown!r}")
        with self._lock:
            if key in self._over:
                return ()
            if key not in self._open:
                raise InputError(f"there is no decision {key!r} of this edge that waits for results")
            waiting, earlier, earlier_amounts = self._open[key]
            allocation = waiting.allocation or {}
            strange = next((arm for arm in results if arm not in allocation), None)
            if strange is not None:
                raise InputError(f"arm {strange!r} is not in decision {key!r}")
            for arm in (arm for arm in results if arm in earlier):
                same = earlier[arm] is results[arm] or earlier[arm] == results[arm]
                if not same or earlier_amounts[arm] != amounts.get(arm, allocation[arm]):
                    raise ConflictError(f"decision {key!r} was reported otherwise before: {arm}")
            new = {arm: result for arm, result in results.items() if arm not in earlier}
            if new:
                new_amounts = {arm: amounts.get(arm, allocation[arm]) for arm in new}
                self._here.learn(new_amounts, new)
                earlier |= new
                earlier_amounts |= new_amounts
                if all(arm in earlier for arm, amount in allocation.items() if amount > 0.0):
                    self._end(waiting, earlier, earlier_amounts)
            return tuple(new)

    def _end(self, decision: Decision, results: Results, amounts: Mapping[str, float]) -> None:
        """Wait for a decision no more, of which everything has been reported."""
        del self._open[decision.decision_id]
        self._over[decision.decision_id] = None
        if len(self._over) > _MOST_OPEN:
            self._over.popitem(last=False)
        if self._keep:
            self._record(decision, results, amounts)

    def _record(self, decision: Decision, results: Results, amounts: Mapping[str, float]) -> None:
        """Keep a decision that is over for the next push."""
        if len(self._done) >= _MOST_DONE:
            self._done.popleft()
            self.dropped += 1
        allocation = decision.allocation or {}
        self._done.append({
            "decision_id": decision.decision_id,
            "budget": decision.budget,
            "allocation": {arm: amount for arm, amount in allocation.items() if amount > 0.0},
            "made_at": decision.created_at.isoformat(),
            "version": decision.version,
            "results": {
                arm: {"success": result is not None, "threshold": None if result is True else result}
                | ({} if amounts[arm] == allocation[arm] else {"amount": amounts[arm]})
                for arm, result in results.items()
            },
        })  # fmt: skip

    @property
    def evidence(self) -> Evidence:
        """Everything known here, of all arms of the allocator: a copy."""
        with self._lock:
            evidence = Evidence.empty(len(self._here.names), self._here.delta.max_budget)
            evidence.bins[...] = self._here.evidence()
            return evidence

    @property
    def unsent(self) -> int:
        """Results of arms that no acknowledged push has."""
        with self._lock:
            waiting = self._pending[3] if self._pending is not None else None
            return self._here.unsent + (0 if waiting is None else int(waiting.trials.sum()))

    @property
    def unsent_push(self) -> bool:
        """Whether a push is under way that was not acknowledged: what was seen since is not in it."""
        return self._pending is not None

    # -- what is sent --------------------------------------------------------------------------------------------------

    def _next_push(self) -> Call[Any] | None:
        """Return the push that is to be sent now: the one that was not acknowledged, or a new one; None: nothing."""
        with self._lock:
            if self._pending is None:
                here = self._here
                if not here.unsent and not self._done:
                    return None
                part, plain = here.cut()
                decisions: list[dict[str, Any]] = []
                room = _MOST_AMOUNTS
                # Results of a decision are pushed no later than it: only when all evidence goes with it.
                while self._done and room > 0 and not here.unsent and len(decisions) < calls.MOST_AT_ONCE:
                    decisions.append(self._done.popleft())
                    room -= len(decisions[-1]["allocation"])
                self._pending = self.id, self._number, {"evidence": plain, "decisions": decisions}, part
                self._number += 1
                self._write_file()
            edge, number, body, _ = self._pending
            return calls.push(self.name, edge, number, body)

    def _acknowledged(self) -> None:
        with self._lock:
            self._pending = None
            self._write_file()

    def _pull_call(self) -> Call[Learner]:
        with self._lock:
            position = None if self._deciding is None else (self._deciding.config, self._deciding.seq)
            return calls.learner(self.name, position)

    def _refuse(self, error: ConflictError) -> None:
        """Decide no more until a pull is answered again."""
        with self._lock:
            self._refused = error

    def _pulled(self, learner: Learner) -> None:
        with self._lock:
            self._refused = None
            if self._file is not None and learner.evidence is not None:
                self._kept["learner"] = learner.to_dict()
                self._write_file()
            if self._deciding is None:
                self._deciding = Deciding(learner, self.id)
            else:
                waiting = None if self._pending is None else self._pending[3]
                self._deciding.take_over(learner, () if waiting is None else (waiting,))

    def _pull_from_file(self, error: UnavailableError) -> None:
        """Begin with what the service said last time, if it does not answer now."""
        if self._deciding is None:
            if "learner" not in self._kept:
                raise error
            self._pulled(learner_of(self._kept["learner"]))
