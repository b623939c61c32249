"""Moments of features: what has been seen of each column, enough to standardise it; they add up.

Columns are measured from a reference, near their mean, so that no digits are lost where a mean is large. Rows of an
array: how many, sum, sum of squares, least, largest.
"""

from __future__ import annotations

import numpy as np

from headgate.evidence.information import ROWS
from headgate.laws import Floats

COUNT, SUM, SQUARES, LEAST, MOST = range(5)
MOMENTS = 5
_REACH = 6.0  # a column's unit is at least so small a part of its range: rare categories would count too much


def no_moments(columns: int, lead: tuple[int, ...] = ()) -> Floats:
    """Return the moments of nothing: (..., 5, d)."""
    moments = np.zeros((*lead, MOMENTS, columns))
    moments[..., LEAST, :], moments[..., MOST, :] = np.inf, -np.inf
    return moments


def moments_of(z: Floats) -> Floats:
    """Return the moments of rows (n, d)."""
    moments = no_moments(z.shape[1])
    moments[COUNT] = len(z)
    for start in range(0, len(z), ROWS):
        some = z[start : start + ROWS]
        moments[SUM] += some.sum(axis=0)
        moments[SQUARES] += np.einsum("nd,nd->d", some, some)
        np.minimum(moments[LEAST], some.min(axis=0), out=moments[LEAST])
        np.maximum(moments[MOST], some.max(axis=0), out=moments[MOST])
    return moments


def joined(first: Floats, second: Floats) -> Floats:
    """Return the moments of both."""
    both = first + second
    both[..., LEAST, :] = np.minimum(first[..., LEAST, :], second[..., LEAST, :])
    both[..., MOST, :] = np.maximum(first[..., MOST, :], second[..., MOST, :])
    return both


def shifted(moments: Floats, by: Floats) -> Floats:
    """Return the moments of the same rows, `by` (d,) added to each."""
    moved = moments.copy()
    count, total = moments[COUNT], moments[SUM]
    moved[SUM], moved[SQUARES] = total + count * by, moments[SQUARES] + 2.0 * by * total + count * by * by
    moved[LEAST], moved[MOST] = moments[LEAST] + by, moments[MOST] + by
    return moved


def means_of(moments: Floats) -> Floats:
    """Return each column's mean, 0 before anything is seen: (..., d)."""
    return np.asarray(moments[..., SUM, :] / np.maximum(moments[..., COUNT, :], 1.0))


def units_of(moments: Floats) -> tuple[Floats, Floats]:
    """Return each column's mean and unit: its standard deviation, or a sixth of its range if that is more."""
    count = np.maximum(moments[COUNT], 1.0)
    mean = means_of(moments)
    spread = np.sqrt(np.maximum(moments[SQUARES] / count - mean * mean, 0.0))
    reach = np.where(moments[COUNT] > 0.0, moments[MOST] - moments[LEAST], 0.0)
    unit = np.maximum(spread, reach / _REACH)
    return mean, np.where(reach > 0.0, unit, 1.0)  # a column that never changes says nothing, in any unit


def standardised(z: Floats, mean: Floats, unit: Floats) -> Floats:
    """Return 1 and (z - mean) / unit of rows (n, d): (n, d + 1)."""
    columns, scale = np.empty((len(z), z.shape[1] + 1)), 1.0 / unit
    columns[:, 0] = 1.0
    for start in range(0, len(z), ROWS):
        part = columns[start : start + ROWS, 1:]
        np.subtract(z[start : start + ROWS], mean, out=part)
        part *= scale
    return columns


def unit_matrix(mean: Floats, unit: Floats) -> Floats:
    """Return U with theta = U theta', theta' the coefficients of 1 and (z - mean) / unit: (d + 1, d + 1)."""
    matrix = np.diag(np.concatenate([[1.0], 1.0 / unit]))
    matrix[0, 1:] = -mean / unit
    return matrix


def inverse_unit_matrix(mean: Floats, unit: Floats) -> Floats:
    """Return the inverse of U."""
    matrix = np.diag(np.concatenate([[1.0], unit]))
    matrix[0, 1:] = mean
    return matrix
