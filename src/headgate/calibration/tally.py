"""Weights added up by group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headgate.laws import Floats


def tally(group: NDArray[np.int64], weights: Floats, groups: int) -> Floats:
    """Return the total weight of each of the groups 0, 1, ...; `weights` may be a stack: (..., rows).

    >>> tally(np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]), 3)
    array([1., 0., 5.])
    """
    if weights.ndim == 1:
        return np.asarray(np.bincount(group, weights=weights, minlength=groups), dtype=np.float64)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(groups))
    total = np.zeros((*weights.shape[:-1], groups))
    some = np.bincount(group, minlength=groups) > 0
    total[..., some] = np.add.reduceat(weights[..., order], starts[some], axis=-1)
    return total
