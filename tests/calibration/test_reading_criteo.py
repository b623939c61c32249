"""Criteo's log against a loop over its rows: ties, bad rows, and the campaigns that were clicked most."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.calibration.reading import Criteo, criteo, read_log
from headgate.errors import InputError
from tests.calibration.references import assert_same, first_clicks, write_table

pytest.importorskip("ibis")

HEADER = ("timestamp", "uid", "campaign", "conversion", "click", "cost")
Impression = tuple[int, int, int, int]


def write(folder: Path, rows: list[Impression]) -> Path:
    return write_table(folder / "log.tsv", HEADER, [(t, u, c, 0, hit, 1e-5) for t, u, c, hit in rows], "\t")


@settings(max_examples=12, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=60
    )
)
def test_any_log_is_counted_as_a_loop_counts_it(rows: list[Impression]) -> None:
    with TemporaryDirectory() as folder:
        log = read_log(write(Path(folder), rows), "criteo")
    expected, budgets = first_clicks(rows)
    assert_same(log, expected)
    assert log.budgets is not None
    assert log.budgets.tolist() == budgets
    assert (log.kind, log.whole, log.units, log.reading.counted) == ("censored", True, "impressions", "impressions")


def test_impressions_of_the_clicks_own_second_are_not_before_it(tmp_path: Path) -> None:
    log = read_log(write(tmp_path, [(5, 1, 7, 0), (5, 1, 7, 1), (4, 1, 7, 0), (9, 1, 7, 1)]), "criteo")
    assert_same(log, [("7", 4.0, True, 2.0)])


def test_bad_rows_are_counted(tmp_path: Path) -> None:
    bad = [
        ("", 1, 7, 0, 0, 1), ("noon", 1, 7, 0, 0, 1), (-3, 1, 7, 0, 0, 1), (1, "", 7, 0, 0, 1), (1, 1, "x", 0, 0, 1),
        (1, 1, 7, 0, 2, 1), (1, 1, 7, 0, "", 1),
    ]  # fmt: skip
    path = write_table(tmp_path / "log.tsv", HEADER, [*bad, (1, 1, 7, 0, 1, 1)], "\t")
    log = read_log(path, "criteo")
    assert log.reading.dropped == {
        "click is neither 0 nor 1": 2,
        "timestamp missing or not a whole number": 2,
        "campaign missing or not a whole number": 1,
        "timestamp negative": 1,
        "uid missing or not a whole number": 1,
    }
    assert_same(log, [("7", 1.0, True, 1.0)])
    write_table(path, HEADER, bad, "\t")
    with pytest.raises(InputError, match="none of the 7 rows"):
        read_log(path, "criteo")


def test_the_campaigns_clicked_most(tmp_path: Path) -> None:
    rows = [(t, t % 5, c, int(c > 1 and t % c == 0)) for t in range(40) for c in range(1, 6)]
    path = write(tmp_path, rows)
    log = read_log(path, Criteo(campaigns=2))
    assert log.names == ("2", "3")
    kept = [row for row in rows if row[2] in {2, 3}]
    expected, budgets = first_clicks(kept)
    assert_same(log, expected)
    assert log.budgets is not None
    assert log.budgets.tolist() == budgets
    assert log.reading.dropped == {"impression of a campaign that was not chosen": 120}
    with pytest.raises(InputError, match="must have clicks on at least 5 campaigns, got 4"):
        read_log(path, Criteo(campaigns=5))


def test_budgets_of_very_many_users_are_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeded; the share of users with one impression is within 5 standard errors."""
    rng = np.random.default_rng(0)
    rows = [(t, int(u), 1, 0) for t, u in enumerate(rng.integers(0, 20_000, 30_000))]
    path = write(tmp_path, rows)
    every = read_log(path, "criteo").budgets
    monkeypatch.setattr(criteo, "ENOUGH", 4000)
    some = read_log(path, "criteo").budgets
    assert every is not None
    assert some is not None
    assert 3500 < some.size < 4500 < every.size
    share = float(np.mean(every == 1))
    assert abs(float(np.mean(some == 1)) - share) < 5.0 * np.sqrt(share * (1.0 - share) / some.size)


def test_there_is_no_limit_to_set(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="counts impressions, so there is no limit"):
        read_log(write(tmp_path, [(0, 1, 1, 1)]), "criteo", limit=5.0)
