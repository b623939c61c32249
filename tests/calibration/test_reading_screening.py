"""Bad rows: counted by kind, never used; and what the columns are taken to mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headgate.calibration import calibrate
from headgate.calibration.reading import Columns, read_log
from headgate.errors import InputError, UnsupportedError
from headgate.estimators import likelihood
from headgate.laws import Exponential
from tests.calibration.references import Row, assert_same, counted, write_table

pytest.importorskip("ibis")

HEADER = ("arm", "won", "time", "given")
MAPPING = Columns(arm="arm", success="won", threshold="time", allocation="given", limit=100.0)
GOOD = ("a", "1", "2", "3")
BAD = {
    "arm missing": [("", "1", "2", "3"), ("  ", "1", "2", "3")],
    "success missing": [("a", "", "2", "3")],
    "success is an unknown answer": [("a", "perhaps", "2", "3"), ("a", "2", "2", "3"), ("a", "-1", "2", "3")],
    "allocation missing": [("a", "1", "2", ""), ("a", "0", "", "nan")],
    "allocation is not a number": [("a", "1", "2", "3 s")],
    "allocation is not finite": [("a", "0", "", "inf")],
    "allocation negative": [("a", "0", "", "-3")],
    "threshold missing": [("a", "1", "", "3"), ("a", "1", "NaN", "3")],
    "threshold is not a number": [("a", "1", "two", "3")],
    "threshold is not finite": [("a", "1", "inf", "3"), ("a", "1", "-inf", "3")],
    "threshold negative": [("a", "1", "-0.5", "3")],
    "threshold above the limit of 100": [("a", "1", "100.5", "300")],
    "success with a threshold above its allocation": [("a", "1", "3.1", "3")],
}


def log_of(folder: Path, rows: Sequence[tuple[str, ...]]) -> Path:
    return write_table(folder / "log.csv", HEADER, rows)


def test_successes_may_leave_their_threshold_untold(tmp_path: Path) -> None:
    rows = [GOOD, ("a", "1", "", "3"), ("a", "1", "NaN", "4"), ("a", "0", "", "2"), ("a", "1", "", "0")]
    log = read_log(log_of(tmp_path, rows), replace(MAPPING, untold=True))
    assert log.reading.dropped == {"success with an allocation of 0": 1}
    assert log.evidence.counts("reached").sum() == 2.0
    assert log.evidence.successes[0] == 3.0
    assert 0.0 < likelihood(Exponential(), log.evidence).activation[0] < 1.0
    with pytest.raises(UnsupportedError, match="2 successes do not tell their threshold"):
        calibrate(log)
    with pytest.raises(InputError, match="untold thresholds need"):
        replace(MAPPING, untold=True, allocation=None)


@pytest.mark.parametrize("reason", list(BAD))
def test_each_kind_of_bad_row_is_counted_and_not_used(tmp_path: Path, reason: str) -> None:
    log = read_log(log_of(tmp_path, [*BAD[reason], GOOD]), MAPPING)
    assert log.reading.dropped == {reason: len(BAD[reason])}
    assert (log.reading.read, log.reading.used) == (len(BAD[reason]) + 1, 1)
    assert_same(log, [("a", 3.0, True, 2.0)])


def test_a_log_of_only_bad_rows_is_an_error_that_says_the_counts(tmp_path: Path) -> None:
    path = log_of(tmp_path, [*BAD["arm missing"], *BAD["threshold negative"]])
    with pytest.raises(
        InputError, match=r"none of the 3 rows of .* can be used: arm missing: 2; threshold negative: 1"
    ):
        read_log(path, MAPPING)


def test_where_compares_numbers_as_numbers(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {"arm": ["a", "b"], "won": [1, 1], "time": [2.0, 3.0], "grp": [1.0, 2.0], "new": [True, False]}
    )
    path = tmp_path / "log.parquet"
    table.to_parquet(path)
    for where in ({"grp": "1"}, {"grp": "1.0"}, {"new": "True"}, {"arm": "a"}):
        log = read_log(path, Columns(arm="arm", success="won", threshold="time", where=where))
        assert log.names == ("a",)
    for where, said in (({"grp": "3"}, "grp = '3'"), ({"grp": "x"}, "grp = 'x'"), ({"arm": "zzz"}, "arm = 'zzz'")):
        with pytest.raises(InputError, match=f"no row of .* has {said}"):
            read_log(path, Columns(arm="arm", success="won", threshold="time", where=where))


def test_a_log_without_any_success_says_so_and_what_was_dropped(tmp_path: Path) -> None:
    mapping = Columns(arm="arm", success="won", threshold="time", kind="complete")
    path = log_of(tmp_path, [("a", "0", "", ""), ("a", "1", "x", "")])
    with pytest.raises(InputError, match=r"nothing succeeded.*\(dropped: threshold is not a number: 1\)"):
        read_log(path, mapping)
    path = log_of(tmp_path, [("a", "1", "0", ""), ("a", "0", "", "")])
    with pytest.raises(InputError, match="every threshold of a success is 0"):
        read_log(path, mapping)


def test_how_it_was_read_is_kept(tmp_path: Path) -> None:
    mapping = replace(MAPPING, where={"arm": "a"}, round="arm")
    log = read_log(log_of(tmp_path, [GOOD]), mapping)
    columns = {"arm": "arm", "success": "won", "threshold": "time", "allocation": "given", "round": "arm"}
    assert log.reading.how == {"columns": columns, "limit": 100.0, "where": {"arm": "a"}}


def test_all_kinds_at_once_add_up(tmp_path: Path) -> None:
    log = read_log(log_of(tmp_path, [row for rows in BAD.values() for row in rows] + [GOOD]), MAPPING)
    assert log.reading.dropped == {reason: len(rows) for reason, rows in BAD.items()}
    assert list(log.reading.dropped.values()) == sorted(log.reading.dropped.values(), reverse=True)


def test_lines_that_cannot_be_split_are_counted(tmp_path: Path) -> None:
    path = log_of(tmp_path, [GOOD])
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write('a,1\r\na,1,2,3,4\r\na,1,"2" s,3\r\n')
    log = read_log(path, MAPPING)
    assert log.reading.dropped == {"line that cannot be split into columns": 3}
    assert (log.reading.read, log.reading.used) == (4, 1)


def test_what_a_failure_took_is_not_looked_at_if_it_was_censored(tmp_path: Path) -> None:
    log = read_log(log_of(tmp_path, [("a", "0", "9", "3"), ("a", "0", "nonsense", "3"), GOOD]), MAPPING)
    assert counted(log) == {("a", 3.0, False, -1.0): 2, ("a", 3.0, True, 2.0): 1}


def test_counts_are_whole(tmp_path: Path) -> None:
    whole = Columns(arm="arm", success="won", threshold="time", allocation="given", whole=True)
    bad = [("a", "1", "1.5", "3"), ("a", "1", "0", "3")]
    log = read_log(log_of(tmp_path, [*bad, GOOD, ("a", "1", "inf", "3")]), whole)
    assert log.reading.dropped == {"threshold is not a whole number of at least 1": 2, "threshold is not finite": 1}
    assert log.whole


@pytest.mark.parametrize(
    ("failed", "kind"), [(["4", "5", ""], "observed"), (["", "", "4"], "complete"), (["", "", ""], "complete")]
)
def test_the_kind_is_found_out(tmp_path: Path, failed: list[str], kind: str) -> None:
    rows = [("a", "0", time, "") for time in failed] + [GOOD]
    log = read_log(log_of(tmp_path, rows), Columns(arm="arm", success="won", threshold="time"))
    assert log.kind == kind
    expected: list[Row] = [("a", np.inf, True, 2.0)]
    for time in failed:
        if kind == "complete":
            expected.append(("a", np.inf, False, np.nan))
        elif time:
            expected.append(("a", np.inf, False, float(time)))
    assert_same(log, expected)
    assert log.reading.dropped == ({"threshold missing": 1} if kind == "observed" else {})


def test_an_option_says_the_kind(tmp_path: Path) -> None:
    path = log_of(tmp_path, [("a", "0", "4", "9"), GOOD])
    complete = Columns(arm="arm", success="won", threshold="time", kind="complete")
    assert counted(read_log(path, complete)) == {("a", np.inf, False, -1.0): 1, ("a", np.inf, True, 2.0): 1}
    observed = Columns(arm="arm", success="won", threshold="time", allocation="given", kind="observed")
    assert_same(read_log(path, observed), [("a", 9.0, False, 4.0), ("a", 3.0, True, 2.0)])


@pytest.mark.parametrize(
    ("yes", "no"), [("1", "0"), ("TRUE", "False"), (" yes", "No "), ("ok", "failed"), ("1.0", "0.0")]
)
def test_usual_words_for_success(tmp_path: Path, yes: str, no: str) -> None:
    log = read_log(log_of(tmp_path, [("a", yes, "2", "3"), ("a", no, "", "3")]), MAPPING)
    assert log.evidence.successes.tolist() == [1.0]
    assert log.reading.dropped == {}


def test_words_of_ones_own(tmp_path: Path) -> None:
    rows = [("a", "Solved", "2", "3"), ("a", "memout", "", "3"), ("a", "timeout", "", "3"), ("a", "", "", "3")]
    path = log_of(tmp_path, rows)
    base = {"arm": "arm", "success": "won", "threshold": "time", "allocation": "given", "success_values": ["solved"]}
    assert read_log(path, Columns.of(base)).reading.dropped == {"success missing": 1}
    strict = read_log(path, Columns.of({**base, "failure_values": ["timeout"]}))
    assert strict.reading.dropped == {"success is an unknown answer": 1, "success missing": 1}


def test_milliseconds_become_seconds_as_a_division_would(tmp_path: Path) -> None:
    times = [17632, 1, 999, 100003]
    path = log_of(tmp_path, [("a", "1", str(t), str(t)) for t in times])
    log = read_log(path, Columns(arm="arm", success="won", threshold="time", allocation="given", threshold_scale=0.001))
    assert_same(log, [("a", t / 1000.0, True, t / 1000.0) for t in times])
    minutes = Columns(
        arm="arm", success="won", threshold="time", allocation="given", threshold_scale=60.0, allocation_scale=1e5
    )
    assert read_log(path, minutes).evidence.max_budget == 100003e5


def test_rows_that_belong_together_make_a_budget(tmp_path: Path) -> None:
    path = write_table(
        tmp_path / "log.csv", ("who", *HEADER), [("x", *GOOD), ("x", "b", "0", "", "4.5"), ("y", *GOOD), ("", *GOOD)]
    )
    log = read_log(path, Columns(arm="arm", success="won", threshold="time", allocation="given", round="who"))
    assert log.budgets is not None
    assert log.budgets.tolist() == [3.0, 7.5]


def test_a_mapping_is_read_from_toml(tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_text(
        'arm = "arm"\nsuccess = "won"\nthreshold = "time"\nallocation = "given"\nunits = "s"\n'
        'success_values = ["1"]\n[where]\narm = "a"\n'
    )
    mapping = Columns.read(path, units="minutes", limit=None)
    assert (mapping.units, mapping.success_values, mapping.where) == ("minutes", ("1",), {"arm": "a"})
    log = read_log(log_of(tmp_path, [GOOD, ("b", "1", "2", "3")]), mapping)
    assert (log.names, log.reading.read) == (("a",), 1)


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"arm": "a", "success": "s"}, "must say which column is the threshold"),
        (
            {"arm": "a", "success": "s", "threshold": "t", "colour": 1},
            "unknown entry 'colour'; there are: arm, success",
        ),
        ({"arm": "", "success": "s", "threshold": "t"}, "arm must be the name of a column, got ''"),
        ({"arm": "a", "success": "s", "threshold": "t", "kind": "odd"}, "kind must be one of censored, observed, comp"),
        ({"arm": "a", "success": "s", "threshold": "t", "kind": "censored"}, "needs the column of allocations"),
        (
            {"arm": "a", "success": "s", "threshold": "t", "threshold_scale": 0},
            "threshold_scale must be finite and > 0",
        ),
        ({"arm": "a", "success": "s", "threshold": "t", "success_values": "yes"}, "must be a list of texts, got 'yes'"),
        (
            {"arm": "a", "success": "s", "threshold": "t", "success_values": ["x"], "failure_values": ["X"]},
            "cannot mean both success and failure, got 'x'",
        ),
    ],
)
def test_a_mapping_that_makes_no_sense_is_refused(entries: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        Columns.of(entries)


def test_a_mapping_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the mapping .* is not there"):
        Columns.read(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("arm = ")
    with pytest.raises(InputError, match="cannot be read as TOML"):
        Columns.read(tmp_path / "bad.toml")
