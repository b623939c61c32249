"""A law with its shape left open, for a fit: how it is parametrised, where the search begins, and where it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate.calibration.fitting.points import Points
from headgate.errors import ParameterError
from headgate.laws import LAWS, Floats, Law

_RATE = 60.0  # log rates are looked for so far around that of a law with its median at the largest threshold
_LOGIT = 12.0  # activations within 6e-6 of 0 and 1 are not told apart from these


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """theta = (log rate, [s], [logit activation]), (A, d), for A arms at once; the law says what shape s stands for."""

    kind: type[Law]
    largest: Floats
    """The largest threshold of each arm."""
    lower: Floats
    """Of theta, (A, d)."""
    upper: Floats
    begin: float
    """Where the search for s begins."""
    cure: bool

    @classmethod
    def of(cls, name: str, points: Points) -> Self:
        """Open the law of that name for these arms."""
        kind = LAWS.find(name)
        largest = np.max(np.where(points.threshold_weight > 0.0, points.thresholds, 0.0), axis=0, initial=0.0)
        largest = np.where(largest > 0.0, largest, 1.0)
        begin, *ends = (0.0, 0.0, 0.0) if kind.free is None else kind.free.search(points.trials)
        columns = [(0.0, 0.0)] if kind.free is None else [(0.0, 0.0), tuple(ends)]
        columns += [(-_LOGIT, _LOGIT)] if points.cure else []
        low, high = (
            np.stack([np.broadcast_to(column[side], points.arms) for column in columns], axis=-1) for side in (0, 1)
        )
        family = cls(kind, largest, low.copy(), high.copy(), begin, points.cure)
        middle = np.log(family.law(family._beginning()).rate_of_quantile(largest, 0.5))
        family.lower[:, 0], family.upper[:, 0] = middle - _RATE, middle + _RATE
        return family

    @property
    def name(self) -> str:
        """The law's name."""
        return self.kind.name

    @property
    def shaped(self) -> bool:
        """Whether the law has a shape."""
        return self.kind.free is not None

    def _beginning(self) -> Floats:
        theta = np.zeros_like(self.lower)
        if self.shaped:
            theta[:, 1] = np.clip(self.begin, self.lower[:, 1], self.upper[:, 1])
        return theta

    def only(self, arms: Sequence[int] | NDArray[np.int64]) -> Self:
        """Return the same for some of the arms."""
        return replace(self, largest=self.largest[arms], lower=self.lower[arms], upper=self.upper[arms])

    def law(self, theta: Floats) -> Law:
        """Return the law with the shapes of theta, one per arm."""
        shape = self.shape(theta)
        if self.kind.free is None or shape is None:
            return self.kind()
        return self.kind(**{self.kind.free.name: tuple(shape.tolist())})

    def shape(self, theta: Floats) -> Floats | None:
        """Return the shape itself, or None for a law without."""
        return None if self.kind.free is None else self.kind.free.value(theta[..., 1], self.largest)

    def start(self, points: Points, activation: float | None = None) -> Floats:
        """Begin at the law's usual shape, with its median where that of the thresholds is.

        For a cure model: as if no failure was cut off too early or, given an activation, as if that were true: then the
        median lies so far out that only the share seen is reached.
        """
        share = np.clip(points.successes / np.maximum(points.trials, 1.0), 0.01, 0.98)
        level = np.full(points.arms, 0.5)
        if activation is not None:
            level = 0.5 * np.minimum(share / activation, 1.0)
        theta = self._beginning()
        theta[:, 0] = np.log(self.law(theta).rate_of_quantile(_median(points), level))
        if self.cure:
            theta[:, -1] = special.logit(share if activation is None else activation)
        return np.clip(theta, self.lower, self.upper)

    def at_boundary(self, theta: Floats) -> NDArray[np.bool_]:
        """Whether the shape stopped at an end of its range, by arm."""
        if not self.shaped:
            return np.zeros(theta.shape[:-1], dtype=np.bool_)
        s, low, high = theta[..., 1], self.lower[..., 1], self.upper[..., 1]
        return np.asarray((s <= low + 1e-3) | (s >= high - 1e-3))


def candidates(*, whole: bool) -> tuple[str, ...]:
    """Return the laws that are compared: those of whole numbers if the thresholds are, else the continuous ones.

    A density and a probability are not comparable, so the two are never mixed. A law that takes parameters but does
    not say how to fit them (`Law.free`), as one from scipy, is not compared.
    """
    return tuple(
        name for name, law in LAWS.items() if law.integer == whole and (law.free is not None or not law.shape_names())
    )


def checked(names: tuple[str, ...], *, whole: bool) -> tuple[str, ...]:
    """Return the names if each is a law that these thresholds may follow."""
    choices = candidates(whole=whole)
    for name in names:
        if name not in choices:
            law = LAWS.find(name)
            if law.integer == whole:
                unknown = ", ".join(law.shape_names())
                raise ParameterError(f"law {name!r} cannot be fitted: it must say how to choose {unknown} (Law.free)")
            kind = "whole numbers" if whole else "not whole numbers"
            raise ParameterError(f"the thresholds are {kind}: law must be one of {', '.join(choices)}, got {name!r}")
    return names


def _median(points: Points) -> Floats:
    """Where half of the weight of each column is reached."""
    thresholds = np.broadcast_to(points.thresholds, points.threshold_weight.shape)
    if not thresholds.shape[0]:
        return np.ones(points.arms)
    upto = np.cumsum(points.threshold_weight, axis=0)
    place = np.argmax(upto >= 0.5 * upto[-1], axis=0)
    return np.asarray(np.maximum(thresholds[place, np.arange(points.arms)], 1e-300))
