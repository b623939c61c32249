"""The made-up log: its form, its truth, and that what is read is what was drawn."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.bench.criteo_log import COLUMNS, MOST, WINDOW, Drawn, write_criteo
from headgate.calibration.reading import read_log
from headgate.datasets.criteo import campaigns
from headgate.errors import InputError
from headgate.laws import DiscreteWeibull
from headgate.problem import Problem
from tests.calibration.references import Row, assert_same, first_clicks

pytest.importorskip("ibis")


def rows_of(drawn: Drawn) -> list[Row]:
    return [
        (drawn.names[arm], float(given), bool(won), float(seen))
        for arm, given, won, seen in zip(drawn.arm, drawn.allocation, drawn.success, drawn.threshold, strict=True)
    ]


def lines(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        header, *rest = (line.rstrip("\n").split("\t") for line in file)
    return [dict(zip(header, row, strict=True)) for row in rest]


@pytest.mark.long
@settings(max_examples=15, deadline=None)
@given(
    rows=st.integers(1, 3000), seed=st.integers(0, 2**31), mean=st.floats(1.0, 40.0),
    arms=st.integers(1, 6), shape=st.floats(0.5, 2.0), activation=st.floats(0.0, 1.0),
)  # fmt: skip
def test_what_is_read_is_what_was_drawn(
    rows: int, seed: int, mean: float, arms: int, shape: float, activation: float
) -> None:
    problem = Problem(DiscreteWeibull(shape=shape), activation=np.full(arms, activation), rate=np.full(arms, 0.4))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.tsv.gz"
        drawn = write_criteo(path, rows, seed=seed, problem=problem, mean=mean, level=1)
        table = lines(path)
        log = read_log(path, "criteo")
    assert len(table) == log.reading.read == log.reading.used == rows
    raw = [(int(r["timestamp"]), int(r["uid"]), int(r["campaign"]), int(r["click"])) for r in table]
    slow, budgets = first_clicks(raw)
    assert Counter(map(str, slow)) == Counter(map(str, rows_of(drawn)))  # text, since nan is not nan
    assert budgets == sorted(drawn.budgets.tolist())
    assert log.budgets is not None
    assert log.budgets.tolist() == budgets
    assert_same(log, rows_of(drawn))


def test_the_log_has_the_form_of_criteos(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv.gz"
    drawn = write_criteo(path, 20_000, seed=3)
    table = lines(path)
    assert tuple(table[0]) == COLUMNS
    times = [int(row["timestamp"]) for row in table]
    assert times == sorted(times)
    assert 0 <= times[0] < times[-1] < WINDOW
    assert max(drawn.budgets) <= MOST
    users = [row["uid"] for row in table]
    assert users != sorted(users)
    for row in table:
        bought = row["conversion"] == "1"
        assert not bought or row["click"] == "1"
        assert (int(row["conversion_timestamp"]) > int(row["timestamp"])) == bought
        assert (row["conversion_id"] != "-1") == bought
    assert sum(row["conversion"] == "1" for row in table) > 50


def test_thresholds_follow_the_law_they_were_drawn_from(tmp_path: Path) -> None:
    """Seeded; each of 15 shares is within 5 standard errors, which fails by chance once in 10^5."""
    problem = campaigns()
    drawn = write_criteo(tmp_path / "log.tsv", 200_000, seed=4)
    for arm in range(problem.arms):
        mine = (drawn.arm == arm) & (drawn.allocation >= 2)
        expected = float(problem.activation[arm] * problem.law.of_arm(arm).cdf(2.0, problem.rate[arm]))
        share = float(np.mean(drawn.threshold[mine] <= 2.0))
        assert abs(share - expected) < 5.0 * np.sqrt(expected * (1.0 - expected) / mine.sum())


def test_the_same_seed_writes_the_same_file(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_criteo(tmp_path / f"{name}.tsv.gz", 500, seed=seed)
    a, b, c = ((tmp_path / f"{name}.tsv.gz").read_bytes() for name in "abc")
    assert a == b != c


def test_no_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="rows must be a whole number of at least 1, got 0"):
        write_criteo(tmp_path / "log.tsv", 0)
    with pytest.raises(InputError, match="mean must be"):
        write_criteo(tmp_path / "log.tsv", 5, mean=0.5)
