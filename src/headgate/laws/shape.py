"""A law's shape: its name, its range, where it is expected, and whether it is still to be learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import ParameterError

Floats: TypeAlias = NDArray[np.float64]

LEARN = "learn"
AUTO, AUTO_WHOLE = "auto", "auto-whole"
"""Words for every law with a shape to learn: of thresholds that are any numbers, or whole ones."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What is to be known of a law's shape before anything is seen; a law declares it as `free`.

    A fit looks for the shape within [least, most] and begins at `start`. A learner takes its logarithm as normal
    around log(start). The defaults suit a shape of which nothing is known.
    """

    name: str = "shape"
    """The law's field."""
    least: float = 0.1
    """Near the ends of its range a law is usually another one: a Lomax of shape 50 is exponential. A law without a
    closed form is tabulated from rate x = e^-40 to e^40; a shape with more than a little mass beyond is refused."""
    most: float = 100.0
    start: float = 1.0
    variance: float = 1.0
    """Of the logarithm."""
    learnable = True
    """Whether the field may be given as "learn"."""

    def value(self, s: Floats, largest: Floats) -> Floats:
        """Return the shape exp(s); `largest` is the largest threshold that was seen."""
        del largest
        return np.exp(s)

    def search(self, trials: Floats) -> tuple[float, float | Floats, float]:
        """Return where a fit begins and its least and largest s, given how often each arm was tried."""
        del trials
        return np.log(self.start), np.log(self.least), np.log(self.most)


@dataclass(frozen=True, slots=True)
class EndPoint(Shape):
    """A threshold that cannot be exceeded: it lies beyond all that were seen, c = largest (1 + e^s).

    The likelihood is not smooth in it, and may be largest just beyond the largest threshold of n: there s ~ -log n.
    So a log can be fitted, but nothing is learned of it round by round.
    """

    learnable = False

    def value(self, s: Floats, largest: Floats) -> Floats:
        """Return largest (1 + e^s)."""
        return np.asarray(largest * (1.0 + np.exp(s)))

    def search(self, trials: Floats) -> tuple[float, float | Floats, float]:
        """Begin at e^-1 beyond the largest threshold; look from 1/n of it beyond to 50 times."""
        return -1.0, -np.log1p(np.maximum(trials, 1.0)), np.log(50.0)


def checked_shape(name: str, value: ArrayLike, *, learnable: bool) -> float | tuple[float, ...] | str:
    """Return a positive shape as one float or a tuple of one per arm, so that laws compare and hash."""
    if learnable and isinstance(value, str) and value == LEARN:
        return LEARN
    array = checks.numbers(name, value, open_least=True)
    if array.ndim > 1 or array.size == 0:
        raise ParameterError(f"{name} must be one number or one per arm, got an array of shape {array.shape}")
    return float(array) if array.ndim == 0 else tuple(array.tolist())
