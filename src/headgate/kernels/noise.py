"""Random numbers by position: the n-th draw of a stream is a function of its key and n.

SplitMix64 walks its state by a constant, so its n-th output needs no walk. A learner's randomness is then two
numbers, a row of a batch has the same stream as a single learner with its seed, and a restored one goes on exactly.
"""

import numpy as np
from numba import types

from headgate.kernels.part import njit

_STRIDE = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 2.0**-53


@njit(error_model="numpy")
def uniform(key, n):
    """Draw n of the stream, ~ U(0, 1), never 0 or 1."""
    z = key + (n + types.uint64(1)) * _STRIDE
    z = (z ^ (z >> types.uint64(30))) * _MIX1
    z = (z ^ (z >> types.uint64(27))) * _MIX2
    z ^= z >> types.uint64(31)
    return (types.float64(z >> types.uint64(11)) + 0.5) * _TO_UNIT
