"""Validation at the edge: each function returns a clean array or raises an error that names the value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headgate.errors import InputError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def _first_bad(values: NDArray[np.float64], good: NDArray[np.bool_]) -> str:
    """Say which entry is wrong: its value, and where it stands if there are several."""
    index = tuple(int(i) for i in np.argwhere(~good)[0])
    where = f" at index {index[0] if len(index) == 1 else index}" if index else ""
    return f"{values[index]!r}".removeprefix("np.float64(").removesuffix(")") + where


def numbers(
    name: str,
    values: ArrayLike,
    error: type[InputError] = ParameterError,
    *,
    least: float = 0.0,
    most: float = np.inf,
    open_least: bool = False,
    infinite: bool = False,
) -> NDArray[np.float64]:
    """Return `values` as a float array, all within [least, most], or raise `error`."""
    raw: object = values
    if raw is None or isinstance(raw, str):  # NumPy would take None for NaN and read numbers out of text
        raise error(f"{name} must be a number or an array of numbers, got {values!r}")
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as cause:
        raise error(f"{name} must be a number or an array of numbers, got {values!r}") from cause
    good = (array > least) if open_least else (array >= least)
    good &= array <= most
    if not infinite:
        good &= array < np.inf
    if not good.all():
        sign = ">" if open_least else ">="
        limit = f"finite and {sign} {least:g}" if not infinite else f"{sign} {least:g}"
        if least == -np.inf:
            limit = "a number"
        if most < np.inf:
            limit = f"within {'(' if open_least else '['}{least:g}, {most:g}]"
        raise error(f"{name} must be {limit}, got {_first_bad(array, good)}")
    return array


def whole(
    name: str, value: object, error: type[InputError] = ParameterError, *, least: int = 1, most: float = np.inf
) -> int:
    """Return `value` if it is one whole number within [least, most], else raise `error`; true and false are none.

    >>> whole("rounds", 10)
    10
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        limit = f"of at least {least}" if most == np.inf else f"within {least} and {most:g}"
        raise error(f"{name} must be a whole number {limit}, got {value!r}")
    return int(value)


def choice(name: str, value: str, options: tuple[str, ...], error: type[InputError] = ParameterError) -> str:
    """Return `value` if it is one of `options`, else raise `error` with the list."""
    if value not in options:
        raise error(f"{name} must be one of {', '.join(options)}, got {value!r}")
    return value
