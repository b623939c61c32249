"""The same expressions on a real Spark, in local mode: every log and all evidence as DuckDB has them, bit for bit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headgate.bench.criteo_log import write_criteo
from headgate.calibration.engine import Engine, connect
from headgate.calibration.engine.add_up import add_up
from headgate.calibration.log import Log
from headgate.calibration.reading import Columns, EdnetRaw, Format, read_log
from headgate.errors import InputError
from headgate.evidence import Evidence, bin_edges
from tests.calibration import test_ednet_raw, test_reading_screening
from tests.calibration.references import equal_rows, write_table

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore"),  # Spark warns of its own machinery: sockets, pandas, deprecated calls
]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """One session for all tests; "pyspark://" finds it too."""
    sql, ibis = pytest.importorskip("pyspark.sql"), pytest.importorskip("ibis")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = sql.SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "4")
        builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
        session = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield ibis.pyspark.connect(session)
        session.stop()


def assert_same(ours: Log, theirs: Log) -> None:
    assert (ours.names, ours.kind, ours.whole, ours.units) == (theirs.names, theirs.kind, theirs.whole, theirs.units)
    assert ours.reading == theirs.reading
    assert ours.evidence.max_budget == theirs.evidence.max_budget
    np.testing.assert_array_equal(ours.evidence.bins, theirs.evidence.bins)
    assert ours.rows.resolution == theirs.rows.resolution
    assert equal_rows(ours.rows, theirs.rows)
    if ours.budgets is None:
        assert theirs.budgets is None
    else:
        np.testing.assert_array_equal(ours.budgets, theirs.budgets)


def on_both(source: Path, how: Columns | Format | str, spark: Any, **options: Any) -> Log:
    theirs = read_log(source, how, engine=spark, **options)
    assert_same(read_log(source, how, **options), theirs)
    return theirs


def test_values_at_the_edges_of_bins(spark: Any) -> None:
    ibis: Any = pytest.importorskip("ibis")
    rng = np.random.default_rng(0)
    most = 37.123456789
    edges = bin_edges(most)
    beside = [edges, np.nextafter(edges[1:], 0.0), np.nextafter(edges[1:-1], most), rng.lognormal(1.0, 3.0, 500)]
    x = np.minimum(np.r_[most, np.concatenate(beside)], most)
    won, arm = rng.random(x.size) < 0.5, rng.integers(0, 3, x.size)
    seen = np.where(won, x * rng.choice([1.0, 0.7], x.size), np.nan)
    names = [f"a{i}" for i in arm]
    raw = ibis.memtable({"arm": names, "allocation": x, "success": won, "threshold": seen})
    data = raw.mutate(threshold=ibis.ifelse(raw.success, raw.threshold, ibis.null("float64")))
    engine = Engine(spark)
    table = engine.keep(spark.create_view("edges", data, overwrite=True))
    for exact in (10**6, 0):
        found = add_up(engine, table, "censored", exact=exact)
        np.testing.assert_array_equal(found.evidence.bins, Evidence.of_rows(arm, x, won, seen).bins)
    with connect() as ours:
        assert equal_rows(add_up(ours, ours.keep(data), "censored", exact=0).rows, found.rows)
    engine.drop_all()


def test_bad_rows_are_counted_alike(spark: Any, tmp_path: Path) -> None:
    rows = [row for listed in test_reading_screening.BAD.values() for row in listed]
    path = test_reading_screening.log_of(tmp_path, [*rows, test_reading_screening.GOOD])
    log = on_both(path, test_reading_screening.MAPPING, spark)
    assert log.reading.dropped == {reason: len(listed) for reason, listed in test_reading_screening.BAD.items()}
    path.write_text("arm,won,time,given\n,1,1,1\n")
    with pytest.raises(InputError, match="arm missing: 1"):
        read_log(path, test_reading_screening.MAPPING, engine=spark)


def test_times_with_a_budget_each_round(spark: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [(f"s{i % 40}", f"q{i % 7}", f"{ms:.3f}", i % 3 % 2) for i, ms in enumerate(rng.lognormal(10.0, 1.0, 400))]
    header = ("pseudo_user_id", "question_id", "response_time_ms", "is_correct")
    path = write_table(tmp_path / "pseudo.csv", header, rows)
    on_both(path, "ednet-pseudo", spark)
    assert on_both(path, "ednet-pseudo", spark, exact=50).rows.resolution == 2.0**-7
    assert_same(read_log(path, "ednet-pseudo"), read_log(path, "ednet-pseudo", engine="pyspark://"))


def test_user_files(spark: Any, tmp_path: Path) -> None:
    told = {f"u{i}": case for i, case in enumerate(test_ednet_raw.CASES.values(), 1)}
    good = test_ednet_raw.visit("b3", 0, (4000, "q3", "c"), (6000, "q4", "a"), (9000, "q3", "c"), end=9900)
    test_ednet_raw.write(tmp_path, **told, u99=good)
    on_both(tmp_path, "ednet-kt3", spark)
    on_both(tmp_path, EdnetRaw(bundles="enter"), spark)


def test_impressions(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "log.tsv.gz"
    drawn = write_criteo(path, 5000, seed=2)
    log = on_both(path, "criteo", spark)
    assert log.rows.count.sum() == drawn.arm.size
    assert log.evidence.successes.sum() == drawn.success.sum()


def test_a_table_of_sparks_own(spark: Any, tmp_path: Path) -> None:
    ibis: Any = pytest.importorskip("ibis")
    data = {"item": ["a", "a", "b"], "won": [True, False, True], "took": [1.5, 2.0, 3.0], "given": [4, 2, 3]}
    spark.create_view("answers", ibis.memtable(data), overwrite=True)
    mapping = Columns(arm="item", success="won", threshold="took", allocation="given")
    log = read_log("answers", mapping, engine=spark)
    path = write_table(tmp_path / "answers.csv", tuple(data), zip(*data.values(), strict=True))
    np.testing.assert_array_equal(log.evidence.bins, read_log(path, mapping).evidence.bins)
    with pytest.raises(InputError, match="no column 'colour'"):
        read_log("answers", Columns(arm="colour", success="won", threshold="took"), engine=spark)
