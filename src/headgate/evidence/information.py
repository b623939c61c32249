"""What regressions have seen, in information form: precisions and precision-weighted means, which add up.

The log likelihood of what was seen is kept as a quadratic, -theta' A theta / 2 + a' theta, in the coefficients theta of
all arms and the deviations delta_k of each arm from them. A row speaks of theta and of one delta_k, so that the
precision is an arrow: a block for theta, one for each arm, one between each arm and theta, nothing between two arms.
The prior is no part of it: two learners' information is the sum of theirs, whatever they believed before.

Coefficients are ordered by coordinate (log median, logit activation, spread), then by column: 1 and the features.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray

from headgate.laws import Floats

ROWS = 512
"""That are worked on at once: they stay in the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Information:
    """A quadratic in D = C (d + 1) shared coefficients and o = C q of each of K arms, q = 1 or d + 1."""

    precision: Floats
    """(D, D)."""
    vector: Floats
    """(D,)."""
    cross: Floats
    """Between theta and each arm's own: (K, D, o)."""
    own: Floats
    """(K, o, o)."""
    own_vector: Floats
    """(K, o)."""

    @classmethod
    def empty(cls, size: int, arms: int, own: int, lead: tuple[int, ...] = ()) -> Self:
        """Return that of nothing; `lead` are leading axes, over which `at` walks."""
        return cls(
            np.zeros((*lead, size, size)), np.zeros((*lead, size)), np.zeros((*lead, arms, size, own)),
            np.zeros((*lead, arms, own, own)), np.zeros((*lead, arms, own)),
        )  # fmt: skip

    def at(self, index: tuple[int, ...]) -> Self:
        """Return a view of one learner under one law."""
        return type(self)(*(getattr(self, f.name)[index] for f in fields(self)))

    def copy(self) -> Self:
        """Return information of its own."""
        return type(self)(*(getattr(self, f.name).copy() for f in fields(self)))

    def add(self, columns: Floats, arm: NDArray[np.int64], bend: Floats, slope: Floats) -> None:
        """Add rows in place: `columns` (n, d + 1), `bend` (n, C, C) and `slope` (n, C) of the predictors."""
        count, width = columns.shape
        size = bend.shape[-1]
        pairs = [(c, e) for c in range(size) for e in range(c + 1)]
        total, weighted = np.zeros((width, len(pairs) * width)), np.empty((ROWS, len(pairs), width))
        for start in range(0, count, ROWS):
            some, weights = columns[start : start + ROWS], bend[start : start + ROWS]
            part = weighted[: len(some)]
            for k, (c, e) in enumerate(pairs):
                np.multiply(some, weights[:, c, e, None], out=part[:, k])
            total += some.T @ part.reshape(len(some), -1)
        blocks = self.precision.reshape(size, width, size, width)
        for k, (c, e) in enumerate(pairs):
            block = total[:, k * width : (k + 1) * width]
            blocks[c, :, e, :] += block
            if e < c:
                blocks[e, :, c, :] += block.T
        if self.own.shape[0]:
            o = self.own.shape[-1]
            for who, rows, first in _by_arm(arm):
                some, part = columns[rows], bend[rows]
                mine = some[:, : o // size]
                for total_of, by in ((self.cross, some), (self.own, mine)):
                    each = np.einsum("nce,ni,nj->nciej", part, by, mine).reshape(len(some), -1, o)
                    total_of[who] += np.add.reduceat(each, first)
        self.add_slopes(columns, arm, slope)

    def add_slopes(self, columns: Floats, arm: NDArray[np.int64], slope: Floats) -> None:
        """Add the rows' `slope` (n, C) alone, in place."""
        self.vector[...] += (slope.T @ columns).ravel()
        if self.own.shape[0]:
            o = self.own.shape[-1]
            mine = columns[:, : o // slope.shape[1]]
            each = np.einsum("nc,nj->ncj", slope, mine).reshape(len(columns), o)
            for who, rows, first in _by_arm(arm):
                self.own_vector[who] += np.add.reduceat(each[rows], first)

    def become(self, other: Self) -> None:
        """Forget everything, and hold what the other does, in place."""
        for f in fields(self):
            getattr(self, f.name)[...] = getattr(other, f.name)

    def include(self, other: Self) -> None:
        """Add other information, in the same coefficients, in place."""
        for f in fields(self):
            getattr(self, f.name)[...] += getattr(other, f.name)

    def in_units(self, units: Floats) -> Self:
        """Return it in other coefficients, theta = `units` theta' for each coordinate: (d + 1, d + 1)."""
        width = units.shape[0]
        size = self.vector.size // width
        blocks = self.precision.reshape(size, width, size, width).transpose(0, 2, 1, 3)
        precision = (units.T @ blocks @ units).transpose(0, 2, 1, 3).reshape(self.precision.shape)
        vector = (self.vector.reshape(size, width) @ units).ravel()
        cross, own, own_vector = self.cross, self.own, self.own_vector
        arms, o = own_vector.shape
        if arms:
            cross = (units.T @ cross.reshape(arms * size, width, o)).reshape(cross.shape)
            if o > size:  # slopes of their own
                cross = (cross.reshape(arms, -1, width) @ units).reshape(cross.shape)
                mine = own.reshape(arms, size, width, size, width).transpose(0, 1, 3, 2, 4)
                own = (units.T @ mine @ units).transpose(0, 1, 3, 2, 4).reshape(own.shape)
                own_vector = (own_vector.reshape(arms, size, width) @ units).reshape(arms, o)
        return type(self)(precision, vector, cross, own, own_vector)

    def with_prior(self, weight: Floats, mean: Floats, own_weight: Floats) -> Self:
        """Add a normal prior: precisions and means of theta, (D,) each, precisions of what is an arm's own, (o,)."""
        precision = self.precision + np.diag(weight)
        own = self.own + np.diag(own_weight) if self.own.shape[0] else self.own
        return type(self)(precision, self.vector + weight * mean, self.cross, own, self.own_vector)

    def plus(self, other: Self) -> Self:
        """Return the sum of both, in the same coefficients."""
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def fade(self, factor: float) -> None:
        """Let everything seen so far count `factor` times as much, in place."""
        for f in fields(self):
            getattr(self, f.name)[...] *= factor


def _by_arm(arm: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Yield some rows at a time, those of one arm side by side: the arms, the rows, and where each arm's begin."""
    order = np.argsort(arm, kind="stable")
    for start in range(0, len(arm), ROWS):
        rows = order[start : start + ROWS]
        first = np.flatnonzero(np.diff(arm[rows], prepend=-1))
        yield arm[rows[first]], rows, first
