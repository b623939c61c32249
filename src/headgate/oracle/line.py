"""The line of budgets, cut into cells: what arms gain along it, and how long a budget lasts.

`plan` serves arms one after the other on this line. `Line.gain` and `Line.survival` are what it looks for orders and
amounts with; `Line.ceiling` is what makes its bound hold for amounts that are no multiples of a cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from headgate.laws import Floats

_PARTS = 4096
"""Parts of the line in which curves are looked at for a bound; four times as many where their bends are not known."""
_LITTLE = 1e-6
"""The last share of a curve, for which no order and no amount is looked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Arms:
    """The arms of a plan, by their curves."""

    curve: Callable[[Floats], Floats]
    """From amounts (K, n) to what a success within them is worth, v_i p_i G_i(x): (K, n)."""
    inflection: Floats
    """Until where each curve is convex, and from where on concave; NaN if that is not known: (K,)."""
    whole: NDArray[np.bool_]
    """Which arms count in whole units: (K,)."""
    upper: Floats
    """The most that each arm may get: (K,)."""
    error: Floats
    """How far a success may be worth more than the curve says: (K,)."""
    level: Floats
    """From where on a curve has all but 1e-9 of its height; infinite if that is not known: (K,)."""

    def useful(self, budget: float, rest: float) -> Self:
        """Return the arms with no more than they can make use of: the last `rest` of their curves becomes an error."""
        cut = self.level < np.minimum(self.upper, budget)
        if not cut.any():
            return self
        height = self.curve(np.where(cut, self.level, 0.0)[:, None])[:, 0]
        error = self.error + np.where(cut, 2.0 * rest * height, 0.0)
        return replace(self, upper=np.where(cut, self.level, self.upper), error=error)

    def heights(self, x: Floats) -> Floats:
        """Return the curves at amounts (n,) or (K, n), level from `upper` on."""
        return self.curve(np.minimum(x, self.upper[:, None]))

    def only(self, some: NDArray[np.bool_]) -> Self:
        """Return some of the arms."""
        if some.all():
            return self
        count = some.size

        def curve(x: Floats) -> Floats:
            every = np.zeros((count, x.shape[-1]))
            every[some] = x
            return self.curve(every)[some]

        bend, whole, upper = self.inflection[some], self.whole[some], self.upper[some]
        return type(self)(curve, bend, whole, upper, self.error[some], self.level[some])


class Budgets(NamedTuple):
    """The law of a budget: amounts >= 0 that grow, and the mass of each, 1 in all."""

    amount: Floats
    mass: Floats

    @classmethod
    def of(cls, amounts: Floats, weights: Floats | None = None) -> Self:
        """Return the law of these numbers, each as likely as its weight says."""
        amount, place = np.unique(amounts, return_inverse=True)
        mass = np.bincount(place, weights, amount.size)
        return cls(amount, mass / mass.sum())

    def below(self, reach: float, whole: bool) -> Self:
        """Return the law of the part that can be used: no more than `reach`, in whole units if `whole`."""
        return type(self).of(np.minimum(np.floor(self.amount) if whole else self.amount, reach), self.mass)


