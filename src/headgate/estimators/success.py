"""The chance of success at any allocation, psi(x) = p G(x), with a likelihood-ratio interval.

The interval holds every psi(x) that some parameters within the likelihood-ratio region reach,

    {theta : 2 (max log L - log L(theta)) <= q},        q the quantile of chi^2 with 1 degree of freedom (Wilks, 1938),

which is the interval of the profile likelihood of psi(x) itself. It is right on ridges too, where activation and rate
cannot be told apart but their curve can. Given the curve, log L is concave in p: the region is an interval of p for
each (l, s), log median and log log(q75 / q25), on a grid that is narrowed to where the region lies.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate.errors import UnsupportedError
from headgate.evidence import Evidence
from headgate.laws import Floats, Law

_MEDIANS, _SPREADS = 61, 21  # points of the grid
_FAR = 14.0  # how far from the largest amount log medians are looked for: six decades either way
_WIDE = (-4.0, 3.0)  # the least and the largest log spread that are looked for
_PASSES = 4
_HALVINGS = 40
_TINY = 1e-300


class Success(NamedTuple):
    """The chance of success of each arm, (..., K), and its interval, (..., K, 2)."""

    chance: Floats
    interval: Floats


class _Rows(NamedTuple):
    """An arm's evidence, bin by bin: failures, thresholds seen and successes without one, how many and where."""

    failures: Floats
    successes: Floats
    silent: Floats
    amounts: Floats
    thresholds: Floats
    reached: Floats

    @property
    def won(self) -> float:
        """All successes."""
        return float(self.successes.sum() + self.silent.sum())


def success(law: Law, evidence: Evidence, x: Floats, level: float) -> Success:
    """Return the chance of success at x, (K,) or (..., K), by maximum likelihood, with its interval."""
    shape = (*evidence.batch, evidence.arms)
    amounts, laws = np.broadcast_to(x, shape), [law.of_arm(arm) for arm in range(evidence.arms)]
    counts, means = (
        [call(kind) for kind in ("failed", "seen", "reached")] for call in (evidence.counts, evidence.means)
    )
    chance, interval = np.empty(shape), np.empty((*shape, 2))
    cut = 0.5 * float(special.ndtri(0.5 + level / 2.0)) ** 2
    for index in np.ndindex(shape):
        filled = [count[index] > 0.0 for count in counts]
        rows = _Rows(*(v[index][keep] for v, keep in zip((*counts, *means), filled * 2, strict=True)))
        chance[index], interval[index] = _one(laws[index[-1]], rows, float(amounts[index]), cut)
    return Success(chance, interval)


def _one(law: Law, rows: _Rows, x: float, cut: float) -> tuple[float, tuple[float, float]]:
    """Return psi(x) of one arm and its two ends."""
    middle = np.log(max(1e-9, x, *rows.amounts, *rows.thresholds, *rows.reached))
    l, s = np.linspace(middle - _FAR, middle + _FAR, _MEDIANS), np.linspace(*_WIDE, _SPREADS)
    best, chance = -np.inf, 0.0
    for turn in range(_PASSES):
        parts = [_along(curve, rows, l, x) for curve in _curves(law, tuple(s))]
        tops = np.array([part[0] for part in parts])
        k = np.unravel_index(int(np.argmax(tops)), tops.shape)
        if tops[k] > best:
            best, chance = float(tops[k]), float(parts[k[0]][1][k[1]] * parts[k[0]][2][k[1]])
        inside = tops >= best - cut
        if turn < _PASSES - 1:
            l = _narrowed(l, np.any(inside, axis=0, keepdims=True)[0])
            s = _narrowed(s, np.any(inside, axis=1, keepdims=True)[:, 0]) if law.is_open and len(parts) == len(s) else s
    ends = [(chance, chance)]
    for (top, p, at, reached), keep in zip(parts, inside, strict=True):
        if keep.any():
            room = top[keep] - (best - cut)  # how much may be lost by another p
            ends.append(_ends(rows, p[keep], reached[keep], at[keep], room))
    return chance, (min(low for low, _ in ends), max(high for _, high in ends))


def _narrowed(grid: Floats, inside: NDArray[np.bool_]) -> Floats:
    where = np.flatnonzero(inside)
    return np.linspace(grid[max(where[0] - 1, 0)], grid[min(where[-1] + 1, grid.size - 1)], grid.size)


def _along(law: Law, rows: _Rows, l: Floats, x: float) -> tuple[Floats, Floats, Floats, Floats]:
    """At log medians l return max over p of log L, that p, G(x), and G at the failures."""
    with np.errstate(all="ignore"):
        rate = law.rate_of_quantile(np.exp(l), 0.5)
        reached = law.cdf(rows.amounts, rate[:, None])
        density = np.sum(rows.successes * law.log_pdf(rows.thresholds, rate[:, None]), axis=-1)
        density += np.sum(rows.silent * np.log(law.cdf(rows.reached, rate[:, None])), axis=-1)
        at = law.cdf(x, rate)
    low, high = np.zeros(l.size), np.ones(l.size)
    won = rows.won
    for _ in range(_HALVINGS):  # the slope n / p - sum m G / (1 - p G) falls
        p = 0.5 * (low + high)
        slope = won - np.sum(rows.failures * p[:, None] * reached / np.maximum(1.0 - p[:, None] * reached, _TINY), -1)
        low, high = np.where(slope > 0.0, p, low), np.where(slope > 0.0, high, p)
    p = high if won > 0.0 else np.zeros(l.size)
    top = density + _log_likelihood(rows, p, reached)
    return np.where(np.isfinite(top), top, -np.inf), p, at, reached


def _log_likelihood(rows: _Rows, p: Floats, reached: Floats) -> Floats:
    lost = np.sum(rows.failures * np.log(np.maximum(1.0 - p[:, None] * reached, _TINY)), axis=-1)
    return np.asarray(special.xlogy(rows.won, p) + lost)


def _ends(rows: _Rows, p: Floats, reached: Floats, at: Floats, room: Floats) -> tuple[float, float]:
    """Return the least and the largest psi(x) whose p loses no more than `room`."""
    top, ends = _log_likelihood(rows, p, reached), []
    for side in (0.0, 1.0):
        inner, outer = p, np.full(p.shape, side)
        for _ in range(_HALVINGS):
            middle = 0.5 * (inner + outer)
            kept = top - _log_likelihood(rows, middle, reached) <= room
            inner, outer = np.where(kept, middle, inner), np.where(kept, outer, middle)
        ends.append(outer * at)
    return float(ends[0].min()), float(ends[1].max())


def _curves(law: Law, spreads: tuple[float, ...]) -> list[Law]:
    """Return the law at each spread that it can have; itself alone if its shape is known."""
    if not law.is_open:
        return [law]
    grid, log_shapes = _shapes(law)
    inside = [s for s in spreads if grid[0] <= s <= grid[-1]]
    return [law.with_shape(float(v)) for v in np.exp(np.interp(inside, grid, log_shapes))]


@lru_cache(maxsize=64)
def _shapes(law: Law) -> tuple[Floats, Floats]:
    """Return spreads, rising, and the log shapes that have them."""
    if law.free is None:
        raise UnsupportedError(f"{law} has no shape to learn")
    shapes = np.geomspace(law.free.least, law.free.most, 241)
    low, high = (law.with_shape(shapes).quantile(q, np.full(shapes.size, 1e-6)) for q in (0.25, 0.75))
    spreads = np.log(np.maximum(np.log(high / low), 1e-9))
    order = np.argsort(spreads)
    return spreads[order], np.log(shapes)[order]
