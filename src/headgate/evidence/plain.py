"""Evidence as plain data: one format for policies' JSON, for the service's import and export, and for files.

```json
{"version": 3, "max_budget": 30.0, "bins": [8, 16],
 "arms": {"q1": {"failed": [[97, 2, 2411724]], "played": [[97, 2, 2411724], [105, 1, 1048576]],
                 "seen": [[89, 1, 1153434]]},
          "q2": {}}}
```

`bins` are bins to an octave and octaves, as `bin_edges` has them. Of each arm and kind (allocations that failed,
allocations played, thresholds seen, and "reached": allocations of successes whose threshold is not known) every bin
that holds something is a cell [bin, count, total]. A total counts in units of the bin's lower edge / 2^20 (of the
second bin's for bin 0), so it is whole, and evidence adds up cell by cell. Only evidence that was discounted has
fractions.

`arms` is a mapping from names, or a list where arms have none. The evidence of a batch of learners has `batch`, its
shape, and a list of the arms of one learner after the other. Earlier versions are still read: version 2, which has no
"reached", and version 1, which policies wrote before: the non-zero numbers of the whole array (`what`) and their places
in it (`where`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headgate.errors import ParameterError, ShapeError, UnknownArmError
from headgate.kernels.bins import BINS, COUNT, FAILED, OCTAVES, PER_OCTAVE, PLAYED, REACHED, SEEN, SUM, UNITS
from headgate.laws import Floats

KINDS = {"failed": FAILED, "played": PLAYED, "seen": SEEN, "reached": REACHED}
VERSION = 3
_MOST_TRIALS = 2.0**40
_EXACT = 2.0**53  # up to here whole numbers are exact in double precision
_LEAST = np.concatenate([[0.0], np.full(BINS - 1, UNITS)])
_MOST = np.concatenate([[UNITS], np.full(BINS - 1, UNITS * 2.0 ** (1.0 / PER_OCTAVE) + 1.0)])
"""What one value adds to the total of each bin, at least and at most; rounding may add one unit."""


def write(bins: Floats, max_budget: float, names: Sequence[str] | None) -> dict[str, Any]:
    """Return the plain data of histograms (..., K, kind, [count, sum], bin); with names, of a single learner."""
    *batch, arms = bins.shape[:-3]
    data: dict[str, Any] = {"version": VERSION, "max_budget": max_budget, "bins": [PER_OCTAVE, OCTAVES]}
    cells = [_cells(arm) for arm in bins.reshape(-1, *bins.shape[-3:])]
    if names is None:
        return {**data, "batch": batch, "arms": cells} if batch else {**data, "arms": cells}
    if batch or len(names) != arms or len(set(names)) != arms:
        raise ShapeError(f"names must be one for each of {arms} arms of a single learner, got {list(names)!r}")
    return {**data, "arms": dict(zip(names, cells, strict=True))}


def read(data: Any, names: Sequence[str] | None = None) -> tuple[Floats, float]:
    """Return histograms and max_budget from plain data, or raise if no log could have left it.

    `names` says which arms there are and in which order: arms that are not mentioned have no evidence.
    """
    if not isinstance(data, Mapping) or not {"max_budget", "bins"} <= data.keys():
        raise ParameterError(f"evidence must be an object with max_budget, bins and arms, got {_short(data)}")
    if data["bins"] not in ([PER_OCTAVE, OCTAVES], (PER_OCTAVE, OCTAVES)):
        raise ParameterError(f"evidence has bins {_short(data['bins'])}, this version reads {[PER_OCTAVE, OCTAVES]}")
    bins = _first_version(data) if "where" in data else _cells_of(data, names)
    if names is not None and bins.shape[:-3] != (len(names),):
        raise ShapeError(f"evidence is of arms {bins.shape[:-3]}, there are {len(names)}")
    _check(bins)
    return bins, data["max_budget"]


def _cells(arm: Floats) -> dict[str, list[list[float]]]:
    """Return the cells of one arm (kind, [count, sum], bin), kinds without any left out."""
    cells = {}
    for kind, place in KINDS.items():
        places = np.flatnonzero(arm[place].any(axis=0))
        if places.size:
            cells[kind] = [[int(b), *map(_number, arm[place, :, b].tolist())] for b in places]
    return cells


def _number(value: float) -> float:
    """Whole numbers are written as such."""
    return int(value) if value.is_integer() else value


def _cells_of(data: Mapping[str, Any], names: Sequence[str] | None) -> Floats:
    arms, batch = data.get("arms"), data.get("batch", [])
    if isinstance(arms, Mapping):
        order = {name: place for place, name in enumerate(arms if names is None else names)}
        unknown = [name for name in arms if name not in order]
        if unknown:
            raise UnknownArmError(f"there is no arm {unknown[0]!r} among {_short(list(order))}")
        items = [(name, order[name], kinds) for name, kinds in arms.items()]
        shape: tuple[int, ...] = (len(order),)
    elif isinstance(arms, Sequence) and not isinstance(arms, str):
        items = [(str(place), place, kinds) for place, kinds in enumerate(arms)]
        shape = _batched(batch, len(arms))
    else:
        raise ParameterError(f"arms must be cells by name, or a list of them, got {_short(arms)}")
    bins = np.zeros((math.prod(shape), len(KINDS), 2, BINS))
    for name, place, kinds in items:
        if not isinstance(kinds, Mapping) or not kinds.keys() <= KINDS.keys():
            raise ParameterError(f"arm {name!r} must have cells by kind, {', '.join(KINDS)}, got {_short(kinds)}")
        for kind, cells in kinds.items():
            _place(bins[place, KINDS[kind]], cells, f"{kind} of arm {name!r}")
    return bins.reshape(*shape, len(KINDS), 2, BINS)


def _batched(batch: Any, rows: int) -> tuple[int, ...]:
    """Return the shape (..., K) of a list of the arms of a batch."""
    learners = math.prod(batch)
    if learners < 1 or rows % learners:
        raise ShapeError(f"a batch of shape {batch} cannot have {rows} arms")
    return (*batch, rows // learners)


def _place(histogram: Floats, cells: Any, where: str) -> None:
    """Put cells into a histogram ([count, sum], bin)."""
    try:
        table = np.array(cells, dtype=np.float64).reshape(-1, 3)
    except (TypeError, ValueError, OverflowError) as cause:
        raise ParameterError(f"{where} must be cells of [bin, count, total], got {_short(cells)}") from cause
    place, counts = table[:, 0], table[:, 1]
    good = (place >= 0) & (place < BINS) & (place == np.floor(place)) & (counts >= 0) & (counts <= _MOST_TRIALS)
    if not good.all():
        wrong = table[np.argmin(good)].tolist()
        raise ParameterError(f"{where} must have cells of [bin < {BINS}, count, total], got {wrong}")
    if len(set(place.tolist())) < len(place):
        raise ParameterError(f"{where} has a bin twice: {_short(cells)}")
    histogram[:, place.astype(np.int64)] = table[:, 1:].T


def _first_version(data: Mapping[str, Any]) -> Floats:
    bins = np.zeros((*data["shape"], 3, 2, BINS))  # before there were successes without a threshold
    bins.reshape(-1)[np.asarray(data["where"], dtype=np.int64)] = data["what"]
    return np.concatenate([bins, np.zeros((*data["shape"], len(KINDS) - 3, 2, BINS))], axis=-3)


def _check(bins: Floats) -> None:
    """Raise if no log could have left these histograms; what was discounted is exact up to rounding only."""
    counts, totals = bins[..., COUNT, :], bins[..., SUM, :]
    slack, tiny = (0.0, 0.0) if np.array_equal(bins, np.floor(bins)) else (1e-9, 1e-290)
    least, most = counts * _LEAST * (1.0 - slack) - tiny, counts * _MOST * (1.0 + slack) + tiny
    good = (totals >= least) & (totals <= most) & (totals < _EXACT)
    if not good.all():
        *_, kind, place = at = tuple(np.argwhere(~good)[0])
        raise ParameterError(
            f"a total of {totals[at]:.16g} does not fit {counts[at]:.16g} values {list(KINDS)[kind]} in bin {place}; "
            "totals must be below 2^53"
        )
    failed, played, seen, reached = np.moveaxis(counts.sum(axis=-1), -1, 0)
    if np.any(np.abs(played - failed - seen - reached) > slack * played + tiny):
        raise ParameterError("of every arm, failed, seen and reached must add up to played")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
