"""A learner: an allocator's policy in memory, a cache of what the database holds and never more than that."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from headgate.errors import InputError, UnsupportedError
from headgate.evidence import Evidence, record_budget
from headgate.evidence.fading import PARTS, Cells, cells_of, subtract
from headgate.kernels.bins import COUNT, SUM
from headgate.kernels.move import move
from headgate.kernels.record_noted import record_noted
from headgate.laws import Floats
from headgate.policies import State, Thompson
from headgate.service.engine.baseline import Baseline
from headgate.service.engine.cells import of_arms_and_budgets, packed, read_cells, read_evidence
from headgate.service.engine.deciding import Decider
from headgate.service.engine.modes import fold_start, unguarded
from headgate.service.engine.order import in_order, log_of, retracted_since
from headgate.service.engine.records import Results
from headgate.service.faults import ConflictError, RefusedError
from headgate.service.spec import AllocatorSpec, ArmSpec, build_law, build_policy
from headgate.service.store import schema, statements
from headgate.service.store.database import Statement
from headgate.service.store.rows import arms_of

_END = 2**62
"""More decisions than there ever are."""
_KEEP_EVERY = 500  # decisions and reports after which the state of a policy in order is kept
_WHOLE_EVERY = 256
"""The first row from each so manieth `seq` on is all of the evidence: rows that are as many `seq` older may go."""
_REPLACED_EVERY = 8
_MOST_NOTES = 1_000
"""Reports whose cells are noted one by one: a batch has fewer, a retraction may have a million."""


@final
class Learner(Decider):
    """The policy of the arms in use, and the evidence of all arms, retired ones too.

    It stands at a `config` and a `seq` of its allocator's row: `catch_up` brings it to that of the database, which the
    caller has locked. What is applied in a transaction that then fails leaves it wrong: throw it away.
    """

    def __init__(self, connection: Connection, row: schema.Fields) -> None:
        self.id: int = row["id"]
        self.name: str = row["name"]
        self.config = self.seq = -1
        self._written = 0
        """The `seq` of the latest row of its evidence: at some nothing is added, but less of it counts."""
        self.catch_up(connection, row)

    def catch_up(self, connection: Connection, row: schema.Fields) -> None:
        """Take over what other workers have changed since."""
        if row["config"] != self.config:
            self._configure(connection, row)
        if row["seq"] != self.seq:
            since, self.seq = self.seq, row["seq"]
            latest = read_cells(connection, {self.id: since}, {self.id: self.everything})
            self._written = latest.get(self.id, self._written)
            if self.fading is not None:
                faded = statements.FADED.rows(connection, allocator_id=self.id, since=since)
                self.fade(cells_of_text(faded[0]["cells"]) if faded else self._faded, self.seq)
            elif self._some:
                self._share()
        if self.ordered:
            self._follow(connection, row)

    def has_read(self, seq: int, latest: Mapping[int, int]) -> None:
        """Stand at this `seq`: `everything` is what the database holds there; the latest rows read are at these."""
        self.seq, self._written = seq, latest.get(self.id, self._written)
        if self._some:
            self._share()

    def _configure(self, connection: Connection, row: schema.Fields) -> None:
        arms = arms_of(connection, self.id)
        specs = [ArmSpec.model_validate_json(arm.spec) for arm in arms]
        self._specs = specs
        self.reason: str | None = None
        self.spec = AllocatorSpec.model_validate_json(row["spec"])
        self.names = [arm.name for arm in arms]
        self.position = {name: place for place, name in enumerate(self.names)}
        self.active = np.array([place for place, arm in enumerate(arms) if arm.retired_at is None])
        self.active_names = [self.names[place] for place in self.active]
        self.place = {name: place for place, name in enumerate(self.active_names)}
        try:
            self.policy = build_policy(self.spec, [specs[place] for place in self.active], row["seed"])
            self.whole = build_law(self.spec, specs).whole_arms(len(arms))
            self._any_whole = bool(self.whole.any())
        except (InputError, UnsupportedError) as wrong:  # stored by another version, or with a plug-in that is missing
            raise ConflictError(
                f"allocator {self.name!r} cannot be opened by this version: {wrong}; export its evidence into a new one"
            ) from wrong
        self._believer = unguarded(self.policy)
        baseline = self.spec.baseline
        self.baseline = None if baseline is None else Baseline(baseline, self.active_names, self.policy)
        self.config, self.seq = row["config"], -1
        self._written = 0
        self.everything, self._delta = (Evidence.empty(len(arms) + 1, self.spec.max_budget) for _ in range(2))
        """The evidence of all arms, and of budgets in the last row."""
        self.evidence, budgets = of_arms_and_budgets(self.everything)
        self.fading, self.weighed = self.spec.fading, self.evidence
        """How evidence fades, and what then counts of that of all arms; else all of it."""
        if self.fading is not None:
            self._weighed, self._faded = self.everything.copy(), np.empty((0, 5), dtype=np.int64)
            self.weighed, budgets = of_arms_and_budgets(self._weighed)
        self._arms_delta, self._budgets_delta = of_arms_and_budgets(self._delta)
        self._noted: list[NDArray[np.int64]] = []
        """The cells that this transaction may have changed, by their places in the histograms."""
        self._all_active = len(self.active) == len(arms)
        self.ordered = in_order(self.policy)
        self._some = not (self.ordered or self._all_active)  # its state shows the sums of some arms
        self.plain = not self.ordered and self.fading is None
        """Whether evidence is all that it has to catch up with, while its configuration stays as it is."""
        if self.ordered:
            self.state, self.stands = self._latest_state(connection)
        else:
            self.state = self.policy.start(self.weighed if self._all_active else None)
            self.state.budgets = budgets

    def _share(self) -> None:
        """Let the policy see the evidence of the arms in use, where these are not all."""
        self.state.evidence.bins[...] = self.weighed.bins[self.active]

    def fade(self, faded: Cells, seq: int) -> None:
        """Let so much of the evidence count no more, in parts; it is so from this `seq` on."""
        changed, self._faded, self.seq = faded is not self._faded, faded, seq
        subtract(self._weighed.bins, self.everything.bins, faded)
        if self._some:
            self._share()
        if changed and isinstance(self.policy, Thompson):
            self.policy.renew(self.state)

    # -- policies whose state depends on the order of the log ----------------------------------------------------------

    def _latest_state(self, connection: Connection) -> tuple[State, tuple[int, int]]:
        """Return the latest state that was kept, and after how many decisions and reports that was."""
        table = schema.states
        row = connection.execute(select(table).where(table.c.allocator_id == self.id)).mappings().first()
        if row is None or row["config"] != self.config:
            return self.beginning(connection)
        return self.policy.start().from_dict(json.loads(row["data"])), (row["decisions"], row["reports"])

    def beginning(self, connection: Connection) -> tuple[State, tuple[int, int]]:
        """Return the state from which the policy follows the log, and after how many decisions and reports that is.

        It knows nothing there, or, where a version began to guard what acts on sums, the evidence of then.
        """
        stands = fold_start(connection, self.id)
        state = self.policy.start()
        if any(stands):
            now, _ = read_evidence(connection, self.id, len(self.names), self.spec.max_budget)
            state.evidence.bins[...] = (now.bins - self.since(connection, stands[1]).bins)[self.active]
        return state, stands

    def since(self, connection: Connection, place: int) -> Evidence:
        """Return the evidence of all reports from this place in the log on, of all arms."""
        rows: list[tuple[int, float, bool, float]] = []
        for _, part in log_of(connection, self.id, _END, place):
            if part is None:
                raise AssertionError("no decision is so late")
            for name, result in part.results.items():
                arm, amount = self.position[name], part.amounts[name]
                x = float(np.floor(amount)) if self.whole[arm] else amount
                if x > 0.0:
                    threshold = np.nan if result is None or result is True else result
                    rows.append((arm, x, result is not None, threshold))
        if not rows:
            return Evidence.empty(len(self.names), self.spec.max_budget)
        columns = [np.array(column) for column in zip(*rows, strict=True)]
        return Evidence.of_rows(*columns, arms=len(self.names), max_budget=self.spec.max_budget)

    def _follow(self, connection: Connection, row: schema.Fields) -> None:
        """Decide and absorb again, in the order of the log, what has been added to it since."""
        if self.stands == (row["decisions"], row["reports"]):
            return
        if retracted_since(connection, self.id, self.stands[1]):  # what was learned is learned again, without it
            self.state, self.stands = self.beginning(connection)
        for decision, part in log_of(connection, self.id, *self.stands):
            if part is None:
                self.again(decision)
            else:
                self.learn(part)
        self.stands = row["decisions"], row["reports"]

    def stand(self, row: schema.Fields) -> list[dict[str, Any]]:
        """Note that all of the log is absorbed; return the state to be kept, now and then."""
        before, self.stands = self.stands, (row["decisions"], row["reports"])
        if sum(self.stands) // _KEEP_EVERY == sum(before) // _KEEP_EVERY:
            return []
        data = json.dumps(self.state.to_dict(), allow_nan=False, separators=(",", ":"))
        return [{"allocator_id": self.id, "config": self.config, "decisions": row["decisions"],
                 "reports": row["reports"], "data": data}]  # fmt: skip

    # -- evidence ----------------------------------------------------------------------------------------------------

    def count(self, amounts: Mapping[str, float], results: Results) -> None:
        """Add results to what this transaction has gathered; raise, and add nothing, if they cannot be counted."""
        delta, outcomes = self._arms_delta, list(results.values())
        arms = np.fromiter(map(self.position.__getitem__, results), dtype=np.int64, count=len(results))
        x = np.fromiter(map(amounts.__getitem__, results), dtype=np.float64, count=len(results))
        thresholds = np.array(outcomes, dtype=np.float64)  # of failures NaN
        won = ~np.isnan(thresholds)
        thresholds[[place for place, threshold in enumerate(outcomes) if threshold is True]] = np.nan  # not told
        if self._any_whole:
            x = np.where(self.whole[arms], np.floor(x), x)
        cells = np.empty(2 * arms.size, dtype=np.int64)
        most = delta.max_budget * (1.0 + 1e-9)
        noted = record_noted(delta.bins, delta.edges, most, arms, x, won, thresholds, cells)
        if noted < 0:
            raise RefusedError("the results cannot be counted: a threshold lies above what its arm got", "results")
        self._noted.append(cells[:noted])
        if len(self._noted) > _MOST_NOTES:
            self._noted = [np.unique(np.concatenate(self._noted))]

    def count_budget(self, amount: float, censored: bool) -> None:
        """Add how long a budget lasted, at least so long if `censored`, to what this transaction has gathered."""
        record_budget(self._budgets_delta, amount, censored)
        row = self._delta.bins[0, :, COUNT].size
        self._noted.append(np.arange(len(self.names) * row, (len(self.names) + 1) * row))

    def add(self, bins: Floats) -> None:
        """Add evidence from elsewhere to what this transaction has gathered."""
        self._arms_delta.bins[...] += bins
        self._noted.append(np.flatnonzero(bins.any(axis=2)))

    def deltas(self) -> tuple[Evidence, Evidence]:
        """Return what this transaction has gathered, of arms and of budgets, as evidence that shares its numbers."""
        return self._arms_delta, self._budgets_delta

    def take_back(self) -> None:
        """Turn what this transaction has gathered into its negative: it is to be subtracted."""
        self._delta.bins[...] *= -1.0

    def settle(self) -> dict[Statement, list[dict[str, Any]]]:
        """Take over what was gathered; return what is to be written of it, by statement: nothing, if it is nothing."""
        noted = np.concatenate([np.empty(0, dtype=np.int64), *self._noted])  # all others are 0, and may be very many
        self._noted.clear()
        cells = np.empty((noted.size, 5), dtype=np.int64)
        table = cells[: move(self._delta.bins, self.everything.bins, noted, cells)]
        if not len(table):
            return {}
        self.seq += 1
        if self.fading is not None:
            self._weigh(np.unique(table[:, 0]))
        if self._some:
            self._share()
        whole, self._written = self.seq // _WHOLE_EVERY > self._written // _WHOLE_EVERY, self.seq
        stored = packed(cells_of(self.everything.bins) if whole else table, budgets=len(self.names))
        row = {"allocator_id": self.id, "seq": self.seq, "whole": whole, "cells": stored}
        if self.seq % _REPLACED_EVERY:
            return {statements.ADD: [row]}
        return {statements.ADD: [row], statements.REPLACED: [{"allocator_id": self.id, "seq": self.seq - _WHOLE_EVERY}]}

    def _weigh(self, rows: NDArray[np.int64]) -> None:
        """Let what counts of some rows of the evidence follow the whole."""
        bins, touched = self._weighed.bins, np.zeros(len(self.names) + 1, dtype=np.bool_)
        bins[rows], touched[rows] = self.everything.bins[rows], True
        row, kind, place, number, total = self._faded[touched[self._faded[:, 0]]].T
        bins[row, kind, COUNT, place] -= number / PARTS
        bins[row, kind, SUM, place] -= total / PARTS


def cells_of_text(text: str) -> Cells:
    """Read cells as they are stored."""
    return np.array(json.loads(text), dtype=np.int64).reshape(-1, 5)
