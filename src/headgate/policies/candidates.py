"""The laws that a posterior weighs, as its kernel wants them: standard forms, and maps from spread to shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate.kernels.columns import (
    CANDIDATE,
    CAP,
    COORDINATE,
    LOG_MEDIAN,
    MAP,
    MEDIAN,
    POWER_A,
    POWER_B,
    POWER_ROW,
    POWER_SHIFT,
    SHIFT,
    SPAN,
    SPREAD,
    WHOLE,
    A,
    B,
)  # fmt: skip
from headgate.laws import Floats, Law
from headgate.laws.learned import OpenForm, open_form
from headgate.laws.standard import Base, Standard
from headgate.oracle import standard_form

_GRID = 129  # points of a map
_FINE = 1025  # shapes from which a map is interpolated


@dataclass(frozen=True, eq=False)
class Candidates:
    """M laws for K arms."""

    columns: Floats
    """(M, K, 13), see `headgate.kernels.columns`."""
    maps: Floats
    """(rows, 3, 129): at evenly spaced s the shape's coordinate and log median; the first s and the step."""
    base: NDArray[np.int64]
    """(M, K)."""
    table: Floats
    bends: Floats
    """Where the curve of each row of the table bends."""
    form: Standard
    """Of the first law, at some shape."""

    @cached_property
    def known(self) -> bool:
        """Whether there is one law and its shape is known."""
        return len(self.columns) == 1 and bool(np.all(self.columns[0, :, MAP] < 0.0))

    def repeated(self, arms: int) -> Candidates:
        """Return the laws of the first arm for so many arms."""
        columns = np.broadcast_to(self.columns[:, :1], (len(self.columns), arms, CANDIDATE))
        return replace(self, columns=columns, base=np.broadcast_to(self.base[:, :1], columns.shape[:2]))

    def rates(self, log_median: Floats) -> Floats:
        """Return the rates at these log medians, (..., K), where there is one law whose shape is known."""
        return np.asarray(np.exp(self.columns[0, :, MEDIAN] - log_median))

    def chances(self, law: int, x: Floats, predictors: Floats) -> Floats:
        """Return p G(x) of curves under one law at predictors (..., K, C): log median, logit p, spread; (..., K, n)."""
        from headgate.kernels.regression import NUMBERS, REACHED, VALUE, row_likelihood  # noqa: PLC0415  # as needed

        theta = np.zeros((*predictors.shape[:-1], 1, 3))
        theta[..., 0, : predictors.shape[-1]] = predictors
        columns = self.columns[law, :, None]
        with np.errstate(all="ignore"):  # no amount has no chance, and no slope
            likelihood = row_likelihood(
                columns, self.maps, self.table, np.int64(REACHED), np.maximum(x, 1e-300), theta, np.empty(NUMBERS)
            )
        return np.where(x > 0.0, np.exp(likelihood[..., VALUE]), 0.0)

    def at(self, law: NDArray[np.int64], log_median: Floats, s: Floats) -> tuple[Standard, Floats]:
        """Return form and rate of curves with this log median and spread s, each (..., K); a known shape fixes s."""
        row = self.columns[law, np.arange(self.base.shape[1])]
        coordinate, median = self._mapped(row, s)
        a = row[..., A] * np.exp(row[..., POWER_A] * coordinate) + row[..., POWER_ROW] * coordinate
        b = row[..., B] * np.exp(row[..., POWER_B] * coordinate)
        return self.drawn(law, a, b, row[..., SHIFT] + row[..., POWER_SHIFT] * coordinate), np.exp(median - log_median)

    def coordinate(self, law: NDArray[np.int64], s: Floats) -> Floats:
        """Return the shape's coordinate (`headgate.laws.learned`) of curves with spread s, each (..., K)."""
        return self._mapped(self.columns[law, np.arange(self.base.shape[1])], s)[0]

    def _mapped(self, row: Floats, s: Floats) -> tuple[Floats, Floats]:
        """The shape's coordinate and the log median at rate 1, by the maps."""
        maps = self.maps[np.maximum(row[..., MAP], 0.0).astype(np.int64)]
        last = maps.shape[-1] - 1
        with np.errstate(all="ignore"):  # where there is no map the step is 0
            place = np.nan_to_num((s - maps[..., SPAN, 0]) / maps[..., SPAN, 1], posinf=0.0)
        place = np.clip(place, 0.0, last)
        cell = np.minimum(place.astype(np.int64), last - 1)[..., None]
        share = place - cell[..., 0]
        coordinate, median = (
            (1.0 - share) * np.take_along_axis(maps[..., c, :], cell, axis=-1)[..., 0]
            + share * np.take_along_axis(maps[..., c, :], cell + 1, axis=-1)[..., 0]
            for c in (COORDINATE, LOG_MEDIAN)
        )
        known = row[..., MAP] < 0.0
        return np.where(known, 0.0, coordinate), np.where(known, row[..., MEDIAN], median)

    def drawn(self, law: NDArray[np.int64], a: Floats, b: Floats, shift: Floats) -> Standard:
        """Return the standard form of a draw, each (..., K); of a table the nearest row, whose curve is the law's."""
        arms = np.arange(self.base.shape[1])
        base = self.base[law, arms]
        if len(self.bends):
            tabulated = (base == Base.TABLE) & (self.columns[law, arms, POWER_ROW] > 0.0)
            a = np.where(tabulated, np.rint(a), a)
            b = np.where(tabulated, self.bends[np.where(tabulated, a, 0.0).astype(np.int64)], b)
        form = self.form
        return Standard(base, a, b, shift, self.columns[law, arms, CAP], self.table, form.error)


