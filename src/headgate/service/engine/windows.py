"""Windows of time: what an allocator whose evidence fades keeps of each, and how one ends and the next begins.

`evidence` is the sum of everything. The window that is under way is what is in it and in none of those that have ended
(`schema.windows`): so reports cost nothing more, and only when a window ends is it written down, under the allocator's
lock. What was recorded at a time belongs to the first window that ends after it; nothing is recorded before the one
that is under way, whatever a clock says.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import Connection, delete, func, insert, select, update

from headgate.evidence import Evidence, record_budget
from headgate.evidence.fading import KEPT, Cells, Fading, added, cells_of
from headgate.kernels.record import record
from headgate.service import clock
from headgate.service.engine.learner import Learner, cells_of_text
from headgate.service.engine.records import Results
from headgate.service.faults import ConflictError
from headgate.service.spec import AllocatorSpec
from headgate.service.store import schema
from headgate.service.store.rows import row_of

OPEN = 2**62
"""The end of the window that is under way, after all others."""
Windows = dict[int, tuple[Cells, bool]]
"""By their ends: what was recorded in them, and whether that is forgotten for good."""


def read(connection: Connection, allocator_id: int) -> Windows:
    """Return the windows of an allocator that have ended, the oldest first."""
    table = schema.windows
    rows = connection.execute(select(table).where(table.c.allocator_id == allocator_id).order_by(table.c.ended_at))
    return {row.ended_at: (cells_of_text(row.cells), row.forgotten) for row in rows}


def text_of_cells(cells: Cells) -> str:
    """Write cells as they are stored."""
    return json.dumps(cells.tolist(), separators=(",", ":"))


def turn(connection: Connection, learner: Learner, row: schema.Fields, now: int) -> dict[str, int]:
    """Let the window that is over end, and the next begin; return what is otherwise now in the allocator's row.

    The allocator is locked. Nothing has been gathered yet in this transaction.
    """
    fading = learner.fading
    if fading is None or now < row["window_until"]:
        return {}
    before = read(connection, learner.id)
    rest = under_way(learner, before)
    if rest.size:
        before[row["window_until"]] = rest, False
        _insert(connection, learner.id, row["window_until"], rest, forgotten=False)
    begins, until = fading.window(now, row["window_until"])
    before = _forget(connection, learner.id, fading, before, begins)
    changed = {"window_at": begins, "window_until": until}
    if before:
        changed["seq"] = learner.seq + 1
        _fade(connection, learner, fading, before, changed)
    table = schema.allocators
    connection.execute(update(table).where(table.c.id == learner.id).values(changed))
    return changed


def turn_of(connection: Connection, name: str) -> None:
    """Do that for the allocator of a name."""
    row = row_of(connection, name, lock=True)
    turn(connection, Learner(connection, row), row, clock.now())


def under_way(learner: Learner, past_windows: Windows) -> Cells:
    """Return what was recorded in the window that is under way: all that is in none that has ended."""
    every = cells_of(learner.everything.bins)
    every[every[:, 0] == len(learner.names), 0] = schema.BUDGETS
    negatives = [np.concatenate([cells[:, :3], -cells[:, 3:]], axis=1) for cells, _ in past_windows.values()]
    return added([every, *negatives])


def _forget(connection: Connection, allocator_id: int, fading: Fading, windows: Windows, begins: int) -> Windows:
    """Let windows become one, forgotten for good, that are too old to count; return what is left of all."""
    old = [
        end for end, (_, forgotten) in windows.items() if forgotten or fading.age(end, begins) >= KEPT * fading.length
    ]
    if not old or (len(old) == 1 and windows[old[0]][1]):
        return windows
    cells, table = added([windows[end][0] for end in old]), schema.windows
    connection.execute(delete(table).where(table.c.allocator_id == allocator_id, table.c.ended_at.in_(old)))
    _insert(connection, allocator_id, old[-1], cells, forgotten=True)
    return {old[-1]: (cells, True)} | {end: one for end, one in windows.items() if end > old[-1]}


def _fade(connection: Connection, learner: Learner, fading: Fading, windows: Windows, row: schema.Fields) -> None:
    """Write down how much of the evidence counts no more, and let a learner know."""
    cells = fading.faded([(end, *one) for end, one in windows.items()], row["window_at"])
    learner.fade(cells, row["seq"])
    table = schema.faded
    connection.execute(delete(table).where(table.c.allocator_id == learner.id))
    connection.execute(insert(table).values(allocator_id=learner.id, seq=row["seq"], cells=text_of_cells(cells)))


def _insert(connection: Connection, allocator_id: int, end: int, cells: Cells, *, forgotten: bool) -> None:
    values = {"allocator_id": allocator_id, "ended_at": end, "cells": text_of_cells(cells), "forgotten": forgotten}
    connection.execute(insert(schema.windows).values(values))


# -- versions ----------------------------------------------------------------------------------------------------------


def change(connection: Connection, row: schema.Fields, spec: AllocatorSpec, now: int) -> dict[str, int | None]:
    """Let evidence fade from now on as a spec says, or no more; return what is otherwise in the allocator's row.

    All that was seen before evidence began to fade counts as seen in the first window. Windows that are there stay as
    they are, and have other weights; the one under way lasts as long as others do from now on.
    """
    fading, key = spec.fading, row["id"]
    if fading is None:
        for table in (schema.windows, schema.faded):
            connection.execute(delete(table).where(table.c.allocator_id == key))
        return {"window_at": None, "window_until": None}
    latest = now
    for table, time in ((schema.reports, "recorded_at"), (schema.imports, "imported_at"), (schema.pushes, "pushed_at")):
        query = select(func.max(table.c[time])).where(table.c.allocator_id == key)
        latest = max(latest, connection.execute(query).scalar() or 0)
    begins, until = fading.window(latest, row["window_at"] or 0)
    ended = [(end, *one) for end, one in read(connection, key).items()]
    cells = text_of_cells(fading.faded(ended, begins))
    connection.execute(update(schema.faded).where(schema.faded.c.allocator_id == key).values(cells=cells))
    return {"window_at": begins, "window_until": until}


# -- taking back -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class WindowCells:
    """What was recorded at some times, for windows of which it is to be taken, or told apart; nothing, if none fade."""

    _learner: Learner
    _ends: list[int]
    _parts: dict[int, list[Cells]] = field(default_factory=lambda: defaultdict(list))
    _latest: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, connection: Connection, learner: Learner) -> WindowCells:
        """Return one that knows the windows of an allocator."""
        table = schema.windows.c
        ends = select(table.ended_at).where(table.allocator_id == learner.id).order_by(table.ended_at)
        return cls(learner, list(connection.execute(ends).scalars()) if learner.fading else [])

    def add(
        self, at: int, amounts: Mapping[str, float], results: Results, lasted: tuple[float, bool] | None = None
    ) -> None:
        """Add results that were recorded at some time."""
        if self._learner.fading is not None:
            self._add(at, cells_of_results(self._learner, amounts, results, lasted))

    def add_evidence(self, at: int, evidence: Evidence) -> None:
        """Add evidence that came from elsewhere at some time."""
        if self._learner.fading is not None:
            self._add(at, cells_of(evidence.bins))

    def _add(self, at: int, cells: Cells) -> None:
        place = bisect_right(self._ends, at)
        end = self._ends[place] if place < len(self._ends) else OPEN
        self._parts[end].append(cells)
        self._latest[end] = max(at, self._latest.get(end, 0))

    def text(self) -> str | None:
        """Return what `sums` keep of it: of each window a time in it, and cells."""
        if self._learner.fading is None:
            return None
        return json.dumps([[self._latest[end], added(parts).tolist()] for end, parts in self._parts.items()])

    def take(self, connection: Connection, row: schema.Fields) -> None:
        """Take it from the windows that have ended; from the sum it has been taken already, with the row's `seq`."""
        fading, table, key = self._learner.fading, schema.windows, self._learner.id
        self._parts.pop(OPEN, None)
        if fading is None or not self._parts:
            return
        windows = read(connection, key)
        for end, parts in self._parts.items():
            cells, forgotten = windows[end]
            less = [np.concatenate([part[:, :3], -part[:, 3:]], axis=1) for part in parts]
            windows[end] = added([cells, *less]), forgotten
            if (windows[end][0][:, 3] < 0).any():
                raise ConflictError(f"allocator {self._learner.name!r} has windows that are not what its log says")
            here = table.c.allocator_id == key, table.c.ended_at == end
            connection.execute(update(table).where(*here).values(cells=text_of_cells(windows[end][0])))
        _fade(connection, self._learner, fading, windows, row)


def cells_of_results(
    learner: Learner, amounts: Mapping[str, float], results: Results, lasted: tuple[float, bool] | None
) -> Cells:
    """Return the cells that a report has added to the evidence, of arms and of budgets."""
    part = Evidence.empty(len(results) + 1, learner.spec.max_budget)
    places = np.array([*(learner.position[name] for name in results), schema.BUDGETS])
    x, won = np.zeros(len(places)), np.zeros(len(places), dtype=np.bool_)
    thresholds, reported = np.full(len(places), np.nan), np.ones(len(places), dtype=np.bool_)
    for place, (name, result) in enumerate(results.items()):
        x[place], won[place] = amounts[name], result is not None
        if result is not None and result is not True:
            thresholds[place] = result
        if learner.whole[places[place]]:
            x[place] = np.floor(x[place])
    reported[-1] = False
    record(part.bins, part.edges, part.max_budget * (1.0 + 1e-9), x, won, thresholds, reported)
    if lasted is not None:
        record_budget(Evidence(part.max_budget, part.bins[-1:], part.edges), *lasted)
    cells = cells_of(part.bins)
    cells[:, 0] = places[cells[:, 0]]
    return cells
