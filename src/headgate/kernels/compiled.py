"""How a kernel is declared: a NumPy gufunc of compiled code, loaded if it was compiled before (`cache`).

Functions that a kernel calls are part of its machine code: decorate them with `njit` of `headgate.kernels.part`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import guvectorize

from headgate.kernels.cache import Kernel, obtain


def gufunc(signatures: list[str], layout: str, writable: tuple[str, ...] = ()) -> Callable[[Kernel], Any]:
    """Compile the decorated function to a gufunc when its module is imported.

    `signatures` are the types of its arguments, `layout` their shapes, both as for `numba.guvectorize`; `writable`
    names the inputs that it changes in place.
    """

    def build(kernel: Kernel, cache: bool) -> Any:
        return guvectorize(signatures, layout, nopython=True, cache=cache, writable_args=writable)(kernel)

    # The bare NumPy ufunc: Numba's wrapper around it costs microseconds a call.
    return lambda kernel: obtain(kernel, build).ufunc
