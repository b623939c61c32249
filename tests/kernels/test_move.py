"""What is moved is what NumPy would add; what was moved is gone from the part, all else stays."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.kernels.bins import COUNT, SUM
from headgate.kernels.move import move


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_moved_and_told(seed: int) -> None:
    rng = np.random.default_rng(seed)
    part, total = rng.integers(0, 2, (6, 4, 2, 129)) * 1.0, rng.integers(0, 9, (6, 4, 2, 129)) * 1.0
    part[:, :, COUNT] -= rng.integers(0, 2, (6, 4, 129))  # results are taken back too, of other bins and of the same
    part[:, :, SUM] *= rng.integers(-(2**40), 2**40, (6, 4, 129))
    rows = np.array([0, 2, 5])
    kept, had = part.copy(), total.copy()
    cells = np.full((rows.size * 4 * 129, 5), -1, dtype=np.int64)
    moved = cells[: move(part, total, rows, cells)]
    had[rows] += kept[rows]
    assert np.array_equal(total, had)
    assert not part[rows].any()
    others = [1, 3, 4]
    assert np.array_equal(part[others], kept[others])
    which, kind, place = np.nonzero(kept[rows].any(axis=2))
    expected = np.stack(
        [rows[which], kind, place, kept[rows[which], kind, COUNT, place], kept[rows[which], kind, SUM, place]], axis=1
    )
    assert np.array_equal(moved, expected)
    assert move(part, total, rows, cells) == 0
