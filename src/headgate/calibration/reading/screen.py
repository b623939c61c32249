"""Screening: bad rows are counted by reason in one aggregate, and only the good ones go on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from headgate.calibration.engine import Engine, Table
from headgate.calibration.log import Kind
from headgate.calibration.reading.tables import torn
from headgate.calibration.reading.time_limit import AUTO, TimeLimit, limited, recognise
from headgate.calibration.records import kept_columns, with_features
from headgate.errors import InputError
from headgate.extras import extra
from headgate.laws import Floats

if TYPE_CHECKING:
    from headgate.calibration.reading.columns import Columns

HUGE = 1e308
SAMPLE = 100_000
"""So many budgets are kept."""
TORN = "line that cannot be split into columns"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Clean:
    """Rows that can be used as they are: arm, allocation, success and threshold; null where not known."""

    rows: Table
    kind: Kind
    read: int
    dropped: Mapping[str, int]
    whole: bool = False
    units: str | None = None
    budgets: Floats | None = None
    counted: str = "rows"
    """What was read, used and dropped."""
    kept: Table | None = None
    """The same rows with their features and rounds, where these are kept."""
    time_limit: TimeLimit | None = None
    """What was recognised, where rows were cut off."""

    @property
    def used(self) -> int:
        """How many of those read are left."""
        return self.read - sum(self.dropped.values())


def screen(engine: Engine, source: Table, mapping: Columns, label: object) -> Clean:
    """Parse the columns, count what is wrong with them, and return what is right."""
    parsed = engine.keep(parse(source, mapping))
    kind = mapping.kind or _kind(parsed)
    has_allocation = "allocation" in parsed.columns
    judged = parsed.mutate(reason=_reason(parsed, kind, mapping))
    condition = " and ".join(f"{column} = {str(value)!r}" for column, value in mapping.where.items())
    read, dropped = tally(engine, label, judged, empty=f"no row of {label} has {condition}" if condition else None)
    ibis = extra("ibis")
    good = judged.filter(judged.reason.isnull())
    shown = good.threshold if kind == "observed" else ibis.ifelse(good.success, good.threshold, ibis.null("float64"))
    allocation = good.allocation if has_allocation else ibis.null("float64")
    budgets = None if mapping.round is None or kind == "complete" else _budgets(good, kind)
    more = kept_columns(mapping.features, rounds=mapping.round is not None)
    kept = good.select("arm", "success", *more, allocation=allocation, threshold=shown)
    limit = None
    if mapping.time_limit == AUTO and kind == "observed" and not mapping.whole:
        limit = recognise(kept)
        if limit is not None:
            kept, kind = limited(kept, limit), "censored"
    return Clean(
        kept.select("arm", "success", "allocation", "threshold"), kind, read, dropped, mapping.whole, mapping.units,
        budgets, kept=kept if more else None, time_limit=limit,
    )  # fmt: skip


def sample(totals: Table) -> Floats:
    """The values of a column `total`, smallest first; of too many, those at even steps."""
    frame = totals.group_by("total").agg(n=totals.count()).to_pandas().sort_values("total")
    # Engines add in any order: what differs only in the last bits is the same budget.
    values = np.array([float(f"{value:.12g}") for value in frame.total], dtype=np.float64)
    upto = np.cumsum(frame.n.to_numpy(dtype=np.int64))
    size = int(min(upto[-1], SAMPLE)) if upto.size else 0
    places = ((np.arange(size) + 0.5) * (upto[-1] / size)).astype(np.int64) if size else np.empty(0, dtype=np.int64)
    return values[np.searchsorted(upto, places, side="right")]


def tally(engine: Engine, label: object, *judged: Table, empty: str | None = None) -> tuple[int, dict[str, int]]:
    """Return how many rows were read, and how many of them dropped by `reason`, the most frequent first.

    A row whose reason is null is good. An error if none is good, in the words of `empty` if there is none at all.
    """
    counts = count_reasons(*judged)
    if empty is not None and not counts:
        raise InputError(empty)
    return read_and_dropped(label, counts | {TORN: torn(engine)})


def count_reasons(*judged: Table) -> dict[str | None, int]:
    """Return how many rows have each `reason`; None for the good ones."""
    counts: dict[str | None, int] = {}
    for table in judged:
        frame = table.group_by("reason").agg(n=table.count()).to_pandas()
        for reason, n in zip(frame.reason, frame.n, strict=True):
            name = reason if isinstance(reason, str) else None
            counts[name] = counts.get(name, 0) + int(n)
    return counts


def read_and_dropped(label: object, counts: Mapping[str | None, int]) -> tuple[int, dict[str, int]]:
    """Return how many rows were read, and how many dropped by reason, the most frequent first; an error if all were."""
    read = sum(counts.values())
    bad = sorted((-n, reason) for reason, n in counts.items() if reason is not None and n)
    dropped = {reason: -n for n, reason in bad}
    if read == 0:
        raise InputError(f"{label} has no rows")
    if read == sum(dropped.values()):
        why = "; ".join(f"{reason}: {count:,}" for reason, count in dropped.items())
        raise InputError(f"none of the {read:,} rows of {label} can be used: {why}")
    return read, dropped


def number(column: Table) -> Table:
    """A column as numbers, null where it is not one."""
    return column if column.type().is_float64() else column.try_cast("float64")


def scaled(value: Table, scale: float) -> Table:
    """Multiply by a scale; by 0.001 is to divide by 1000, which rounds only once."""
    if scale == 1.0:
        return value
    inverse = round(1.0 / scale)
    if scale < 1.0 and abs(inverse * scale - 1.0) < 1e-12:
        return value / inverse
    return value * (int(scale) if scale == int(scale) else scale)


def blank(column: Table) -> Table:
    """Whether nothing is there: null, nan, or text of spaces only."""
    nothing = column.isnull()
    if column.type().is_string():
        nothing |= column.strip() == ""
    if column.type().is_floating():
        nothing |= column.isnan()
    return nothing.fill_null(True)


def parse(source: Table, mapping: Columns) -> Table:
    """The columns that matter, with text beside numbers that says whether there was any."""
    ibis = extra("ibis")
    for column, value in mapping.where.items():
        source = source.filter(_equal(source[column], str(value)))
    good, bad = mapping.words()
    word = source[mapping.success].cast("string").strip().lower()
    has_answer = ~blank(source[mapping.success])
    other = has_answer if bad is None else word.isin(bad)
    columns: dict[str, Any] = {
        "arm": ibis.ifelse(blank(source[mapping.arm]), ibis.null("string"), source[mapping.arm].cast("string").strip()),
        "success": ibis.cases((word.isin(good), True), (other, False), else_=ibis.null("boolean")),
        "answered": has_answer,
        "threshold": scaled(number(source[mapping.threshold]), mapping.threshold_scale),
        "timed": ~blank(source[mapping.threshold]),
    }
    if mapping.untold:
        unknown = columns["threshold"].isnan().fill_null(False)
        columns["threshold"] = ibis.ifelse(unknown, ibis.null("float64"), columns["threshold"])
        columns["timed"] &= ~unknown
    if mapping.allocation is not None:
        scale = mapping.threshold_scale if mapping.allocation_scale is None else mapping.allocation_scale
        columns["allocation"] = scaled(number(source[mapping.allocation]), scale)
        columns["given"] = ~blank(source[mapping.allocation])
    elif isinstance(mapping.time_limit, float):
        columns["allocation"], columns["given"] = ibis.literal(mapping.time_limit), ibis.literal(True)
    if mapping.round is not None:
        columns["round"] = source[mapping.round].cast("string")
    columns |= with_features(source, mapping.features, blank)
    return source.select(**columns)


def _equal(column: Table, value: str) -> Table:
    """Whether a column has a value given as text: the same number where it holds numbers, else the same text."""
    if not column.type().is_numeric():
        return column.cast("string") == (value.lower() if column.type().is_boolean() else value)
    try:
        return column.cast("float64") == float(value)
    except ValueError:
        return extra("ibis").literal(False)


def _kind(parsed: Table) -> Kind:
    if "allocation" in parsed.columns:
        return "censored"
    failures = parsed.filter(~parsed.success)
    timed, every = failures.agg(timed=failures.timed.cast("int64").sum(), every=failures.count()).to_pandas().iloc[0]
    return "observed" if every and timed * 2 > every else "complete"


def _budgets(good: Table, kind: Kind) -> Floats:
    """What the rows of each round were given together, or took."""
    rows = good.filter(good["round"].notnull())
    amount = rows.allocation if kind == "censored" else rows.threshold
    return sample(rows.group_by("round").agg(total=amount.sum()))


def _reason(rows: Table, kind: Kind, mapping: Columns) -> Table:
    """The first thing that is wrong with a row; null if nothing is."""
    ibis = extra("ibis")
    needs = (rows.success | (kind == "observed")).fill_null(False)
    wrong = [(rows.arm.isnull(), "arm missing")]
    wrong += [(~rows.answered, "success missing"), (rows.success.isnull(), "success is an unknown answer")]
    has_allocation = "allocation" in rows.columns
    if has_allocation:
        wrong += _amount("allocation", rows.allocation, rows.given)
    if mapping.untold:
        wrong += [(rows.success & ~rows.timed & (rows.allocation <= 0), "success with an allocation of 0")]
        needs &= rows.timed
    wrong += [(needs & bad, reason) for bad, reason in _amount("threshold", rows.threshold, rows.timed)]
    if mapping.limit is not None:
        wrong += [(needs & (rows.threshold > mapping.limit), f"threshold above the limit of {mapping.limit:g}")]
    if mapping.whole:
        odd = (rows.threshold < 1) | (rows.threshold % 1 != 0)
        wrong += [(needs & odd, "threshold is not a whole number of at least 1")]
    if has_allocation:
        wrong += [(rows.success & (rows.threshold > rows.allocation), "success with a threshold above its allocation")]
    return ibis.cases(*((bad.fill_null(False), reason) for bad, reason in wrong), else_=ibis.null("string"))


def _amount(name: str, value: Table, there: Table) -> list[tuple[Table, str]]:
    ibis = extra("ibis")
    text_nan = value.isnan().fill_null(False)
    return [
        (~there | text_nan, f"{name} missing"),
        (value.isnull(), f"{name} is not a number"),
        (value.abs() > HUGE, f"{name} is not finite"),  # not isinf(), which ibis has wrong for Spark
        (value < ibis.literal(0), f"{name} negative"),
    ]
