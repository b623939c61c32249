"""Which columns of a table say what: given by options, or by a small TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self, final, get_args

from headgate import checks
from headgate.calibration.engine import Engine
from headgate.calibration.log import Kind
from headgate.calibration.reading.frames import label_of
from headgate.calibration.reading.screen import Clean, screen
from headgate.calibration.reading.tables import open_table
from headgate.calibration.reading.time_limit import AUTO, NONE
from headgate.errors import InputError

YES = ("1", "1.0", "true", "t", "yes", "y", "ok", "success", "correct", "right")
NO = ("0", "0.0", "false", "f", "no", "n", "fail", "failed", "failure", "wrong", "incorrect")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns for arm, success, threshold and, where the log has it, what was given.

    >>> Columns(arm="item", success="correct", threshold="ms", threshold_scale=0.001, units="s").kind is None
    True
    """

    arm: str
    success: str
    threshold: str
    allocation: str | None = None
    units: str | None = None
    """What thresholds and allocations are counted in once they are scaled."""
    kind: Kind | None = None
    """Without it: "censored" if there is an allocation, else "observed" if most failures have a threshold too, else
    "complete"."""
    success_values: tuple[str, ...] = ()
    """What means success, in any case; everything else that is given means failure unless `failure_values` says."""
    failure_values: tuple[str, ...] = ()
    threshold_scale: float = 1.0
    """What thresholds are multiplied by: 0.001 makes seconds of milliseconds."""
    allocation_scale: float | None = None
    """The same for allocations; without it, that of thresholds."""
    whole: bool = False
    """Thresholds are counts: 1, 2, ..."""
    untold: bool = False
    """A success may leave its threshold blank: it tells that what it was given sufficed. Needs allocations."""
    limit: float | None = None
    """A threshold above this is absurd, and its row is not used."""
    time_limit: float | str = AUTO
    """What every row was given, where no column says: a number; "auto": recognised, where many rows end at exactly the
    same largest time without success; "none": times of failures are taken as they are."""
    where: Mapping[str, str] = field(default_factory=dict)
    """Only rows whose columns have these values are read."""
    round: str | None = None
    """The column that says which rows belong together, such as the student: what they took is a round's budget."""
    features: tuple[str, ...] = ()
    """Columns that say what was known of a row before it was given anything: its rows are then kept one by one."""
    keep_rounds: bool = False
    """Keep every row with its round, for rewards that ask for at least one success a round. Needs `round`."""
    table: str | None = None
    """Which table of a DuckDB file."""

    def __post_init__(self) -> None:
        """Check every entry."""
        for name in ("arm", "success", "threshold"):
            value: object = getattr(self, name)
            if not isinstance(value, str) or not value:
                raise InputError(f"{name} must be the name of a column, got {value!r}")
        if self.kind is not None:
            checks.choice("kind", self.kind, get_args(Kind), InputError)
        if self.kind == "censored" and self.allocation is None and isinstance(self.time_limit, str):
            raise InputError("kind 'censored' needs the column of allocations: what was each row given?")
        if self.untold and self.allocation is None:
            raise InputError("untold thresholds need the column of allocations: what was each row given?")
        if self.keep_rounds and self.round is None:
            raise InputError("rounds are kept by the column that says which rows belong together: round is missing")
        self._check_amounts()
        self._check_texts()

    def _check_amounts(self) -> None:
        """Check scales and limits."""
        for name in ("threshold_scale", "allocation_scale", "limit"):
            if getattr(self, name) is not None:
                checks.numbers(name, getattr(self, name), InputError, open_least=True)
        if isinstance(self.time_limit, str):
            checks.choice("time_limit", self.time_limit, (AUTO, NONE), InputError)
        else:
            checks.numbers("time_limit", self.time_limit, InputError, open_least=True)
            object.__setattr__(self, "time_limit", float(self.time_limit))
            if self.allocation is not None:
                raise InputError("a time limit is what rows were given where no column says it: leave out allocation")

    def _check_texts(self) -> None:
        """Check what is a list of texts."""
        for name in ("success_values", "failure_values", "features"):
            texts: object = getattr(self, name)
            if isinstance(texts, str) or not all(isinstance(value, str) for value in getattr(self, name)):
                raise InputError(f"{name} must be a list of texts, got {texts!r}")
            object.__setattr__(self, name, tuple(getattr(self, name)))
        both = {v.lower() for v in self.success_values} & {v.lower() for v in self.failure_values}
        if both:
            raise InputError(f"a value cannot mean both success and failure, got {min(both)!r}")

    @classmethod
    def read(cls, path: Path, **changes: Any) -> Self:
        """Read a mapping from TOML, one entry for each field; `changes` that are not None come first."""
        try:
            entries = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as cause:
            raise InputError(f"the mapping {path} is not there") from cause
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as cause:
            raise InputError(f"{path} cannot be read as TOML: {cause}") from cause
        return cls.of({**entries, **{key: value for key, value in changes.items() if value is not None}}, path)

    @classmethod
    def of(cls, entries: Mapping[str, Any], source: object = "a mapping") -> Self:
        """Make a mapping of plain entries, as TOML or options give them."""
        names = [entry.name for entry in fields(cls)]
        for key in entries:
            if key not in names:
                raise InputError(f"{source} has an unknown entry {key!r}; there are: {', '.join(names)}")
        for key in ("arm", "success", "threshold"):
            if key not in entries:
                raise InputError(f"{source} must say which column is the {key}")
        return cls(**entries)

    def open(self, engine: Engine, source: str | Path, progress: Callable[[str], None]) -> Clean:
        """Read a table that has these columns."""
        table = open_table(engine, source, self.table, self.names)
        progress("reading rows")
        return screen(engine, table, self, label_of(source))

    @property
    def names(self) -> tuple[str, ...]:
        """Every column that is named."""
        named = (self.arm, self.success, self.threshold, self.allocation, self.round, *self.features, *self.where)
        return tuple(name for name in named if name is not None)

    @property
    def by_row(self) -> bool:
        """Whether rows are asked for one by one."""
        return bool(self.features) or self.keep_rounds

    def plain(self) -> dict[str, Any]:
        """Return what was asked for, without what is so anyway: columns together, the rest one by one.

        >>> Columns(arm="item", success="ok", threshold="s", where={"year": "2020"}, limit=60.0).plain()
        {'columns': {'arm': 'item', 'success': 'ok', 'threshold': 's'}, 'limit': 60.0, 'where': {'year': '2020'}}
        """
        named = ("arm", "success", "threshold", "allocation", "round")
        columns = {name: getattr(self, name) for name in named if getattr(self, name) is not None}
        entries: dict[str, Any] = {"columns": columns}
        for entry in fields(self):
            value = getattr(self, entry.name)
            usual = {} if entry.name == "where" else entry.default
            if entry.name not in named and value != usual:
                entries[entry.name] = list(value) if isinstance(value, tuple) else value
        return entries

    def words(self) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
        """What means success and what failure, in small letters; None: everything else."""
        good = tuple(value.strip().lower() for value in self.success_values)
        bad = tuple(value.strip().lower() for value in self.failure_values)
        if good:
            return good, bad or None
        return (tuple(word for word in YES if word not in bad), bad) if bad else (YES, NO)
