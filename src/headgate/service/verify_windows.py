"""Recomputing from the log, by another way than the engine's, what windows of time hold, and what counts of them."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sqlalchemy import Connection, select

from headgate.kernels.bins import BINS
from headgate.laws import Floats
from headgate.service.engine.learner import Learner
from headgate.service.spec import AllocatorSpec
from headgate.service.store import schema

_KINDS = 4
_WIDTH = _KINDS * 2 * BINS
_PARTS = 4096


class WindowCheck:
    """The windows of an allocator as the log says they must be, by their numbers; the last is under way."""

    def __init__(self, connection: Connection, row: schema.Fields, spec: AllocatorSpec, arms: int) -> None:
        table = schema.windows
        mine = select(table).where(table.c.allocator_id == row["id"]).order_by(table.c.ended_at)
        self._stored = connection.execute(mine).all()
        self._ends = np.array([one.ended_at for one in self._stored], dtype=np.int64)
        self._spec, self._rows = spec, arms + 1
        self._sums: dict[int, Any] = defaultdict(lambda: sparse.csr_array((self._rows, _WIDTH), dtype=np.int64))

    def at(self, moment: int) -> int:
        """Return the window of a moment: the first that ends after it."""
        return int(np.searchsorted(self._ends, moment, side="right"))

    def of(self, moments: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.bool_] | slice]]:
        """Return the windows of moments, each with which are in it."""
        if not self._ends.size:
            yield 0, slice(None)
            return
        place = np.searchsorted(self._ends, moments, side="right")
        for window in np.unique(place):
            yield int(window), place == window

    def add(self, window: int, bins: Floats, *, budgets: bool = False) -> None:
        """Add evidence to a window."""
        if self._spec.fading is not None:
            part = sparse.csr_array(bins.reshape(len(bins), -1).astype(np.int64))
            empty = sparse.csr_array((self._rows - len(bins), _WIDTH), dtype=np.int64)
            whole = [empty, part] if budgets else [part, empty]
            self._sums[window] = self._sums[window] + sparse.vstack(whole, format="csr")

    def add_cells(self, windows: Sequence[tuple[int, Sequence[Sequence[int]]]]) -> None:
        """Add what rows have left that are gone: of each window a time in it, and cells."""
        if self._spec.fading is not None:
            for moment, cells in windows:
                self._sums[self.at(moment)] = self._sums[self.at(moment)] + self._table(cells)

    def _table(self, cells: Sequence[Sequence[int]]) -> Any:
        table = np.zeros((self._rows, _KINDS, 2, BINS), dtype=np.int64)
        for arm, kind, place, number, total in cells:
            table[arm, kind, :, place] = number, total
        return sparse.csr_array(table.reshape(self._rows, -1))

    def differences(self, connection: Connection, row: schema.Fields) -> Iterator[str]:
        """Say what is not as it must be: windows, and what counts of all of them."""
        if self._spec.fading is None:
            if len(self._stored) or row["window_at"] is not None or row["window_until"] is not None:
                yield "it has windows of time, and its evidence does not fade"
            return
        borders = [*self._ends.tolist(), row["window_until"]]
        if not all(before < after for before, after in pairwise(borders)) or row["window_at"] >= row["window_until"]:
            yield "its windows of time do not follow each other"
        for place, one in enumerate(self._stored):
            if (self._table(json.loads(one.cells)) != self._sums[place]).nnz:
                yield f"the window of time until {one.ended_at} differs from the log's"
        counts = self._counts(row["window_at"])
        learner = Learner(connection, row)
        if np.any(counts[:-1].reshape(learner.weighed.bins.shape) != learner.weighed.bins):
            yield "what counts of its evidence is not what its windows of time say"
        budgets = learner.state.budgets
        if budgets is not None and np.any(counts[-1:].reshape(budgets.bins.shape) != budgets.bins):
            yield "what counts of how long budgets lasted is not what its windows of time say"

    def _counts(self, begins: int) -> Floats:
        """Return the weighted sum of all windows: (rows, kinds * 2 * bins)."""
        whole, lost = np.zeros((self._rows, _WIDTH), np.int64), np.zeros((self._rows, _WIDTH), np.int64)
        for place, cells in self._sums.items():
            table = cells.toarray()
            whole += table
            if place < len(self._stored):
                one = self._stored[place]
                lost += table * (_PARTS - (0 if one.forgotten else self._weight(begins - one.ended_at)))
        return np.asarray(whole.astype(np.float64) - lost / _PARTS)

    def _weight(self, gap: int) -> int:
        """Return the weight of a window that ended so long before the one under way began."""
        half_life, sliding = self._spec.half_life, self._spec.window
        span = round((half_life or sliding or 0.0) * 1e6)
        length = span // (16 if half_life is None else 8)
        age = gap + length
        if half_life is None:
            return _PARTS if age < 16 * length else 0
        return 0 if age >= 96 * length else round(_PARTS * math.pow(2.0, -age / span))
