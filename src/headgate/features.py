"""Features as people have them: named columns of numbers and categories, some of them missing, as rows of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from headgate.errors import FeatureError, ParameterError

_LARGEST = 1e100


@final
@dataclass(frozen=True)
class Features:
    """Named columns, declared: what each may hold, and which numbers it becomes.

    A number becomes itself, one of `logs` sign(v) log(1 + |v|); where it may be missing, a second column says whether
    it is. A category becomes one column for each of those declared, 1 or 0, and one for missing, where that is
    allowed; a category that was never declared is 0 in all of them: an arm of which this is not known. Nothing needs
    to be scaled: `headgate.Contextual` standardises by what it has seen.

    Parameters
    ----------
    numbers
        Names of numbers.
    categories
        The categories of each column that holds text.
    logs
        Names of numbers of which the logarithm tells, such as amounts of money.
    missing
        Names of columns whose values may be missing: None, NaN, or not there.

    Examples
    --------
    >>> known = Features(numbers=["age"], categories={"job": ["nurse", "cook"]}, missing=["age"])
    >>> known.names
    ('age', 'age missing', 'job=nurse', 'job=cook')
    >>> known.rows([{"age": 31, "job": "cook"}, {"job": "pilot"}])
    array([[31.,  0.,  0.,  1.],
           [nan,  1.,  0.,  0.]])
    >>> known.rows([{"age": 31, "job": 7}])
    Traceback (most recent call last):
        ...
    headgate.errors.FeatureError: row 0: job must be a category, text such as 'nurse', got 7
    """

    numbers: Sequence[str] = ()
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    logs: Sequence[str] = ()
    missing: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Check the declaration."""
        numbers, logs, missing = (_names(name, getattr(self, name)) for name in ("numbers", "logs", "missing"))
        kinds: object = self.categories
        if not isinstance(kinds, Mapping):
            raise ParameterError(f"categories must be lists of text by column, got {self.categories!r}")
        categories = {str(name): _names(f"categories of {name}", values) for name, values in self.categories.items()}
        names = (*numbers, *logs, *categories)
        twice = sorted({name for name in names if names.count(name) > 1})
        if not names or twice:
            raise ParameterError(f"columns must have names, each once, got {names}" + f": {twice} twice" * bool(twice))
        if set(missing) - set(names):
            raise ParameterError(f"missing must name declared columns, got {sorted(set(missing) - set(names))}")
        for name, values in (("numbers", numbers), ("logs", logs), ("missing", missing), ("categories", categories)):
            object.__setattr__(self, name, values)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names that a record has, in order."""
        return (*self.numbers, *self.logs, *self.categories)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each number of a row is."""
        columns: list[str] = []
        for name in self.columns:
            if name in self.categories:
                columns += [f"{name}={value}" for value in self.categories[name]]
            else:
                columns.append(f"log {name}" if name in self.logs else name)
            if name in self.missing:
                columns.append(f"{name} missing")
        return tuple(columns)

    @property
    def width(self) -> int:
        """How many numbers a row has, d."""
        return len(self.names)

    def rows(self, features: Any) -> NDArray[np.float64]:
        """Return records as rows of numbers, NaN where a number is missing.

        One record, a mapping of names to values, is (d,). A list of them is (K, d), and so are columns by name, each a
        list or array of K values. An array of numbers (..., d) is taken as rows already made.
        """
        if isinstance(features, np.ndarray) and features.dtype.kind in "fiub":
            return self._made(features.astype(np.float64))
        if isinstance(features, Mapping):
            self._known(features, "features")
            long = {name: len(value) for name, value in features.items() if _is_column(value)}
            if not long:
                return self.row(features)
            if len(set(long.values())) > 1 or len(long) < len(features):
                raise FeatureError(f"columns must all be lists of one length, got lengths {long} of {list(features)}")
            count = next(iter(long.values()))
            return self.rows([{name: value[i] for name, value in features.items()} for i in range(count)])
        if isinstance(features, str) or not isinstance(features, Iterable):
            raise FeatureError(f"features must be records, mappings of {list(self.columns)} to values: {features!r}")
        rows = [self.row(record, f"row {i}") for i, record in enumerate(features)]
        return np.array(rows, dtype=np.float64).reshape(len(rows), self.width)

    def row(self, record: Any, where: str = "features") -> NDArray[np.float64]:
        """Check one record, a mapping of names to values such as a JSON object, and return its numbers: (d,).

        The error says in which column of the record `where` it is wrong, and what the rule is.
        """
        if not isinstance(record, Mapping):
            raise FeatureError(f"{where}: a record must be a mapping of names to values, got {record!r}")
        self._known(record, where)
        numbers: list[float] = []
        for name in self.columns:
            value = _none(record.get(name))
            if value is None and name not in self.missing:
                raise FeatureError(f"{where}: {name} is missing, and was not declared to be: Features(missing=[...])")
            if name in self.categories:
                numbers += self._category(name, value, where)
            else:
                numbers.append(self._number(name, value, where))
            if name in self.missing:
                numbers.append(float(value is None))
        return np.array(numbers)

    def _category(self, name: str, value: Any, where: str) -> list[float]:
        kinds = self.categories[name]
        if value is not None and not isinstance(value, str):
            raise FeatureError(f"{where}: {name} must be a category, text such as {kinds[0]!r}, got {value!r}")
        return [float(value == kind) for kind in kinds]

    def _number(self, name: str, value: Any, where: str) -> float:
        if value is None:
            return np.nan
        number = np.nan if isinstance(value, str | bytes) or np.ndim(value) else _float(value)
        if not abs(number) <= _LARGEST:
            raise FeatureError(f"{where}: {name} must be a number within -1e100 and 1e100, got {value!r}")
        return float(np.sign(number) * np.log1p(abs(number))) if name in self.logs else number

    def _known(self, record: Mapping[Any, Any], where: str) -> None:
        strange = [str(name) for name in record if name not in self.columns]
        if strange:
            raise FeatureError(f"{where}: {', '.join(strange)} was not declared: columns are {', '.join(self.columns)}")

    def _made(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        if rows.ndim == 0 or rows.shape[-1] != self.width:
            raise FeatureError(f"rows must have {self.width} numbers ({', '.join(self.names)}), got shape {rows.shape}")
        may = np.array([f"{name} missing" in self.names or name.removeprefix("log ") in self.missing
                        for name in self.names])  # fmt: skip
        wrong = ~np.isfinite(rows) & ~(np.isnan(rows) & may)
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise FeatureError(f"{self.names[at[-1]]} must be a finite number, got {rows[at]} at {at}")
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain data for JSON."""
        return {
            "numbers": list(self.numbers), "categories": {k: list(v) for k, v in self.categories.items()},
            "logs": list(self.logs), "missing": list(self.missing),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote, or raise if it is not a declaration."""
        strange = set(data) - {"numbers", "categories", "logs", "missing"}
        if strange:
            raise ParameterError(f"a declaration has numbers, categories, logs and missing, got {sorted(strange)}")
        return cls(**data)

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[Any]], most: int = 50) -> Self:
        """Declare what a sample holds: columns of text by their categories, the `most` frequent, all others as numbers.

        >>> Features.of({"age": [31, None], "job": ["cook", "nurse"]})
        Features(numbers=('age',), categories={'job': ('cook', 'nurse')}, logs=(), missing=('age',))
        """
        numbers, categories, missing = [], {}, []
        for name, values in columns.items():
            entries = [value for value in map(_none, values) if value is not None]
            if len(entries) < len(values):
                missing.append(name)
            if entries and all(isinstance(value, str) for value in entries):
                kinds, counts = np.unique(entries, return_counts=True)
                often = kinds[np.argsort(-counts, kind="stable")[:most]]
                categories[name] = sorted(str(kind) for kind in often)
            else:
                numbers.append(name)
        return cls(numbers=numbers, categories=categories, missing=missing)


def _names(what: str, values: Any) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ParameterError(f"{what} must be a list of text, got {values!r}")
    names = tuple(values)
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise ParameterError(f"{what} must be a list of text, each once, got {values!r}")
    return names


def _none(value: Any) -> Any:
    """None for what is missing: None or NaN."""
    return None if isinstance(value, float | np.floating) and np.isnan(value) else value


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _is_column(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes) and np.ndim(value) == 1
