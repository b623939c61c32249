"""Evidence as one group-by over arm, kind and bin, equal to `Evidence.of_rows` to the last bit.

A bin's number is guessed by a logarithm, which rounds as each engine likes, and put right by the bin's real edges. The
edges come as a table joined by the guess, since engines read long decimals out of SQL with an error in the last bit.
Sums are whole numbers, so it does not matter in which order, or on how many machines, they are added.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headgate.calibration.engine.connection import Table
from headgate.evidence import Evidence, bin_edges
from headgate.extras import extra
from headgate.kernels.bins import BINS, COUNT, FAILED, PER_OCTAVE, PLAYED, REACHED, SEEN, SUM, UNITS


def evidence_of(rows: Table, arms: Mapping[Any, int], max_budget: float) -> Evidence:
    """Add up rows of `arm` (a key of `arms`), `x` (what it got), `success` and `threshold`, `count` times each.

    The rows are trusted: screened, and none above `max_budget`.
    """
    ibis = extra("ibis")
    played = rows.filter(rows.x > 0)  # an arm that got nothing tells nothing
    allocations = played.select("arm", "count", kind=ibis.ifelse(played.success, PLAYED, FAILED), value=played.x)
    won = played.filter(played.success)
    shown = won.threshold.notnull()
    where = won.select(
        "arm", "count", kind=ibis.ifelse(shown, SEEN, REACHED), value=ibis.ifelse(shown, won.threshold, won.x)
    )
    values = ibis.union(allocations, where).mutate(kind=ibis._.kind.cast("int8"))
    frame = _binned(ibis, values, max_budget).to_pandas()
    evidence = Evidence.empty(len(arms), max_budget)
    arm = frame["arm"].map(arms).to_numpy(dtype=np.int64)
    kind, place = (frame[c].to_numpy(dtype=np.int64) for c in ("kind", "bin"))
    for what, column in ((COUNT, "n"), (SUM, "total")):
        added = frame[column].to_numpy(dtype=np.float64)
        np.add.at(evidence.bins, (arm, kind, what, place), added)
        lost = kind == FAILED  # those were played as well
        np.add.at(evidence.bins, (arm[lost], PLAYED, what, place[lost]), added[lost])
    return evidence


def _binned(ibis: Any, values: Table, max_budget: float) -> Table:
    """Count and whole units for each arm, kind and bin."""
    edges = bin_edges(max_budget)
    log = float(np.log2(edges[1]))
    safe = ibis.ifelse(values.value > 0, values.value, edges[1])  # some engines refuse the logarithm of 0
    guess = (PER_OCTAVE * (safe.log2() - log)).floor().cast("int64") + 1
    guessed = values.mutate(guess=ibis.least(ibis.greatest(guess, 0), BINS - 1))
    joined = guessed.inner_join(ibis.memtable(_around(edges)), "guess")
    below, above = joined.value < joined.low, joined.value >= joined.high
    edge = ibis.ifelse(below, joined.edge_below, ibis.ifelse(above, joined.edge_above, joined.edge))
    units = (joined.value / edge * UNITS + 0.5).floor().cast("int64")
    placed = joined.select(
        "arm", "kind", "count", units=units, bin=joined.guess + ibis.ifelse(below, -1, ibis.ifelse(above, 1, 0))
    )
    return placed.group_by("arm", "kind", "bin").agg(
        n=placed["count"].sum(), total=(placed.units * placed["count"]).sum()
    )


def _around(edges: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, Any]:
    """For each bin that may be guessed its two ends, and what it and its neighbours count in."""
    unit = np.maximum(edges, edges[1])  # bin 0 counts in the unit of bin 1
    return {
        "guess": np.arange(BINS),
        "low": edges,
        "high": np.r_[edges[1:], np.inf],
        "edge": unit,
        "edge_below": np.r_[unit[0], unit[:-1]],
        "edge_above": np.r_[unit[1:], unit[-1]],
    }
