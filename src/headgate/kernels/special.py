"""SciPy's incomplete gamma functions, callable from compiled code.

Numba cannot cache a call through a Python-level pointer, but it can cache a call to a symbol: so the
addresses that `scipy.special.cython_special` exports are registered with LLVM under names of our own.
"""

from typing import Any

import llvmlite.binding as llvm
from numba import types
from numba.extending import get_cython_function_address


def _symbol(name: str, arguments: int = 2) -> Any:
    symbol = f"headgate_{name}"
    llvm.add_symbol(symbol, get_cython_function_address("scipy.special.cython_special", name))
    return types.ExternalFunction(symbol, types.float64(*[types.float64] * arguments))


gammainc = _symbol("gammainc")
gammaincc = _symbol("gammaincc")
ndtri = _symbol("ndtri", 1)
