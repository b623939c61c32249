"""What an estimator returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.laws import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Activation and rate of each arm, (..., K), with intervals (..., K, 2), and what the evidence tells apart.

    Small allocations show only how often an arm succeeds per unit, the product of activation and rate; failures
    without success show not even that. The numbers given are then mostly the prior's: of "only activation * rate" the
    product can be used, of "not yet" nothing.
    """

    activation: Floats
    rate: Floats
    activation_interval: Floats
    """Lower and upper end, in the last axis."""
    rate_interval: Floats
    identified: NDArray[np.bool_]
    """The evidence tells activation and rate apart."""
    product_identified: NDArray[np.bool_]
    """The evidence tells at least activation * rate (the law's slope at 0, up to its shape)."""
    shape: Floats | None = None
    """Each arm's shape, for a law whose shape is learned."""
    shape_interval: Floats | None = None

    def describe(self) -> list[str]:
        """Say of each arm what is known: "known", "only activation * rate" or "not yet"; a batch row after row."""
        known = np.where(self.product_identified, "only activation * rate", "not yet")
        return [str(word) for word in np.where(self.identified, "known", known).ravel()]
