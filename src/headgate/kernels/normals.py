"""Normal numbers by position (`noise`), many at once: for policies that draw in NumPy."""

from numba import types

from headgate.kernels.compiled import gufunc
from headgate.kernels.noise import uniform
from headgate.kernels.special import ndtri


@gufunc(["void(uint64, uint64, float64[:], float64[:])"], "(),(),(n)->(n)")
def normals(key, first, like, out):
    """Fill `out`, as long as `like`, with draws first, first + 1, ... of the stream, ~ N(0, 1)."""
    for i in range(like.size):
        out[i] = ndtri(uniform(key, first + types.uint64(i)))
