"""Equal rows once, counted by a group-by; values are rounded where too many of them differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headgate.calibration.engine.connection import Engine, Table
from headgate.calibration.log import Rows
from headgate.extras import extra

EXACT = 200_000
"""Up to so many different rows are kept exactly."""
ROUNDED = 2_000_000
"""Up to so many rounded ones rather than a coarser resolution."""
BITS = (7, 5, 3)
"""Resolutions that are tried: so many bits after the leading one, which is 2^-bits of the value at most."""
TINY = 1e-250
"""Values up to here are left as they are: steps between them may be too small for a number."""
KEYS = ("arm", "allocation", "success", "threshold")


def condense(engine: Engine, rows: Table, *, whole: bool, exact: int = EXACT) -> tuple[Table, bool]:
    """Count equal rows, if they are few: rows with a `count` each, and whether all of them differ.

    Counting is not tried where an estimate, which may be wrong by some percent, says that it is in vain.
    """
    if whole or _least(rows) <= 2 * exact:
        counted = engine.keep(rows.group_by(*KEYS).agg(count=rows.count()))
        if int(counted.count().execute()) <= exact:
            return counted, True
        engine.drop(counted)
    return rows.mutate(count=extra("ibis").literal(1, "int64")), False


def distinct_rows(engine: Engine, rows: Table, arms: Mapping[Any, int], *, few: bool, most: int = ROUNDED) -> Rows:
    """Fetch what `condense` left: as it is if few, else with values rounded and added up again.

    Whole numbers below 2^8 stay exact at the finest resolution, and a threshold stays within its allocation.
    """
    if few:
        return _fetched(rows, arms, 0.0)
    table, bits = rows, 0
    for bits in BITS:
        near = rows.mutate(allocation=rounded(rows.allocation, bits), threshold=rounded(rows.threshold, bits))
        table = engine.keep(near.group_by(*KEYS).agg(count=near["count"].sum()))
        if bits == BITS[-1] or int(table.count().execute()) <= most:
            break
        engine.drop(table)
    return _fetched(table, arms, 2.0**-bits)


def rounded(value: Table, bits: int) -> Table:
    """Round a column to the nearest multiple of 2^-bits of the power of 2 below it; halves go up.

    The power comes from a logarithm that may be off at its ends, and is put right; all else is exact.
    """
    ibis = extra("ibis")
    normal = value > TINY
    safe = ibis.ifelse(normal, value, 1.0)
    guess = ibis.literal(2.0) ** safe.log2().floor()
    power = ibis.ifelse(guess > safe, guess / 2, ibis.ifelse(guess * 2 <= safe, guess * 2, guess))
    step = power / 2**bits
    return ibis.ifelse(normal, (safe / step + 0.5).floor() * step, value)


def _least(rows: Table) -> int:
    """About how many rows differ at the least: as many as an arm has values in one of its columns."""
    groups = rows.group_by("arm", "success").agg(
        allocations=rows.allocation.approx_nunique(), thresholds=rows.threshold.approx_nunique()
    )
    return int(extra("ibis").greatest(groups.allocations, groups.thresholds).sum().execute() or 0)


def _fetched(table: Table, arms: Mapping[Any, int], resolution: float) -> Rows:
    frame = table.select(*KEYS, "count").to_pandas()
    arm = frame["arm"].map(arms).to_numpy(dtype=np.int64)
    allocation = frame["allocation"].to_numpy(dtype=np.float64)
    allocation = np.where(np.isnan(allocation), np.inf, allocation)
    threshold = frame["threshold"].to_numpy(dtype=np.float64)
    success = frame["success"].to_numpy(dtype=np.bool_)
    count = frame["count"].to_numpy(dtype=np.int64)
    order = np.lexsort((threshold, success, allocation, arm))
    return Rows(arm[order], allocation[order], success[order], threshold[order], count[order], resolution)
