"""Shapes to be learned, `Weibull(shape="learn")`: the standard form as a function of what is not known.

With s = log shape every form is a = a1 exp(p_a s) + p_r s, b = b1 exp(p_b s) and shift = shift1 + p_s s, where a1, b1
and shift1 are those of shape 1. A law of a closed base has powers p_a, p_b or p_s (a Weibull has b = shape, a
log-normal b = 1/sigma, a Nakagami a = shape and shift = s/2); they are read off the law's own standard form. A law
without one is tabulated for a grid of shapes, and p_r says how many rows of the table a unit of s is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.errors import UnsupportedError
from headgate.laws.base import Law
from headgate.laws.scale import ScaleLaw
from headgate.laws.shape import Floats
from headgate.laws.standard import Base, Standard
from headgate.laws.tabulated import tabulate

_NEAR, _FAR = 1.8, 4.0  # shapes are looked for within a factor of 6 of the start, or 4 prior standard deviations of it
_ROWS = 65  # rows of the table of a law without a closed base


class _Powers(NamedTuple):
    """A law's form at shape 1, and how it depends on the log shape."""

    unit: Standard
    powers: tuple[float, float, float, float]
    """Of a, b, shift and the row of a table."""
    bends: Floats
    """Where the curve of each row of a table bends, (rows,)."""

    def at(self, s: float) -> Standard:
        """Return the form at a log shape."""
        p_a, p_b, p_shift, p_row = self.powers
        a, b, shift = self.unit.a * np.exp(p_a * s) + p_row * s, self.unit.b * np.exp(p_b * s), p_shift * s
        return replace(self.unit, a=a, b=b, shift=self.unit.shift + shift)


@dataclass(frozen=True, slots=True, eq=False)
class OpenForm:
    """The standard form of K arms as a function of one coordinate t per arm, for arms whose shape is to be learned.

    Laws differ in what is expected of their shapes, so log shape = offset + scale t with offset and scale such that t
    has the same prior for every arm, N(mean, variance): that of the log shape of the first such arm, for which t is the
    log shape itself. Arms whose shape is known do not depend on t.
    """

    origin: Standard
    """The form at t = 0, (K,)."""
    powers: Floats
    """Of a, b, shift and row by t, (K, 4)."""
    limits: Floats
    """The least and the largest t, (K, 2)."""
    offset: Floats
    scale: Floats
    """Of the log shape, (K,); NaN and 0 for an arm whose shape is known."""
    mean: float
    variance: float
    bends: Floats
    """Where the curve of each row of the table bends, (rows,)."""

    @property
    def open(self) -> NDArray[np.bool_]:
        """Which arms have a shape to be learned."""
        return np.asarray(self.scale > 0.0)

    def log_shape(self, t: Floats) -> Floats:
        """Return the log shapes; NaN for arms whose shape is known."""
        return np.asarray(self.offset + self.scale * t)

    def at(self, t: Floats) -> Standard:
        """Return the form at t, (..., K), within its limits."""
        t = np.clip(t, self.limits[:, 0], self.limits[:, 1])
        p_a, p_b, p_shift, p_row = self.powers.T
        form = self.origin
        return replace(
            form, a=form.a * np.exp(p_a * t) + p_row * t, b=form.b * np.exp(p_b * t), shift=form.shift + p_shift * t
        )

    def curve_at(self, t: Floats) -> Standard:
        """Return the form at t for the oracle: in a table the nearest row, whose curve is the law's own."""
        form, tabulated = self.at(t), self.powers[:, 3] > 0.0
        if not tabulated.any():
            return form
        row = np.where(tabulated, np.rint(form.a), form.a)
        bends = self.bends[np.where(tabulated, row, 0.0).astype(np.int64)]
        return replace(form, a=row, b=np.where(tabulated, bends, form.b))


def open_form(law: Law, arms: int) -> OpenForm | None:
    """Return the form of K arms as a function of the shapes that are to be learned; None if there is none."""
    first = next((member.free for member, _ in law.members() if member.is_open), None)
    if first is None:
        return None
    mean = float(np.log(first.start))
    powers, limits = np.zeros((arms, 4)), np.zeros((arms, 2))
    offset, scale = np.full(arms, np.nan), np.zeros(arms)
    forms, bends = [], [np.zeros(0)]
    for member, who in law.members():
        if not member.is_open or member.free is None:
            form = member.standard()
            row_bends = np.broadcast_to(form.b, len(form.table))
        else:
            wide = float(np.sqrt(member.free.variance / first.variance))
            start = float(np.log(member.free.start)) - wide * mean
            family = _powers(member)
            form, row_bends = family.at(start), family.bends
            scale[who], offset[who], powers[who] = wide, start, wide * np.array(family.powers)
            limits[who] = (np.array(_range(member)) - start) / wide
        forms.append((form, who))
        bends.append(row_bends if form.base == Base.TABLE else bends[0])
    origin = Standard.stack(forms, arms)
    return OpenForm(origin, powers, limits, offset, scale, mean, first.variance, np.concatenate(bends))


def _range(law: Law) -> tuple[float, float]:
    """The least and the largest log shape that is looked for."""
    shape = law.free
    if shape is None:
        raise UnsupportedError(f"{law} has no shape to learn")
    reach = max(_NEAR, _FAR * shape.variance**0.5)
    middle = np.log(shape.start)
    return float(max(middle - reach, np.log(shape.least))), float(min(middle + reach, np.log(shape.most)))


@lru_cache(maxsize=64)
def _powers(law: Law) -> _Powers:
    """Read the powers off the standard forms at shapes 1 and e, and try them at a third; else tabulate."""
    low, high = _range(law)
    one = law.with_shape(1.0).standard()
    if one.base != Base.TABLE:
        e, third = (law.with_shape(shape).standard() for shape in (np.e, np.exp(high)))
        p_a, p_b = (float(np.round(np.log(y / x), 12)) for x, y in ((one.a, e.a), (one.b, e.b)))
        closed = _Powers(one, (p_a, p_b, float(np.round(e.shift - one.shift, 12)), 0.0), np.zeros(0))
        guess = closed.at(high)
        if np.allclose((guess.a, guess.b, guess.shift), (third.a, third.b, third.shift), rtol=1e-9, atol=1e-12):
            return closed
    rows = law.with_shape(np.exp(np.linspace(low, high, _ROWS)))
    if not isinstance(rows, ScaleLaw):
        raise UnsupportedError(f"the shape of {law} cannot be learned: its standard form is no power of it")
    form, per_unit = tabulate(rows).standard(), (_ROWS - 1) / (high - low)
    unit = replace(form, a=np.asarray(-low * per_unit), b=form.b[0], error=np.asarray(np.max(form.error)))
    return _Powers(unit, (0.0, 0.0, 0.0, per_unit), form.b)
