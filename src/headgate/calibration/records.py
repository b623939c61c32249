"""Rows of a log one by one: what is kept of them where rounds differ, by features or by what their arms share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from headgate.errors import InputError
from headgate.laws import Floats

if TYPE_CHECKING:
    from headgate.calibration.engine import Table

MOST = 5_000_000
"""Rows that are held in memory."""
RESAMPLED = 1_000_000
"""Rows up to which they are kept for the sake of resampling whole rounds alone."""
_COLUMN = "feature_"  # with its number: the names of a table's columns are not ours


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Rows as they were, in an order that does not depend on the engine."""

    arm: NDArray[np.int64]
    allocation: Floats
    """What the row was given; infinite where the log does not say."""
    success: NDArray[np.bool_]
    threshold: Floats
    """nan where it was not seen."""
    round: NDArray[Any] | None = None
    """The name of the round that the row belongs to, where the log says."""
    columns: Mapping[str, NDArray[Any]] | None = None
    """Features by name: numbers, or text with None where nothing is there."""

    def __len__(self) -> int:
        return self.arm.size

    @property
    def groups(self) -> NDArray[np.int64]:
        """The number of each row's round; of each row itself, where the log does not say."""
        if self.round is None:
            return np.arange(len(self))
        return np.unique(self.round, return_inverse=True)[1].astype(np.int64)

    def only(self, which: NDArray[Any]) -> Self:
        """Return some of the rows."""
        picked: dict[str, Any] = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, Mapping):
                picked[entry.name] = {name: column[which] for name, column in value.items()}
            elif value is not None:
                picked[entry.name] = value[which]
        return replace(self, **picked)


def with_features(source: Table, columns: Sequence[str], blank: Any) -> dict[str, Table]:
    """Return a table's features as they are kept: numbers as they are, anything else as text; null where blank."""
    features: dict[str, Table] = {}
    for place, name in enumerate(columns):
        column = source[name]
        plain = column.cast("float64") if column.type().is_numeric() else column.cast("string").strip()
        features[f"{_COLUMN}{place}"] = blank(column).ifelse(None, plain)
    return features


def kept_columns(features: Sequence[str], *, rounds: bool) -> list[str]:
    """Return the names that `with_features` gives, and the round's where it is kept."""
    return [f"{_COLUMN}{place}" for place in range(len(features))] + ["round"] * rounds


def worth_keeping(rows: Table) -> bool:
    """Whether rows that name their round are few enough to be resampled by round, and all of them name it."""
    count, named = rows.agg(count=rows.count(), named=rows["round"].notnull().cast("int64").sum()).to_pandas().iloc[0]
    return bool(count <= RESAMPLED and named == count)


def records_of(rows: Table, names: Sequence[str], features: Sequence[str], *, rounds: bool) -> Records:
    """Read the rows of a table of `arm`, `success`, `allocation`, `threshold` and what else is kept of them."""
    count = int(rows.count().to_pandas())
    if count > MOST:
        raise InputError(
            f"features and whole rounds need the rows themselves, of which at most {MOST:,} are held: this log has "
            f"{count:,}; read a part of it (--where)"
        )
    frame = rows.to_pandas()
    text = frame[[*kept_columns(features, rounds=rounds), "arm", "success", "allocation", "threshold"]].astype(str)
    frame = frame.iloc[np.lexsort([text[name].to_numpy() for name in text.columns])]  # engines have orders of their own
    place = {name: number for number, name in enumerate(names)}
    allocation = frame["allocation"].to_numpy(dtype=np.float64, na_value=np.nan)
    name_of_round = None
    if rounds:
        labels = frame["round"].to_numpy(dtype=object)
        lost = np.array([value is None or value != value for value in labels], dtype=np.bool_)  # noqa: PLR0124  # NaN
        if lost.any():
            raise InputError(f"every row must say its round, got {int(lost.sum())} rows without one")
        name_of_round = labels.astype(str)
    return Records(
        arm=np.array([place[str(name)] for name in frame["arm"]], dtype=np.int64),
        allocation=np.where(np.isnan(allocation), np.inf, allocation),
        success=frame["success"].to_numpy(dtype=np.bool_),
        threshold=frame["threshold"].to_numpy(dtype=np.float64, na_value=np.nan),
        round=name_of_round,
        columns={name: _column(frame[f"{_COLUMN}{place}"]) for place, name in enumerate(features)},
    )


def _column(series: Any) -> NDArray[Any]:
    """Numbers with nan where there is none, or text with None."""
    if series.dtype.kind in "fiu":
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.array([value if isinstance(value, str) and value else None for value in series], dtype=object)
