"""Every kind of file gives the same log; what is missing is named."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate.calibration.reading import Columns, read_log
from headgate.errors import InputError
from tests.calibration.references import DATA, Row, assert_same, write_table

pytest.importorskip("ibis")
duckdb: Any = pytest.importorskip("duckdb")

HEADER = ("item", "correct", "seconds", "given")
TABLE = [("a", "yes", "1.5", "4"), ("b", "no", "", "2"), ('say "b; c"', "yes", "3", "3"), ("a", "yes", "1.5", "4")]
ROWS: list[Row] = [
    ("a", 4.0, True, 1.5), ("b", 2.0, False, float("nan")), ('say "b; c"', 3.0, True, 3.0), ("a", 4.0, True, 1.5),
]  # fmt: skip
MAPPING = Columns(arm="item", success="correct", threshold="seconds", allocation="given", units="s")


def in_duckdb(path: Path, *names: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        for name in names or ("answers",):
            connection.execute(f"CREATE TABLE {name} (item TEXT, correct TEXT, seconds DOUBLE, given INTEGER)")
            rows = [[v or None for v in row] for row in TABLE]
            connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", rows)  # noqa: S608  # our own names
    return path


def as_parquet(folder: Path) -> Path:
    path = folder / "log.parquet"
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (item TEXT, correct BOOLEAN, seconds DOUBLE, given BIGINT)")
        for item, correct, seconds, given in TABLE:
            connection.execute("INSERT INTO t VALUES (?, ?, ?, ?)", [item, correct == "yes", seconds or None, given])
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    return path


def compressed(folder: Path) -> Path:
    plain = write_table(folder / "log.tsv", HEADER, TABLE, "\t")
    with gzip.open(folder / "log.tsv.gz", "wb") as file:
        file.write(plain.read_bytes())
    plain.unlink()
    return folder / "log.tsv.gz"


def in_a_folder(folder: Path) -> Path:
    write_table(folder / "one.csv", HEADER, TABLE[:1])
    turned = [(*row[1:], row[0], "more") for row in TABLE[1:]]
    write_table(folder / "two.csv", (*HEADER[1:], HEADER[0], "another"), turned, ";")
    (folder / "notes.md").write_text("not a table")
    return folder


def windows(folder: Path) -> Path:
    path = write_table(folder / "log.csv", HEADER, TABLE)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n").replace(b"\r\r", b"\r"))
    return path


SOURCES: dict[str, Callable[[Path], str | Path]] = {
    "csv": lambda f: write_table(f / "log.csv", HEADER, TABLE),
    "tsv": lambda f: write_table(f / "log.TSV", HEADER, TABLE, "\t"),
    "semicolons": lambda f: write_table(f / "log.csv", HEADER, TABLE, ";"),
    "bars": lambda f: write_table(f / "log.txt", HEADER, TABLE, "|"),
    "windows": windows,
    "gz": compressed,
    "parquet": as_parquet,
    "duckdb": lambda f: in_duckdb(f / "log.duckdb"),
    "folder": in_a_folder,
    "glob": lambda f: str(in_a_folder(f) / "*.csv"),
}


@pytest.mark.parametrize("kind", list(SOURCES))
def test_every_kind_of_file_gives_the_same_log(tmp_path: Path, kind: str) -> None:
    log = read_log(SOURCES[kind](tmp_path), MAPPING)
    assert (log.reading.read, log.reading.used, log.kind, log.units) == (4, 4, "censored", "s")
    assert_same(log, ROWS)


def test_a_table_of_many_is_named(tmp_path: Path) -> None:
    path = in_duckdb(tmp_path / "log.db", "answers", "others")
    with pytest.raises(InputError, match="has 2 tables, so name one of them: answers, others"):
        read_log(path, MAPPING)
    with pytest.raises(InputError, match="has no table 'nobody'; it has: answers, others"):
        read_log(path, Columns(arm="item", success="correct", threshold="seconds", table="nobody"))
    named = Columns(arm="item", success="correct", threshold="seconds", allocation="given", table="others")
    assert_same(read_log(path, named), ROWS)
    with pytest.raises(InputError, match="a table is named only in a DuckDB file"):
        read_log(write_table(tmp_path / "log.csv", HEADER, TABLE), named)


def test_the_table_of_an_engine_is_a_source(tmp_path: Path) -> None:
    path = in_duckdb(tmp_path / "log.db")
    assert_same(read_log("answers", MAPPING, engine=f"duckdb://{path}"), ROWS)
    with pytest.raises(InputError, match="nothing is not there"):
        read_log("nothing", MAPPING, engine=f"duckdb://{path}")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    write_table(tmp_path / "log.csv", HEADER, TABLE)
    with pytest.raises(InputError, match=r"lag\.csv is not there; .* has: log\.csv"):
        read_log(tmp_path / "lag.csv", MAPPING)
    with pytest.raises(InputError, match=r"and neither is .*nowhere"):
        read_log(tmp_path / "nowhere" / "log.csv", MAPPING)
    with pytest.raises(InputError, match=r"no file matches .*\*\.parquet"):
        read_log(f"{tmp_path}/*.parquet", MAPPING)
    with pytest.raises(InputError, match="has no column 'question'; it has: item, correct, seconds, given"):
        read_log(tmp_path / "log.csv", Columns(arm="question", success="correct", threshold="seconds"))
    with pytest.raises(InputError, match="has no column 'term'"):
        read_log(tmp_path / "log.csv", Columns(arm="item", success="correct", threshold="given", where={"term": "1"}))


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    for name, content, reason in (
        ("log.xlsx", b"PK", r"a file must end in one of \.csv, .*, text also in \.gz, got log\.xlsx"),
        ("a.parquet", b"nonsense", r"a\.parquet cannot be read"),
        ("a.db", b"nonsense" * 1000, r"a\.db cannot be opened by DuckDB"),
        ("a.csv.gz", b"not compressed", r"a\.csv\.gz cannot be read as text"),
        ("b.csv", b"\n", r"b\.csv must begin with a line that names its columns"),
        ("c.csv", b"item,item\n1,2\n", "a different name for each column, got item, item"),
        ("d.csv", b"item,correct,seconds,given\n", r"d\.csv has no rows"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=reason):
            read_log(tmp_path / name, MAPPING)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match=r"has no file that ends in .*; it has: nothing"):
        read_log(empty, MAPPING)
    with pytest.raises(InputError, match=r"must have files of one kind, got a\.csv\.gz and a\.db"):
        read_log(tmp_path, MAPPING)
    with pytest.raises(InputError, match="format must be one of ednet-kt3, ednet-pseudo, criteo, got 'excel'"):
        read_log(tmp_path / "d.csv", "excel")


def test_a_torn_archive_is_refused(tmp_path: Path) -> None:
    path = compressed(tmp_path)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InputError, match="cannot be read"):
        read_log(path, MAPPING)


@pytest.mark.skipif(not (DATA / "bank_marketing.csv").exists(), reason="../shared/data/bank_marketing.csv is not here")
def test_bank_marketing_has_semicolons_and_quotes() -> None:
    log = read_log(
        DATA / "bank_marketing.csv",
        Columns(arm="month", success="y", threshold="campaign", allocation="campaign", whole=True, units="calls"),
    )
    assert (log.arms, log.reading.used, log.evidence.successes.sum(), log.evidence.max_budget) == (12, 45_211, 5289, 63)


@pytest.mark.skipif(not (DATA / "aslib_runs.csv.gz").exists(), reason="../shared/data/aslib_runs.csv.gz is not here")
def test_solvers_of_one_scenario() -> None:
    log = read_log(
        DATA / "aslib_runs.csv.gz",
        Columns(
            arm="algorithm", success="status", success_values=("ok",), threshold="runtime", allocation="cutoff",
            where={"scenario": "QBF-2014"},
        ),
    )  # fmt: skip
    assert (log.arms, log.reading.used, log.evidence.successes.sum(), log.evidence.max_budget) == (
        14,
        17_556,
        7794,
        900,
    )
