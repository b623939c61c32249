"""What an estimator returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import UnsupportedError
from headgate.estimators.success import Success, success
from headgate.evidence import Evidence
from headgate.laws import Floats, Law


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
    law: dict[str, Floats] = field(default_factory=dict)
    """How probable each candidate law is for an arm, (...,), where the law is learned."""
    source: tuple[Law, Evidence, float] | None = None
    """Law, evidence and level that `success` needs."""

    def success(self, x: ArrayLike) -> Success:
        """Return the chance that each arm succeeds with x, one number or (..., K), with a likelihood-ratio interval.

        Its coverage is near the level on ridges too, where intervals of activation and rate say little.
        """
        if self.source is None:
            raise UnsupportedError("this estimate was made without evidence: it knows no chance of success")
        law, evidence, level = self.source
        return success(law, evidence, checks.numbers("x", x), level)

    def describe(self) -> list[str]:
        """Say of each arm what is known: "known", "only activation * rate" or "not yet"; a batch row after row."""
        known = np.where(self.product_identified, "only activation * rate", "not yet")
        return [str(word) for word in np.where(self.identified, "known", known).ravel()]
