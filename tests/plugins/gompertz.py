"""A law that lives outside of the package: hazards that grow exponentially, as a stranger would write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

import headgate as hg


@dataclass(frozen=True)
class Gompertz(hg.laws.ScaleLaw):
    """G(x, rate) = 1 - exp(-shape (exp(rate x) - 1)): lifetimes of people and machines. Concave for shape >= 1."""

    shape: ArrayLike = 1.0
    name: ClassVar[str] = "gompertz"
    free: ClassVar[hg.laws.Shape | None] = hg.laws.Shape(least=1e-4, most=50.0, start=0.1, variance=2.0)

    def log_sf0(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log survival at rate 1."""
        return np.asarray(-np.asarray(self.shape) * np.expm1(z))

    def log_pdf0(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log density at rate 1."""
        return np.asarray(np.log(self.shape) + z + self.log_sf0(z))
