"""Evidence that fades: what was recorded in a window of time counts with one weight, a whole number of parts of 4,096.

Time is cut into windows, an eighth of a half-life or a sixteenth of a sliding window long. With E_k the evidence that
was recorded in window k, in whole numbers, and m_k its weight in parts of 4,096, what counts is

    sum over k of m_k E_k / 4096 = sum over k of E_k - sum over k of (4096 - m_k) E_k / 4096.

Both sums on the right are of whole numbers, so they are exact in any order, and each is rounded once: whoever adds up
the same windows has the same evidence to the last bit. Up to a million trials of an arm in one bin nothing is rounded.

Evidence is a table of cells here: row, kind, bin, count, sum, whole numbers, without those that are 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.errors import ParameterError
from headgate.kernels.bins import BINS, COUNT, SUM
from headgate.laws import Floats

Cells = NDArray[np.int64]
"""Row, kind, bin, count, sum: (n, 5)."""
PARTS = 4096
"""Of a weight."""
KEPT = 96
"""Windows that are told apart; what is older is forgotten: 12 half-lives, or 6 times a sliding window."""
_PER_HALF_LIFE = 8
_PER_WINDOW = 16
_MOST_ROWS = 2**31


@dataclass(frozen=True, slots=True)
class Fading:
    """How evidence loses weight with its age. Times are whole numbers, of microseconds where nothing else is said.

    >>> fading = Fading(800, sliding=False)
    >>> [fading.weight(age) for age in (0, 100, 800, 1600, 9500, 9600)]
    [4096, 3756, 2048, 1024, 1, 0]
    >>> [Fading(1600, sliding=True).weight(age) for age in (0, 100, 1500, 1600)]
    [4096, 4096, 4096, 0]
    """

    span: int
    """The half-life, or the length of the sliding window."""
    sliding: bool
    """Whether everything counts whole for so long, and then not at all."""

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ParameterError(f"a half-life must be at least {_PER_HALF_LIFE}, a window {_PER_WINDOW}: {self.span}")

    @property
    def length(self) -> int:
        """Of one window of time."""
        return self.span // (_PER_WINDOW if self.sliding else _PER_HALF_LIFE)

    def weight(self, age: int) -> int:
        """Return the weight of what is so old, in parts: 2^(-age / half-life), or 1 up to the length of the window."""
        if age >= KEPT * self.length:
            return 0
        if self.sliding:
            return PARTS if age < _PER_WINDOW * self.length else 0
        return round(PARTS * math.exp2(-age / self.span))

    def window(self, moment: int, earliest: int = 0) -> tuple[int, int]:
        """Return when the window of a moment begins and ends, not before `earliest`; they begin at whole multiples."""
        begins = max(moment // self.length * self.length, earliest)
        return begins, (begins // self.length + 1) * self.length

    def age(self, ended: int, begins: int) -> int:
        """Return how old a window that has ended is where another begins: 1 length, if that is the next."""
        return begins - ended + self.length

    def faded(self, windows: Iterable[tuple[int, Cells, bool]], begins: int) -> Cells:
        """Return how much of windows counts no more, in parts, where another begins: sum of (4096 - m_k) E_k.

        A window is its end, its cells, and whether it is forgotten for good.
        """
        parts = []
        for ended, cells, forgotten in windows:
            share = PARTS if forgotten else PARTS - self.weight(self.age(ended, begins))
            if share:
                parts.append(np.concatenate([cells[:, :3], cells[:, 3:] * share], axis=1))
        return added(parts)


def added(tables: Sequence[Cells]) -> Cells:
    """Return the sum of tables of cells, in the order of row, kind and bin, without those that are 0.

    >>> added([np.array([[0, 1, 5, 2, 9], [0, 1, 6, 1, 4]]), np.array([[0, 1, 5, -2, -9]])]).tolist()
    [[0, 1, 6, 1, 4]]
    """
    if not tables:
        return np.empty((0, 5), dtype=np.int64)
    every = np.concatenate(tables)
    place = (every[:, 0] * 8 + every[:, 1]) * BINS + every[:, 2]
    order = np.argsort(place, kind="stable")
    first = np.flatnonzero(np.diff(place[order], prepend=-_MOST_ROWS * 8 * BINS))
    if not first.size:
        return np.empty((0, 5), dtype=np.int64)
    cells = every[order[first]]
    cells[:, 3:] = np.add.reduceat(every[order, 3:], first, axis=0)
    return np.ascontiguousarray(cells[cells[:, 3:].any(axis=1)])


def cells_of(bins: Floats) -> Cells:
    """Return the cells of histograms (rows, kind, [count, sum], bin) of whole numbers."""
    row, kind, place = np.nonzero(bins.any(axis=-2))
    counts, sums = bins[row, kind, COUNT, place], bins[row, kind, SUM, place]
    return np.stack([row, kind, place, counts.astype(np.int64), sums.astype(np.int64)], axis=1)


def subtract(bins: Floats, whole: Floats, faded: Cells) -> None:
    """Put into `bins` what counts of a whole sum, given how much of it does not, in parts; of shape (rows, ...)."""
    np.copyto(bins, whole)
    row, kind, place = faded[:, 0], faded[:, 1], faded[:, 2]
    bins[row, kind, COUNT, place] -= faded[:, 3] / PARTS
    bins[row, kind, SUM, place] -= faded[:, 4] / PARTS


class FadingSum:
    """The windows of one learner in memory, the last of them under way."""

    def __init__(self, fading: Fading) -> None:
        self._fading = fading
        self._windows: list[tuple[int, Cells, bool]] = []
        self._open: list[Cells] = []
        self._until: int | None = None

    def add(self, bins: Floats) -> None:
        """Add histograms of whole numbers to the window that is under way: (rows, kind, [count, sum], bin)."""
        self._open.append(cells_of(np.rint(bins)))

    def turn(self, now: int, bins: Floats) -> bool:
        """Put into `bins` what counts now of all windows, if that is otherwise since another begins."""
        if self._until is not None and now < self._until:
            return False
        begins, until = self._fading.window(now)
        ended, self._until = self._until, until
        if ended is None:
            return False
        self._windows.append((ended, added(self._open), False))
        self._open = []
        self._windows = [one for one in self._windows if self._fading.weight(self._fading.age(one[0], begins))]
        whole = np.zeros_like(bins)
        row, kind, place, number, total = added([cells for _, cells, _ in self._windows]).T
        whole[row, kind, COUNT, place], whole[row, kind, SUM, place] = number, total
        subtract(bins, whole, self._fading.faded(self._windows, begins))
        return True
