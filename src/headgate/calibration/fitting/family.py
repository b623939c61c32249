"""A law with its shape left open: how it is parametrised, where the search begins, and where it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate.calibration.fitting.points import Points
from headgate.errors import ParameterError
from headgate.laws import LAWS, Beta, Floats, Law

#: Least, first and largest shape tried. Near an end the law is another one: a Lomax of shape 50 is exponential.
_SHAPES: dict[str, tuple[float, float, float]] = {
    "weibull": (0.05, 1.2, 20.0),
    "gamma": (0.02, 1.3, 100.0),
    "nakagami": (0.02, 0.6, 50.0),
    "lomax": (0.05, 2.0, 50.0),
    "log-logistic": (0.1, 1.5, 50.0),
    "log-normal": (0.02, 0.8, 10.0),
    "discrete-weibull": (0.05, 1.0, 20.0),
}
_LOGIT = 12.0  # activations within 6e-6 of 0 and 1 are not told apart from these


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """theta = (log rate, [log shape], [logit activation]), (A, d), for A arms at once.

    The shape of a beta law is where it ends, which is beyond every threshold seen: c = largest (1 + e^s).
    """

    name: str
    largest: Floats
    lower: Floats
    """Of theta, (A, d)."""
    upper: Floats
    shaped: bool
    cure: bool

    @classmethod
    def of(cls, name: str, points: Points) -> Self:
        """Open the law of that name for these arms."""
        arms = points.arms
        largest = np.max(np.where(points.seen_weight > 0.0, points.seen, 0.0), axis=0, initial=0.0)
        largest = np.where(largest > 0.0, largest, 1.0)
        columns = [(-np.log(largest) - 60.0, -np.log(largest) + 60.0)]
        if name == Beta.name:
            columns[0] = (np.full(arms, -20.0), np.full(arms, 20.0))
            columns.append((-np.log1p(np.maximum(points.trials, 1.0)), np.full(arms, np.log(50.0))))
        elif name in _SHAPES:
            least, _, most = _SHAPES[name]
            columns.append((np.full(arms, np.log(least)), np.full(arms, np.log(most))))
        shaped = len(columns) == 2
        if points.cure:
            columns.append((np.full(arms, -_LOGIT), np.full(arms, _LOGIT)))
        low, high = (np.stack([column[side] for column in columns], axis=-1) for side in (0, 1))
        return cls(name, largest, low, high, shaped, points.cure)

    def only(self, arms: Sequence[int] | NDArray[np.int64]) -> Self:
        """Return the same for some of the arms."""
        return replace(self, largest=self.largest[arms], lower=self.lower[arms], upper=self.upper[arms])

    def law(self, theta: Floats) -> Law:
        """Return the law with the shapes of theta, one per arm."""
        if not self.shaped:
            return LAWS[self.name]()
        shape = np.exp(theta[..., 1])
        if self.name == Beta.name:
            shape = self.largest * (1.0 + shape)
        (key,) = LAWS[self.name]().shapes()
        return LAWS[self.name](**{key: tuple(shape.tolist())})

    def shape(self, theta: Floats) -> Floats | None:
        """Return the shape itself, or None for a law without."""
        if not self.shaped:
            return None
        shape = np.exp(theta[..., 1])
        return np.asarray(self.largest * (1.0 + shape) if self.name == Beta.name else shape)

    def start(self, points: Points, activation: float | None = None) -> Floats:
        """Begin at the law's usual shape, with its median where that of the thresholds is.

        For a cure model: as if no failure was cut off too early or, given an activation, as if that were true: then the
        median lies so far out that only the share seen is reached.
        """
        share = np.clip(points.successes / np.maximum(points.trials, 1.0), 0.01, 0.98)
        level = np.full(points.arms, 0.5)
        if activation is not None:
            level = 0.5 * np.minimum(share / activation, 1.0)
        theta = np.zeros((points.arms, self.lower.shape[1]))
        if self.shaped:
            theta[:, 1] = np.log(_SHAPES[self.name][1]) if self.name in _SHAPES else -1.0
        law, median = self.law(theta), _median(points)
        if self.name == Beta.name:
            ends = np.asarray(self.shape(theta))
            theta[:, 0] = np.log(np.log1p(-level) / np.log1p(-np.minimum(median / ends, 1.0 - 1e-9)))
        else:
            with np.errstate(divide="ignore"):
                theta[:, 0] = np.log(-np.log1p(-level)) if law.integer else np.log(law.quantile(level, 1.0))
            theta[:, 0] -= np.log(median)
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

    A density and a probability are not comparable, so the two are never mixed; a law from scipy has no open shape.
    """
    return tuple(name for name, law in LAWS.items() if law.integer == whole and name != "scipy")


def checked(names: tuple[str, ...], *, whole: bool) -> tuple[str, ...]:
    """Return the names if each is a law that these thresholds may follow."""
    known = candidates(whole=whole)
    for name in names:
        if name not in known:
            kind = "whole numbers" if whole else "not whole numbers"
            raise ParameterError(f"the thresholds are {kind}: law must be one of {', '.join(known)}, got {name!r}")
    return names


def _median(points: Points) -> Floats:
    """Where half of the weight of each column is reached."""
    seen = np.broadcast_to(points.seen, points.seen_weight.shape)
    if not seen.shape[0]:
        return np.ones(points.arms)
    upto = np.cumsum(points.seen_weight, axis=0)
    place = np.argmax(upto >= 0.5 * upto[-1], axis=0)
    return np.asarray(np.maximum(seen[place, np.arange(points.arms)], 1e-300))
