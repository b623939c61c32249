"""The table of a scale law that has no closed standard form: knots on the axis u = log(rate x), placed by need.

At each knot stand F0, the log density q of u, its slope q', and the log survival. Between knots the kernels use cubic
Hermite pieces. Knots are added where such a piece misses the law, so that the ends of the support, kinks and poles of
the density end up between knots 1e-12 apart; `Table.error` bounds what is left, and the oracle adds it to its bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from headgate.errors import UnsupportedError
from headgate.laws.standard import TABLE_KNOTS, TABLE_REACH, Base, Standard

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate.laws.scale import ScaleLaw

    Floats = NDArray[np.float64]

_LOWEST = -1e4  # stands for log 0: far below any price, yet finite, so that interpolation stays finite
_FIRST = 1025  # knots before the first refinement: 13 to an e-fold where the support is (0, infinity)
_FINE = 2e-14  # a piece that misses F0 by less than this is not split
_DIGITS = 4e-15  # how far u may be off
_NARROWEST = 1e-12  # a piece of this width or less is not split
_MOST_ERROR = 0.05  # a law whose table may be off by more than this is refused
_WOBBLE = 1e-7  # a log density may rise so much after its peak: rounding of the library that computes it


@dataclass(frozen=True, eq=False)
class Table:
    """One row for each shape: values (rows, [u, F0, q, q', log S0, exp u], knots) and the largest error of F0.

    `peaks` are where the density is largest (0: at the origin), its height, and the largest z * density.
    """

    values: Floats
    error: Floats
    peaks: tuple[Floats, Floats, Floats]
    per_arm: bool

    def standard(self) -> Standard:
        """Return the standard form; `a` numbers the rows, `b` is u where the curve bends."""
        rows = np.arange(len(self.values), dtype=np.float64)
        with np.errstate(divide="ignore"):
            bend = np.log(self.peaks[0])
        form = Standard.of(Base.TABLE, rows if self.per_arm else 0.0, bend)
        return Standard(form.base, form.a, form.b, form.shift, form.cap, self.values, self.error)


class _Curve:
    """One shape of a law on the axis u, and its Hermite pieces between the knots so far."""

    def __init__(self, law: ScaleLaw) -> None:
        self.law = law
        low, high = law.support0()
        self.low = max(np.log(low), -TABLE_REACH) if low > 0.0 else -TABLE_REACH
        self.high = min(np.log(high), TABLE_REACH)
        # The support in u, its ends where the law really begins and ends; a wider law goes on beyond the knots.
        self.ends = np.exp([self.low, self.high])
        self.ends = np.where([self.low > -TABLE_REACH, self.high < TABLE_REACH], [low, high], self.ends)

    def _z(self, u: Floats) -> Floats:
        return np.clip(np.exp(u), *self.ends)

    def cdf(self, u: Floats) -> Floats:
        """F0(u); the law must know it everywhere."""
        with np.errstate(all="ignore"):
            values = np.asarray(self.law.cdf0(self._z(u)), dtype=np.float64)
        if not np.all((values >= 0.0) & (values <= 1.0 + 1e-12)):
            raise UnsupportedError(f"the distribution function of {self.law} leaves [0, 1] or is not a number")
        return np.minimum(values, 1.0)

    def q(self, u: Floats) -> Floats:
        """The log density of u, infinities replaced."""
        with np.errstate(all="ignore"):
            density = np.asarray(self.law.log_pdf0(self._z(u)), dtype=np.float64)
        return np.clip(np.nan_to_num(density + u, nan=_LOWEST, neginf=_LOWEST, posinf=-_LOWEST), _LOWEST, -_LOWEST)

    def bend(self, u: Floats, reach: Floats) -> Floats:
        """q'(u), by differences over at most `reach`; 0 into an end where the density is 0 or infinite."""
        step = np.minimum(1e-5, 0.5 * reach)
        left, right = np.maximum(u - step, self.low), np.minimum(u + step, self.high)
        slope = (self.q(right) - self.q(left)) / (right - left)
        return np.where(np.abs(slope) < 1e6, slope, 0.0)

    def knots(self) -> tuple[Floats, float]:
        """Return u, F0, q and q' at the knots, as rows, and how far the pieces between them may be off."""
        u = np.linspace(self.low, self.high, _FIRST)
        F0, q, bend = self.cdf(u), self.q(u), self.bend(u, np.diff(u, append=np.inf))
        new = np.ones(u.size - 1, dtype=bool)  # pieces that have not been looked at
        misses = np.zeros(u.size - 1)
        while True:
            q = self._bounded(u, q, F0)
            misses[new] = self._miss(u, F0, q, bend, np.flatnonzero(new))
            splits = (misses > _FINE) & (np.diff(u) > _NARROWEST)
            room = TABLE_KNOTS - u.size
            if room == 0:
                break
            chosen = np.flatnonzero(splits)
            if chosen.size == 0:  # the kernels' tables are all of one size: split the widest pieces
                chosen = np.sort(np.argsort(-np.diff(u), kind="stable")[: min(room, u.size - 1)])
            elif chosen.size > room:
                chosen = np.sort(chosen[np.argsort(-misses[chosen], kind="stable")[:room]])
            middle, width = 0.5 * (u[chosen] + u[chosen + 1]), np.diff(u)[chosen]
            u = np.insert(u, chosen + 1, middle)
            F0 = np.insert(F0, chosen + 1, self.cdf(middle))
            q = np.insert(q, chosen + 1, self.q(middle))
            bend = np.insert(bend, chosen + 1, self.bend(middle, 0.5 * width))
            place = chosen + np.arange(chosen.size)  # the left half of each split piece
            misses, new = np.insert(misses, chosen + 1, 0.0), np.zeros(u.size - 1, dtype=bool)
            new[place] = new[place + 1] = True
        if np.any(np.diff(F0) < -1e-12):
            raise UnsupportedError(f"the distribution function of {self.law} falls")
        F0 = np.maximum.accumulate(F0)
        # Beyond the knots: below them the power law goes on, above them all is taken as reached.
        error = max(2.0 * float(misses.max()), F0[0], 1.0 - F0[-1])
        if error > _MOST_ERROR:
            raise UnsupportedError(
                f"{self.law} cannot be tabulated: its distribution function is known to {error:.2g} only"
            )
        return np.stack([u, F0, q, bend]), error

    def _miss(self, u: Floats, F0: Floats, q: Floats, bend: Floats, pieces: NDArray[np.int64]) -> Floats:
        """How far the cubics of these pieces are from F0, and their density from the law's over the piece's width."""
        width, rise, climb = (np.diff(values)[pieces] for values in (u, F0, q))
        with np.errstate(over="ignore"):  # next to a pole, before `_bounded` knows a slope there
            left, right = (width * np.exp(np.minimum(q[pieces + side], 700.0)) for side in (0, 1))
        turn, end = (width * bend[pieces + side] for side in (0, 1))
        worst = np.zeros(pieces.size)
        for t in (0.25, 0.5, 0.75):
            at = u[pieces] + t * width
            cubic = F0[pieces] + t * (left + t * (3.0 * rise - 2.0 * left - right + t * (left + right - 2.0 * rise)))
            log_density = q[pieces] + t * (turn + t * (3.0 * climb - 2.0 * turn - end + t * (turn + end - 2.0 * climb)))
            worst = np.maximum(worst, np.abs(cubic - self.cdf(at)))
            with np.errstate(over="ignore"):
                worst = np.maximum(worst, width * np.abs(np.exp(np.minimum(log_density, 700.0)) - np.exp(self.q(at))))
        return np.minimum(worst, np.maximum(rise, _FINE))  # both lie between the values at its ends, if the law rises

    @staticmethod
    def _bounded(u: Floats, q: Floats, F0: Floats) -> Floats:
        """Replace an infinite density, which only the ends of a support have, by the slope next to it."""
        for here, there in ((0, 1), (-1, -2)):
            if q[here] >= -_LOWEST:
                q = q.copy()
                slope = abs((F0[there] - F0[here]) / (u[there] - u[here]))
                q[here] = np.log(max(slope, 1e-300))
        return q


@lru_cache(maxsize=64)
def tabulate(law: ScaleLaw) -> Table:
    """Evaluate `law` at knots of its own, once."""
    per_arm = law.arm_axis() != ()
    laws: list[Any] = [law.of_arm(arm) for arm in range(law.arm_axis()[0])] if per_arm else [law]
    rows, errors, peaks = zip(*(_tabulate(one) for one in laws), strict=True)
    columns = [np.array(column) for column in zip(*peaks, strict=True)]
    where, height, top = columns if per_arm else (column[0] for column in columns)
    return Table(np.stack(rows), np.array(errors), (where, height, top), per_arm)


def _tabulate(law: ScaleLaw) -> tuple[Floats, float, tuple[float, float, float]]:
    curve = _Curve(law)
    (u, F0, q, slope), error = curve.knots()
    _check_single_peak(law, q - u, np.diff(F0))
    survival = _log_survival(u, F0, q, slope)
    height, at = _maximum(lambda v: curve.q(v) - v, q - u, u)
    top, _ = _maximum(curve.q, q, u)
    # u itself has a last digit too; at a pole, which only an end of the support has, the density does not bound that.
    digits = float(np.max(curve.cdf(u + _DIGITS) - curve.cdf(u - _DIGITS)))
    error = max(error, min(_DIGITS * (1.0 + float(np.exp(min(top, 700.0)))), _DIGITS + digits))
    # No higher than at the origin: the peak is there, and of infinite height if still rising towards it.
    falls = bool(curve.low <= -TABLE_REACH and q[0] - u[0] >= height - 1e-9)
    diverges = falls and bool(q[0] - u[0] > curve.q(u[:1] + 1.0)[0] - (u[0] + 1.0) + 1e-6)
    with np.errstate(over="ignore"):
        peaks = 0.0 if falls else float(np.exp(at)), np.inf if diverges else float(np.exp(height)), float(np.exp(top))
    return np.stack([u, F0, q, slope, survival, np.exp(u)]), error, peaks


def _log_survival(u: Floats, F0: Floats, q: Floats, slope: Floats) -> Floats:
    """log(1 - F0) at the knots; where that has lost its digits, the mass of the pieces beyond, by Simpson's rule."""
    width = np.diff(u)
    middle = 0.5 * (q[1:] + q[:-1]) + width * (slope[:-1] - slope[1:]) / 8.0
    mass = width * (np.exp(q[:-1]) + 4.0 * np.exp(np.minimum(middle, 700.0)) + np.exp(q[1:])) / 6.0
    beyond = np.append(np.cumsum(mass[::-1])[::-1], 0.0) + (1.0 - F0[-1])
    with np.errstate(divide="ignore"):
        survival = np.where(1.0 - F0 > 1e-9, np.log1p(-F0), np.log(beyond))
    return np.minimum.accumulate(np.clip(survival, _LOWEST, 0.0))


def _maximum(f: object, values: Floats, u: Floats) -> tuple[float, float]:
    """Return the largest f and where it is: by golden section between the neighbours of the largest knot."""
    top = int(np.argmax(values))
    best, at = float(values[top]), float(u[top])
    low, high = float(u[max(top - 1, 0)]), float(u[min(top + 1, len(u) - 1)])
    golden = 0.5 * (np.sqrt(5.0) - 1.0)
    for _ in range(48):
        points = np.array([high - golden * (high - low), low + golden * (high - low)])
        left, right = f(points)  # type: ignore[operator]
        inner = int(left <= right)
        if max(left, right) > best:
            best, at = float(max(left, right)), float(points[inner])
        low, high = (points[0], high) if inner else (low, points[1])
    return best, at


def _check_single_peak(law: ScaleLaw, log_density: Floats, mass: Floats) -> None:
    """The oracle needs curves that are convex and then concave: a density with one peak.

    A log density that falls short of its running maximum on the way up, or rises above its running minimum on the
    way down, by more than rounding explains, is refused.
    """
    positive = log_density > -600.0
    inner = np.flatnonzero(positive)
    if inner.size < 3 or not np.any(mass > 0.0):
        raise UnsupportedError(f"{law} has no density that can be tabulated")
    density = log_density[inner[0] : inner[-1] + 1]
    top = int(np.argmax(density))
    rise = np.max(np.maximum.accumulate(density[: top + 1]) - density[: top + 1])
    fall = np.max(density[top:] - np.minimum.accumulate(density[top:]))
    if max(rise, fall) > _WOBBLE:
        raise UnsupportedError(f"the density of {law} has more than one peak; Headgate needs at most one")