class Ceiling(NamedTuple):
    """What a bound needs beside prices: see docs/plan.md."""

    survival: Floats
    """The survival of budgets of which each is a lottery between the ends of its cell, or moved to the right: (n,)."""
    gain: Floats
    """The gains of curves that are straight within cells and nowhere below the arms' own: (K, n)."""
    first: Floats
    """Where those curves begin: (K,)."""
    alive: Floats
    """The largest chance that a budget lasts to where a slot begins that begins next to a node: (n + 1,)."""
    inside: Floats
    """sum of m w (1 - w) over budgets of mass m at w of the cell before or after a node, the larger: (n + 1,)."""
    extra: Floats
    """What budgets within the cells of its slot can add to an arm: (K,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A line of n cells of one width."""

    arms: Arms
    budgets: Budgets
    width: float
    gain: Floats
    """What each arm's curve gains in each cell that it gets: (K, n)."""
    survival: Floats
    """The mean of P(budget >= t) over each cell: (n,)."""

    @classmethod
    def of(cls, arms: Arms, budgets: Budgets, cells: int) -> Self:
        """Cut the line up to the largest budget into about so many cells; of whole units if all arms count in those."""
        reach = float(budgets.amount[-1])
        width = float(np.ceil(reach / cells)) if arms.whole.all() else reach / cells
        count = int(np.ceil(reach / width)) if arms.whole.all() else cells
        nodes = width * np.arange(count + 1.0)
        heights = arms.heights(np.broadcast_to(nodes, (arms.upper.size, count + 1)))
        gain = np.maximum(np.diff(heights), 0.0)
        gain[np.arange(count) >= _reach(gain, _LITTLE * heights[:, -1:])[:, None]] = 0.0
        amount, mass = budgets
        place = np.searchsorted(amount, nodes)  # how many budgets are smaller
        smaller = np.concatenate([[0.0], np.cumsum(mass)]), np.concatenate([[0.0], np.cumsum(mass * amount)])
        lasting = smaller[1][place] + nodes * (1.0 - smaller[0][place])  # E min(budget, t), the integral of P(>= t)
        survival = np.clip(np.diff(lasting) / width, 0.0, 1.0)
        return cls(arms, budgets, width, gain, survival)

    @property
    def cells(self) -> int:
        """The number of cells, n."""
        return int(self.survival.size)

    def nodes(self, count: int) -> NDArray[np.int64]:
        """Return about so many of the n + 1 nodes, first and last included, closer where budgets are likely to last."""
        if count >= self.cells:
            return np.arange(self.cells + 1)
        every = np.arange(self.cells + 1.0)
        lasting = np.concatenate([[0.0], np.cumsum(self.survival)])
        density = 0.8 * lasting / lasting[-1] + 0.2 * every / self.cells
        return np.unique(np.rint(np.interp(np.linspace(0.0, 1.0, count + 1), density, every)).astype(np.int64))

    def parts(self, rest: Floats | float, most: float) -> int:
        """Return into how many parts cells can be cut so that at most so many slots have to be looked at.

        An arm is not served on where all that it can still gain is at most `rest`: one number, or (K, 1).
        """
        if self.arms.whole.all():
            return 1
        reach = _reach(self.gain, rest)
        slots = float(np.sum(reach * (self.cells - 0.5 * reach)))
        return next((parts for parts in (8, 4, 2) if parts**2 * slots <= most), 1)

    def cut(self, parts: int) -> Line:
        """Return the line with every cell in so many parts."""
        return self if parts == 1 else Line.of(self.arms, self.budgets, parts * self.cells)

    def ceiling(self, rest: float) -> Ceiling:
        """Return what makes a bound on this line hold for all amounts; the last `rest` of a curve is given at once."""
        amount, mass = self.budgets
        cell = np.minimum((amount / self.width).astype(np.int64), self.cells - 1)
        share = np.clip(amount / self.width - cell, 0.0, 1.0)
        inside = np.bincount(cell, mass * share * (1.0 - share), self.cells)
        either = np.maximum(np.append(inside, 0.0), np.append(0.0, inside))
        before = self.width * np.maximum(np.arange(self.cells + 1.0) - 1.0, 0.0)
        smaller = np.concatenate([[0.0], np.cumsum(mass)])[np.searchsorted(amount, before)]
        alive = np.clip(1.0 - smaller, 0.0, 1.0)
        tops = self._tops()
        gain = np.diff(tops)
        for row, reach in zip(gain, _reach(gain, rest), strict=True):
            if 0 < reach < self.cells:
                row[reach - 1] += row[reach:].sum()
                row[reach:] = 0.0
        drops = np.maximum(-np.diff(gain, prepend=gain[:, :1]), 0.0)
        if self.arms.whole.any() and not self.arms.whole.all():  # steps within cells: lotteries would cost too much
            survival = np.clip(1.0 - np.concatenate([[0.0], np.cumsum(mass)])[self._until()], 0.0, 1.0)
            none = np.zeros_like(either)
            return Ceiling(survival, gain, tops[:, 0] + self.arms.error, alive, none, 1e-12 * tops[:, -1])
        # The largest over a of the sum over d of drops[d] inside[a + d], by Fourier's transform.
        size = 2 * self.cells
        both = np.fft.rfft(drops, size).conj() * np.fft.rfft(inside, size)
        extra = np.fft.irfft(both, size)[:, : self.cells].max(axis=-1, initial=0.0) + 1e-12 * tops[:, -1]
        return Ceiling(self.survival, gain, tops[:, 0] + self.arms.error, alive, either, extra)

    def _until(self) -> NDArray[np.int64]:
        """How many budgets end before or where each cell begins: (n,)."""
        return np.asarray(np.searchsorted(self.budgets.amount, self.width * np.arange(self.cells), side="right"))

    def _tops(self) -> Floats:
        """Heights at the nodes, (K, n + 1), between which straight lines are nowhere below the curves.

        A cell is looked at in parts. A part of a convex stretch lies below its chord, one of a concave stretch below
        the chords of its neighbours prolonged, any other below its right end. Whole units among other arms are steps.
        """
        known = ~np.isnan(self.arms.inflection)
        units = bool(self.arms.whole.all())
        parts = int(self.width) if units else max((_PARTS if known.all() else 4 * _PARTS) // self.cells, 1)
        x = self.width / parts * np.arange(self.cells * parts + 1.0)
        height = np.maximum.accumulate(self.arms.heights(np.broadcast_to(x, (known.size, x.size))), axis=-1)
        rise = np.diff(height)
        excess = np.zeros_like(rise)
        if not units:  # whole units are the ends of parts, and nothing between them counts
            bend = np.minimum(self.arms.inflection, self.arms.upper)[:, None]
            concave = x[:-1] >= bend
            left = np.where(concave[:, :-1], rise[:, :-1], np.inf)
            left = np.concatenate([np.full((known.size, 1), np.inf), left], axis=-1)
            right = np.concatenate([rise[:, 1:], np.zeros((known.size, 1))], axis=-1)
            down, up = np.maximum(rise - right, 0.0), np.maximum(left - rise, 0.0)
            with np.errstate(invalid="ignore", divide="ignore"):
                apex = np.where(np.isinf(up), down, up * down / (up + down))
            apex = np.where(down > 0.0, np.nan_to_num(apex), 0.0)
            excess = np.where(concave, apex, np.where(x[1:] <= bend, 0.0, rise))
        ends = height[:, ::parts]
        chord = np.linspace(ends[:, :-1], ends[:, 1:], parts + 1, axis=-1)  # (K, n, parts + 1)
        cell = np.lib.stride_tricks.sliding_window_view(height, parts + 1, axis=-1)[:, ::parts]
        above = cell - chord
        over = np.maximum(above[..., :-1], above[..., 1:]) + excess.reshape(known.size, self.cells, parts)
        over = np.maximum(over.max(axis=-1), 0.0)
        none = np.zeros((known.size, 1))
        raised = np.maximum(np.concatenate([none, over], axis=-1), np.concatenate([over, none], axis=-1))
        tops = np.maximum.accumulate(ends + raised, axis=-1)
        if not units:  # an arm of steps: level in each cell, at its height where the cell ends
            steps = ends[self.arms.whole]
            tops[self.arms.whole] = np.concatenate([steps[:, 1:], steps[:, -1:]], axis=-1)
        return tops


def _reach(gain: Floats, rest: Floats | float) -> NDArray[np.int64]:
    """After how many cells all that is still to be gained is at most `rest`: (K,)."""
    remaining = np.cumsum(gain[:, ::-1], axis=-1)[:, ::-1]
    return np.asarray(np.sum(remaining > rest, axis=-1))
