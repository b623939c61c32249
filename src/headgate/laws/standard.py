"""The standard form of a law: one of a few base curves on a logarithmic, shifted axis.

Every law is G(x, rate) = F0(u) with u = log(rate) + log(phi(x)) + shift, where phi(x) = x, or
-log(1 - x/cap) for a law on [0, cap]. With q(u) the log density of u, the compiled kernels need only
the base's F0, q, q' and q''. The bases:

========  ==============================  ========================================================
GAMMA     S0(u) = Q(a, exp(b u))          exponential, Weibull, gamma, half-normal, Rayleigh, ...
BURR      S0(u) = (1 + exp(b u))^-a       Lomax, log-logistic
NORMAL    S0(u) = Phi(-b u)               log-normal
TABLE     F0 and q tabulated at knots     any other scale law; `a` is its row, `b` its inflection
========  ==============================  ========================================================

A row of a table may be a fraction: then G is the mixture of the two rows around it, which is how a law without a
closed base learns its shape (`headgate.laws.learned`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

TABLE_KNOTS = 16384  # of a tabulated base
TABLE_REACH = 40.0  # they lie within rate * x = exp(-40) and exp(40)

_NO_TABLE = np.zeros((1, 6, 1))


class Base(IntEnum):
    """Which base curve a law is."""

    GAMMA = 0
    BURR = 1
    NORMAL = 2
    TABLE = 3


@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """A law as the kernels see it; the first five broadcast over arms."""

    base: NDArray[np.int64]
    a: NDArray[np.float64]
    b: NDArray[np.float64]
    shift: NDArray[np.float64]
    cap: NDArray[np.float64]
    table: NDArray[np.float64]  # (rows, [u, F0, q, q', log S0, exp u], knots)
    error: NDArray[np.float64]  # how far G may be from the law, by arm or for all: 0 but for a table

    @classmethod
    def of(
        cls,
        base: Base,
        a: float | NDArray[np.float64] = 1.0,
        b: float | NDArray[np.float64] = 1.0,
        shift: float | NDArray[np.float64] = 0.0,
        cap: float | NDArray[np.float64] = np.inf,
    ) -> Self:
        """Fill in what a closed base does not use."""
        a, b, shift, cap = (np.asarray(v, dtype=np.float64) for v in (a, b, shift, cap))
        return cls(np.asarray(base, dtype=np.int64), a, b, shift, cap, _NO_TABLE, np.zeros(()))

    def only(self, arms: NDArray[np.bool_]) -> Self:
        """Return the form of some of the arms, given one number per arm."""
        a, b, shift, cap, error = (v[..., arms] for v in (self.a, self.b, self.shift, self.cap, self.error))
        return type(self)(self.base[arms], a, b, shift, cap, self.table, error)

    @classmethod
    def stack(cls, forms: Sequence[tuple[Standard, slice | NDArray[np.int64]]], arms: int) -> Self:
        """Join forms that hold for different arms, each with the arms that it holds for; one number per arm."""
        base = np.zeros(arms, dtype=np.int64)
        columns = np.zeros((5, arms))
        tables: list[NDArray[np.float64]] = []
        for form, who in forms:
            base[who] = form.base
            for column, values in zip(columns, (form.a, form.b, form.shift, form.cap, form.error), strict=True):
                column[who] = values
            if np.any(form.base == Base.TABLE):
                columns[0, who] += sum(len(table) for table in tables)
                tables.append(form.table)
        a, b, shift, cap, error = columns
        return cls(base, a, b, shift, cap, np.concatenate(tables) if tables else _NO_TABLE, error)
