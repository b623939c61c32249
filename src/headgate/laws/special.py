"""Special functions SciPy does not have in the range we need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TERMS = 60


def log_gammaincc(a: float | NDArray[np.float64], z: NDArray[np.float64]) -> NDArray[np.float64]:
    """log Q(a, z), relatively exact as z -> 0 and far beyond the z at which Q underflows.

    Small z: log1p(-P), since log Q ~ -P. Beyond the underflow: Legendre's continued fraction,
    Gamma(a, z) = z^a e^-z / (z + 1 - a - 1(1 - a) / (z + 3 - a - 2(2 - a) / ...)).
    """
    lower, upper = special.gammainc(a, z), special.gammaincc(a, z)
    with np.errstate(divide="ignore", invalid="ignore"):
        result = np.where(lower < 0.5, np.log1p(-np.minimum(lower, 0.5)), np.log(upper))
    far = (upper < 1e-290) & np.isfinite(z)
    if np.any(far):
        tail = np.where(far, z, 1e3 + a)  # anywhere that is safe, where it is not used
        fraction = tail + (2.0 * _TERMS + 1.0) - a
        for n in range(_TERMS, 0, -1):
            fraction = tail + (2.0 * n - 1.0) - a - n * (n - a) / fraction
        result = np.where(far, a * np.log(tail) - tail - special.gammaln(a) - np.log(fraction), result)
    return result
