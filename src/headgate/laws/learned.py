"""Shapes to be learned: `Weibull(shape="learn")` and the like."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headgate.errors import UnsupportedError

if TYPE_CHECKING:
    from headgate.laws.base import Floats, Law

LEARN = "learn"


class Slot(IntEnum):
    """What the shape is in the standard form."""

    NONE = -1
    A = 0
    B = 1
    INVERSE_B = 2


class ShapePrior(NamedTuple):
    """Where a shape is expected before anything is seen: a normal law for its logarithm."""

    slot: Slot
    mean: float
    variance: float


def is_learned(value: ArrayLike) -> bool:
    """Whether a shape was given as "learn"."""
    return isinstance(value, str) and value == LEARN


def known(law: Law, value: ArrayLike) -> Floats:
    """Return a shape as an array, or say that it is still to be learned."""
    if is_learned(value):
        raise UnsupportedError(
            f"{law} does not know its shape: give a number, or let Thompson or an estimator learn it"
        )
    return np.asarray(value, dtype=np.float64)
