"""What a contextual policy remembers: the information of a regression for each law, and the moments of features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from headgate.errors import ShapeError
from headgate.evidence import Evidence
from headgate.evidence.information import Information
from headgate.evidence.moments import joined, no_moments, shifted
from headgate.laws import Floats
from headgate.policies.state import State, plain

COLUMNS = 5
"""Of a row that is kept, before its features."""
_INFORMATION = ("precision", "vector", "cross", "own", "own_vector")
SLOPES, OWN, OWN_SLOPES = range(3)
"""Groups of coefficients with a variance of their own: shared slopes, arms' own intercepts, arms' own slopes."""


@dataclass(slots=True, eq=False)
class ContextualState(State):
    """Evidence beside features, and what the regression knows; see `headgate.evidence.information`."""

    precision: Floats
    """Of the shared coefficients under each of M laws: (..., M, D, D)."""
    vector: Floats
    """(..., M, D)."""
    cross: Floats
    """(..., M, K, D, o)."""
    own: Floats
    """(..., M, K, o, o)."""
    own_vector: Floats
    """(..., M, K, o)."""
    log_evidence: Floats
    """How likely each law has made what was seen, round by round: (..., M)."""
    variances: Floats
    """Of the coefficients' prior, by law, coordinate and group: (..., M, C, 3)."""
    reference: Floats
    """What each feature is measured from, NaN before anything is seen: (..., d)."""
    moments: Floats
    """Of the features, from the reference: (..., 5, d)."""
    width: int
    """The largest number of arms that a round had."""
    doubted: NDArray[np.bool_]
    """Arms whose evidence contradicts their law: (..., K)."""
    old_precision: Floats
    """The part of `precision` that is of rows which are no longer kept; so are the next four."""
    old_vector: Floats
    old_cross: Floats
    old_own: Floats
    old_own_vector: Floats
    rows: Floats
    """The last rows, which are linearised again: (..., memory, 5 + d), see `contextual_memory`."""
    kept: NDArray[np.int64]
    """How many rows are kept, and how many of them have come since all were linearised last: (..., 2)."""

    def from_dict(self, data: Mapping[str, Any]) -> Self:
        """Read; a state of another release doubts nobody yet, and keeps no rows."""
        later: dict[str, Any] = {name: plain(getattr(self, name)) for name in ("doubted", "rows", "kept")}
        later |= {f"old_{name}": data[name] for name in _INFORMATION}
        return State.from_dict(self, later | dict(data))

    @classmethod
    def empty(
        cls, evidence: Evidence, lead: tuple[int, ...], laws: int, features: int, arms: int, variances: Floats,
        own: int, memory: int,
    ) -> ContextualState:  # fmt: skip
        """Return the state of nothing; `variances` (C, 3) are those before anything is seen, `own` counts columns."""
        size, o = len(variances) * (features + 1), len(variances) * own
        info, old = (Information.empty(size, arms, o, (*lead, laws)) for _ in range(2))
        return cls(
            evidence, 0, info.precision, info.vector, info.cross, info.own, info.own_vector, np.zeros((*lead, laws)),
            np.tile(variances, (*lead, laws, 1, 1)), np.full((*lead, features), np.nan), no_moments(features, lead),
            max(arms, 1), np.zeros((*lead, arms), dtype=np.bool_),
            old.precision, old.vector, old.cross, old.own, old.own_vector,
            np.zeros((*lead, memory, COLUMNS + features)), np.zeros((*lead, 2), dtype=np.int64),
        )  # fmt: skip

    @property
    def information(self) -> Information:
        """The arrays of all learners and laws, not copied."""
        return Information(self.precision, self.vector, self.cross, self.own, self.own_vector)

    @property
    def old(self) -> Information:
        """The part of it that is of rows which are no longer kept, not copied."""
        return Information(*(getattr(self, f"old_{name}") for name in _INFORMATION))

    def referred(self, index: tuple[int, ...], z: Floats) -> Floats:
        """Return rows (n, d) measured from the reference; what is missing lies there."""
        reference = self.reference[index]
        fresh = np.isnan(reference)
        if fresh.any():
            reference = np.where(fresh, _means(z), reference)
        away = np.asarray(z - np.nan_to_num(reference))
        if np.isnan(away.sum()):  # one pass, where most rows have nothing missing
            np.nan_to_num(away, nan=0.0, copy=False)
        return away

    def refer(self, index: tuple[int, ...], z: Floats) -> None:
        """Let columns that are seen for the first time be measured from the mean of these rows (n, d)."""
        reference = self.reference[index]
        fresh = np.isnan(reference)
        if fresh.any():
            reference[fresh] = _means(z)[fresh]

    def merge(self, other: ContextualState) -> None:
        """Add what another learner has seen, in place: the sum of both, whose linearisations stay as they are.

        The other's rows are not kept.
        """
        if self.precision.shape != other.precision.shape or self.cross.shape != other.cross.shape:
            raise ShapeError(
                "learners merge only with the same laws, features and arms, got "
                f"{self.cross.shape} and {other.cross.shape}"
            )
        evidence = self.evidence.merge(other.evidence)  # refuses what does not fit, before anything has changed
        for index in np.ndindex(self.reference.shape[:-1]):
            mine, theirs = self.reference[index], other.reference[index]
            fresh = np.isnan(mine)
            mine[fresh] = theirs[fresh]
            by = np.where(np.isnan(theirs), 0.0, theirs - mine)  # theirs are so much larger, measured from mine
            self.moments[index] = joined(self.moments[index], shifted(other.moments[index], by))
            units = np.eye(len(by) + 1)
            units[0, 1:] = by
            for law in range(self.precision.shape[len(index)]):
                more = other.information.at((*index, law)).in_units(units)
                for total in (self.information, self.old):
                    total.at((*index, law)).include(more)
        self.log_evidence += other.log_evidence
        self.evidence, self.width, self.round = evidence, max(self.width, other.width), self.round + other.round


def _means(z: Floats) -> Floats:
    """The mean of each column's numbers, NaN where there are none: (d,)."""
    there = ~np.isnan(z)
    count = np.maximum(there.sum(axis=0), 1)
    return np.where(there.any(axis=0), np.where(there, z / count, 0.0).sum(axis=0), np.nan)
