"""What is moved is what NumPy would add; what was moved is gone from the part, all else stays.

And what results change is what `record_noted` notes: nothing else has to be looked at.
"""

from __future__ import annotations

import numpy as np
import pytest

from headgate.evidence import Evidence
from headgate.kernels.bins import BINS, COUNT, SUM
from headgate.kernels.move import move
from headgate.kernels.record_noted import record_noted


@pytest.mark.parametrize("seed", range(5))
def test_noted_cells_are_moved_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    part, total = rng.integers(0, 2, (6, 4, 2, BINS)) * 1.0, rng.integers(0, 9, (6, 4, 2, BINS)) * 1.0
    part[:, :, COUNT] -= rng.integers(0, 2, (6, 4, BINS))  # results are taken back too, of other bins and of the same
    part[:, :, SUM] *= rng.integers(-(2**40), 2**40, (6, 4, BINS))
    noted = rng.integers(0, 6 * 4 * BINS, 1_500)  # some more than once
    mine = np.zeros((6, 4, BINS), dtype=np.bool_)
    mine.reshape(-1)[noted] = True
    kept, had = part.copy(), total.copy()
    cells = np.full((noted.size, 5), -1, dtype=np.int64)
    moved = cells[: move(part, total, noted, cells)]
    both = np.repeat(mine[:, :, None], 2, axis=2)
    assert np.array_equal(total, had + kept * both)
    assert np.array_equal(part, kept * ~both)
    row, kind, place = np.nonzero(mine & kept.any(axis=2))
    expected = np.stack([row, kind, place, kept[row, kind, COUNT, place], kept[row, kind, SUM, place]], axis=1)
    assert np.array_equal(moved[np.lexsort(moved.T[2::-1])], expected)
    assert move(part, total, noted, cells) == 0


@pytest.mark.parametrize("seed", range(20))
def test_what_is_noted_is_what_changed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    evidence, arms, budget = Evidence.empty(7, 10.0), rng.permutation(7)[: rng.integers(1, 8)].astype(np.int64), 10.0
    x = np.where(rng.random(arms.size) < 0.2, 0.0, rng.uniform(0.0, budget, arms.size))
    won = (x > 0.0) & (rng.random(arms.size) < 0.6)
    threshold = np.where(won & (rng.random(arms.size) < 0.7), x * rng.random(arms.size), np.nan)
    cells = np.full(2 * arms.size, -1, dtype=np.int64)
    noted = record_noted(evidence.bins, evidence.edges, budget, arms, x, won, threshold, cells)
    changed = np.flatnonzero(evidence.bins.any(axis=2))
    assert np.array_equal(np.unique(cells[:noted]), changed)
    assert np.array_equal(evidence.bins, Evidence.of_rows(arms, x, won, threshold, arms=7, max_budget=budget).bins)


@pytest.mark.parametrize(
    ("x", "won", "threshold"),
    [(10.1, False, np.nan), (-1.0, False, np.nan), (0.0, True, np.nan), (2.0, True, 2.1), (2.0, True, -0.1),
     (np.nan, False, np.nan)],
)  # fmt: skip
def test_what_cannot_be_adds_nothing(x: float, won: bool, threshold: float) -> None:
    evidence, arms, cells = Evidence.empty(2, 10.0), np.array([0, 1]), np.empty(4, dtype=np.int64)
    columns = np.array([1.0, x]), np.array([True, won]), np.array([0.5, threshold])
    assert record_noted(evidence.bins, evidence.edges, 10.0, arms, *columns, cells) == -1
    assert not evidence.bins.any()