def candidates(laws: Sequence[Law], arms: int) -> Candidates:
    """Prepare laws, each of which may be one law per arm, for K arms."""
    columns = np.zeros((len(laws), arms, CANDIDATE))
    maps: list[Floats] = []
    tables: list[Floats] = []
    bends: list[Floats] = []
    forms: list[Standard] = []
    for m, law in enumerate(laws):
        opened = open_form(law, arms)
        form = standard_form(law, arms) if opened is None else opened.origin
        rows = sum(len(table) for table in tables)
        offset = np.where(form.base == Base.TABLE, rows, 0.0)
        if np.any(form.base == Base.TABLE):
            tables.append(form.table)
            bends.append(np.zeros(len(form.table)) if opened is None else opened.bends)
        for column, values in enumerate((form.base, form.a + offset, form.b, form.shift, form.cap)):
            columns[m, :, column] = values
        columns[m, :, MAP], columns[m, :, WHOLE] = -1.0, law.whole_arms(arms)
        columns[m, :, MEDIAN] = _log_quantile(form, 0.5)
        with np.errstate(invalid="ignore"):
            spread = _log_quantile(form, 0.75) - _log_quantile(form, 0.25)
        columns[m, :, SPREAD] = np.where(np.isfinite(spread), spread, 0.0)  # a law without quartiles is never calmed
        if opened is not None:
            columns[m, :, POWER_A : POWER_ROW + 1] = opened.powers
            for member, who in law.members():
                if member.is_open:
                    columns[m, who, MAP] = len(maps)
                    first = int(np.arange(arms)[who][0])
                    maps.append(_map(member, opened, first))
        forms.append(form)
    return Candidates(
        columns,
        np.array(maps) if maps else np.zeros((1, 3, 2)),
        columns[..., 0].astype(np.int64),
        np.concatenate(tables) if tables else forms[0].table,
        np.concatenate(bends) if tables else np.zeros(0),
        forms[0],
    )


def _log_quantile(form: Standard, q: float) -> Floats:
    """Log of phi at the q-quantile at rate 1, by arm; rows of a table by interpolation of F0."""
    with np.errstate(all="ignore"):
        u = np.select(
            [form.base == Base.GAMMA, form.base == Base.BURR, form.base == Base.NORMAL],
            [
                np.log(special.gammaincinv(form.a, q)) / form.b,
                np.log(np.expm1(-np.log1p(-q) / form.a)) / form.b,
                special.ndtri(q) / form.b,
            ],
            np.nan,
        )
    u = np.array(np.broadcast_to(u, np.broadcast_shapes(u.shape, np.shape(form.shift))))
    place = np.broadcast_to(form.a, u.shape)

    @cache
    def rows(row: int) -> tuple[Floats, Floats, Floats]:
        """All knots u of a row and of the next, and F0 of both there."""
        first, last = form.table[row], form.table[min(row + 1, len(form.table) - 1)]
        knots = np.union1d(first[0], last[0])
        return knots, np.interp(knots, first[0], first[1]), np.interp(knots, last[0], last[1])

    for i in zip(*np.nonzero(np.broadcast_to(form.base, u.shape) == Base.TABLE), strict=True):
        row, share = divmod(float(place[i]), 1.0)
        knots, first, last = rows(int(row))
        u[i] = np.interp(q, (1.0 - share) * first + share * last, knots)  # a fraction is the mixture of two rows
    return np.asarray(u - form.shift)


def _map(law: Law, opened: OpenForm, arm: int) -> Floats:
    """Tabulate the shape's coordinate and the log median by s = log log(q75 / q25)."""
    low, high = opened.limits[arm]
    if opened.powers[arm, 3] == 0.0 and law.free is not None:  # a closed form holds over the whole range
        low, high = ((np.log(v) - opened.offset[arm]) / opened.scale[arm] for v in (law.free.least, law.free.most))
    at = np.linspace(low, high, _FINE)
    p_a, p_b, p_shift, p_row = opened.powers[arm]
    one = opened.origin
    form = Standard.of(
        Base(int(one.base[arm])), one.a[arm] * np.exp(p_a * at) + p_row * at, one.b[arm] * np.exp(p_b * at),
        one.shift[arm] + p_shift * at,
    )  # fmt: skip
    form = Standard(np.full(_FINE, one.base[arm]), form.a, form.b, form.shift, form.cap, one.table, form.error)
    first, median, third = (_log_quantile(form, q) for q in (0.25, 0.5, 0.75))
    s = np.log(np.maximum(third - first, 1e-12))
    order = np.argsort(s)
    grid = np.linspace(s.min(), s.max(), _GRID)
    result = np.zeros((3, _GRID))
    result[0], result[1] = np.interp(grid, s[order], at[order]), np.interp(grid, s[order], median[order])
    result[2, :2] = grid[0], grid[1] - grid[0]
    return result
