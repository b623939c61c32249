"""What the oracle returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """The best allocation found, and the proof of how good it is.

    Leading axes are a batch; a single problem has scalars (arrays of no axes).
    """

    x: NDArray[np.float64]
    """How much each arm gets: (..., K), at least `lower`, at most `upper`, the sum at most the budget."""
    value: NDArray[np.float64]
    """The objective at `x`."""
    bound: NDArray[np.float64]
    """No allocation within the budget and the limits is worth more than this (the dual bound)."""
    price: NDArray[np.float64]
    """What a little more budget would be worth: the multiplier nu of the budget at `x`."""
    nodes: NDArray[np.int64]
    """How many nodes branch and bound solved; 1 if the concave hull was exact at once."""

    @property
    def gap(self) -> NDArray[np.float64]:
        """(bound - value) / bound: the share that a better allocation could at most gain."""
        bound = np.where(self.bound > 0.0, self.bound, 1.0)
        return np.maximum(self.bound - self.value, 0.0) / bound
