"""A vectorised bracketed root search that keeps every element in its place.

`scipy.optimize.elementwise.find_root` drops elements as they finish, so the function it calls no longer
knows which arm an element belongs to; a law with one shape per arm needs to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_Floats: TypeAlias = NDArray[np.float64]


def bracketed_root(f: Callable[[_Floats], _Floats], low: _Floats, high: _Floats) -> _Floats:
    """Find a root of `f` between `low` and `high` by Chandrupatla's method; NaN where f keeps its sign.

    Inverse quadratic interpolation where three points allow it, bisection elsewhere.
    """
    a, b = high.astype(np.float64), low.astype(np.float64)
    fa, fb = f(a), f(b)
    c, fc = a, fa
    bracketed = np.sign(fa) * np.sign(fb) <= 0.0
    share = np.full(a.shape, 0.5)
    best = b
    for _ in range(200):
        x = a + share * (b - a)
        fx = f(x)
        same = np.sign(fx) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        best = np.where(np.abs(fa) < np.abs(fb), a, b)
        margin = 2e-16 * (1.0 + np.abs(best))  # the argument is a logarithm: an absolute error is relative
        with np.errstate(all="ignore"):
            width = margin / np.abs(b - a)
            if np.all((width > 0.5) | (fa == 0.0) | ~bracketed):
                break
            xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
            smooth = (phi**2 < xi) & ((1.0 - phi) ** 2 < 1.0 - xi)
            inverse = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        share = np.where(smooth, inverse, 0.5)
        share = np.where(np.isfinite(share), np.clip(share, np.minimum(width, 0.5), np.maximum(1.0 - width, 0.5)), 0.5)
    return np.where(bracketed, best, np.nan)
