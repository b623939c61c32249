"""Named columns of a log as the columns of a regression: numbers in units, categories beside a usual one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headgate.errors import FeatureError, InputError, ParameterError
from headgate.features import Features
from headgate.laws import Floats

_LARGEST = 1e100  # the largest feature: squares of it must be numbers
_Part: TypeAlias = tuple[str, Floats, bool]
"""The name and the numbers of a column, and whether it says that something is there or not."""


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Features as a regression wants them: centred, in units, none a sum of others."""

    declared: Features
    names: tuple[str, ...]
    unit: Floats
    """What a coefficient is per: 1 of what is there or not, else the standard deviation, (d,)."""
    usual: Mapping[str, str]
    """The category of each column that the others are compared with: the most frequent one."""
    z: Floats
    """(n, d)."""

    @property
    def width(self) -> int:
        """The number of columns, d."""
        return len(self.names)


def declared(features: Features | Sequence[str], columns: Mapping[str, NDArray[Any]]) -> Features:
    """Return what a log's columns hold: text of numbers only is numbers, other text is categories."""
    if isinstance(features, str) or not isinstance(features, Features | Sequence):
        raise ParameterError(f"features must be a list of columns or headgate.Features, got {features!r}")
    names = features.columns if isinstance(features, Features) else tuple(features)
    if not names or len(set(names)) < len(names):
        raise ParameterError(f"features must name columns, each once, got {list(names)}")
    for name in names:
        if name not in columns:
            has = ", ".join(columns) or "none"
            raise InputError(f"the log was read without a feature {name!r} (Columns(features=...)); it has: {has}")
    if isinstance(features, Features):
        return features
    sample = {name: (columns[name] if (number := _numbers(columns[name])) is None else number) for name in names}
    return Features.of({name: column.tolist() for name, column in sample.items()})


def design(features: Features, columns: Mapping[str, NDArray[Any]]) -> Design:
    """Make the columns of a regression of a log's columns; those that never change are left out."""
    parts: list[_Part] = []
    usual: dict[str, str] = {}
    for name in features.columns:
        if name in features.categories:
            masks, there = _masks(columns[name], features.categories[name])
            counts = {kind: int(mask.sum()) for kind, mask in masks.items()}
            if sum(counts.values()) + int((~there).sum()) == there.size and counts:  # else the unknown are the usual
                usual[name] = max(counts, key=lambda kind: counts[kind])
            own = [kind for kind in masks if kind != usual.get(name)]
            parts += [(f"{name}={kind}", masks[kind].astype(np.float64), True) for kind in own]
        else:
            part, there = _number_part(name, columns[name], log=name in features.logs)
            parts.append(part)
        if not there.all():
            if name not in features.missing:
                raise FeatureError(f"{name} is missing in {int((~there).sum())} rows, and was not declared to be")
            parts.append((f"{name} missing", (~there).astype(np.float64), True))
    kept = [(name, column, flag) for name, column, flag in parts if np.ptp(column) > 0.0]
    if not kept:
        raise FeatureError(f"no feature changes from row to row: {', '.join(features.columns)}")
    units = np.array([1.0 if flag else float(column.std()) for _, column, flag in kept])
    z = np.column_stack([(column - column.mean()) / unit for (_, column, _), unit in zip(kept, units, strict=True)])
    return Design(features, tuple(name for name, _, _ in kept), units, usual, z)


def _masks(column: NDArray[Any], kinds: Sequence[str]) -> tuple[dict[str, NDArray[np.bool_]], NDArray[np.bool_]]:
    """Which rows hold each kind of a category, and where something is there."""
    text, there = _text(column)
    return {kind: (text == kind) & there for kind in kinds}, there


def _number_part(name: str, column: NDArray[Any], *, log: bool) -> tuple[_Part, NDArray[np.bool_]]:
    """A column of numbers, or of their logarithms, with the mean where nothing is there; and where something is."""
    number = _numbers(column)
    if number is None or np.any(np.abs(number) > _LARGEST):
        raise FeatureError(f"{name} must hold numbers within -1e100 and 1e100, got {_strange(column)!r}")
    there = ~np.isnan(number)
    value = np.sign(number) * np.log1p(np.abs(number)) if log else number
    mean = float(value[there].mean()) if there.any() else 0.0
    return (f"log {name}" if log else name, np.where(there, value, mean), False), there


def _text(column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """A column as text, and where something is there; numbers as people write them."""
    if column.dtype.kind == "f":
        return np.array([f"{value:g}" for value in column], dtype=object), ~np.isnan(column)
    return column, np.array([value is not None for value in column], dtype=np.bool_)


def _numbers(column: NDArray[Any]) -> Floats | None:
    """A column as numbers, nan where nothing is there; None if some text is no finite number."""
    if column.dtype.kind == "f":
        return None if np.isinf(column).any() else np.asarray(column)
    try:
        values = np.array([np.nan if value is None else float(value) for value in column], dtype=np.float64)
    except ValueError:
        return None
    there = np.array([value is not None for value in column], dtype=np.bool_)
    return values if np.isfinite(values[there]).all() and there.any() else None


def _strange(column: NDArray[Any]) -> Any:
    """The first value that is no number."""
    for value in column.tolist():
        try:
            if value is not None and not abs(float(value)) <= _LARGEST and not np.isnan(float(value)):
                return value
        except ValueError:
            return value
    return column.tolist()[0]
