"""What the oracle returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

REWARDS = ("sum", "cascade")
"""What a round pays: the number of successes, or 1 if there is at least one."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
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
    budget: NDArray[np.float64]
    """What there was to split: one number, or one per batch row."""
    reward: str = "sum"
    """What `value` is: "sum", the expected successes; "cascade", the chance of at least one if arms are independent."""

    @property
    def gap(self) -> NDArray[np.float64]:
        """(bound - value) / bound: the share that a better allocation could at most gain."""
        bound = np.where(self.bound > 0.0, self.bound, 1.0)
        return np.maximum(self.bound - self.value, 0.0) / bound

    def __repr__(self) -> str:
        what = ", arms independent" if self.reward == "cascade" else ""
        if self.value.ndim > 0:
            return f"Allocation(batch={self.value.shape}, arms={self.x.shape[-1]}, gap<={np.max(self.gap):.1e}{what})"
        shown = ", ".join(f"{amount:.6g}" for amount in self.x[:6]) + (", ..." if self.x.size > 6 else "")
        return f"Allocation(value={self.value:.6g}, gap={self.gap:.1e}, price={self.price:.4g}, x=[{shown}]{what})"
