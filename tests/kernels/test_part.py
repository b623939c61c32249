"""Functions that kernels are made of: the same numbers within a kernel, by themselves, and in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import guvectorize

from headgate.kernels.part import njit


@njit(error_model="numpy")
def _ratio(x: Any, y: Any) -> Any:
    return x / y


@njit(error_model="numpy")
def _sum_of_ratios(values: Any, y: Any) -> Any:
    total = np.zeros(1)
    for i in range(values.size):
        total[0] += _ratio(values[i], y)
    return total[0], values.size


def _mean_of_ratios(values: Any, y: Any, out: Any) -> None:
    total, size = _sum_of_ratios(values, y)
    out[0] = total / size


_kernel: Any = guvectorize(["void(float64[:], float64, float64[:])"], "(n),()->()", nopython=True)(  # type: ignore[no-untyped-call]
    _mean_of_ratios
)


def test_a_kernel_is_made_of_its_parts() -> None:
    values = np.random.default_rng(0).random((7, 5))
    expected = [_sum_of_ratios.py_func(row, 3.0)[0] / 5 for row in values]
    np.testing.assert_array_equal(_kernel(values, 3.0), expected)


def test_parts_are_called_from_python_too() -> None:
    values = np.random.default_rng(1).random(5)
    assert _sum_of_ratios(values, 3.0) == _sum_of_ratios.py_func(values, 3.0)


def test_division_by_zero_is_that_of_numpy() -> None:
    with np.errstate(divide="ignore"):
        assert _kernel(np.ones(2), 0.0) == np.inf
    assert _sum_of_ratios(np.ones(2), 0.0) == (np.inf, 2)


def test_parts_have_no_machine_code_of_their_own() -> None:
    """That is what they are for: only the kernel is optimised and emitted."""
    _kernel(np.ones(2), 1.0)
    for part in (_ratio, _sum_of_ratios):
        (compiled,) = part.overloads.values()
        assert compiled.library._compiled_object is None
