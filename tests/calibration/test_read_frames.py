"""Logs in memory: pandas, Arrow, DuckDB and files give the same evidence, and wrong calls are told the right one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import headgate as hg
from headgate.calibration.reading import Columns
from headgate.client import calls
from headgate.errors import InputError

NAMES: dict[str, Any] = {"arm": "item", "success": "ok", "threshold": "s", "allocation": "given"}
FRAME = pd.DataFrame(
    {
        "item": ["b", "a", "b", "a", "c"], "ok": [True, False, True, True, False], "s": [2.5, None, 1.25, 4.0, None],
        "given": [9.0, 6.0, 9.0, 4.5, 2.0],
    }
)  # fmt: skip


class Stream:
    """A table of a library that nobody knows, and that speaks Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.Table.from_pandas(FRAME).__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "make",
    [
        lambda _: FRAME,
        lambda _: FRAME.assign(other=[object() for _ in range(5)]),
        lambda _: pa.Table.from_pandas(FRAME),
        lambda _: pa.Table.from_pandas(FRAME).to_reader(),
        lambda _: duckdb.from_df(FRAME),
        lambda _: Stream(),
        lambda folder: str(folder / "lo*.csv"),
        lambda folder: folder / "log.csv",
    ],
    ids=["pandas", "pandas-with-more", "arrow", "reader", "duckdb", "stranger", "glob", "path"],
)
def test_a_log_is_the_same_wherever_it_is(make: Callable[[Path], Any], tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "log.csv", index=False)
    log = hg.read_log(make(tmp_path), **NAMES)
    same = hg.read_log(tmp_path / "log.csv", Columns(**NAMES))
    assert (log.names, log.evidence.names, log.kind) == (("a", "b", "c"), ("a", "b", "c"), "censored")
    assert np.array_equal(log.evidence.bins, same.evidence.bins)
    assert log.reading.how == same.reading.how
    assert "0x" not in log.reading.source


def test_a_log_keeps_its_names_on_the_way_to_a_policy_and_to_the_service() -> None:
    log = hg.read_log(FRAME, max_budget=30.0, **NAMES)
    policy = hg.Thompson(hg.Weibull(1.6), arms=["c", "b", "a", "d"], max_budget=30.0)
    policy.warm_start(log.evidence)
    assert policy.evidence.trials.tolist() == [1.0, 2.0, 2.0, 0.0]
    body = calls.import_evidence("quiz", log.evidence, "log").body
    assert body is not None
    assert b'"arms": {"a":' in body


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: hg.read_log(FRAME, NAMES), r"keywords: read_log\(source, arm='item', success='ok'"),  # type: ignore[arg-type]
        (lambda: hg.read_log(FRAME), r"which columns of pandas DataFrame\? .*it has: item, ok, s, given"),
        (lambda: hg.read_log("log.csv"), r"which columns of log.csv\? read_log\(source, arm="),
        (lambda: hg.read_log("log.csv", FRAME), "the source comes first"),
        (lambda: hg.read_log({"item": ["a"]}, **NAMES), r"got dict; pandas.DataFrame\("),
        (lambda: hg.read_log(7, **NAMES), "source must be a path.*got int"),
        (lambda: hg.read_log(FRAME, **NAMES | {"threshold": "t"}), "pandas DataFrame has no column 't'; it has: item"),
        (lambda: hg.read_log(FRAME, arm="item", success="ok"), "which column is the threshold"),
        (lambda: hg.read_log(FRAME, item="arm"), "unknown entry 'item'; there are: arm, success"),
        (lambda: hg.read_log("x.csv", "criteo", arm="item"), "columns go without a format"),
    ],
)
def test_wrong_calls_are_told_the_right_one(call: Callable[[], object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        call()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda c: c.decide(20.0, "quiz"), r"decide\(name, budget\), the allocator's name first"),
        (lambda c: c.decide_many([20.0], "quiz"), "the allocator's name first"),
        (lambda c: c.report({"q1": None}, "some-id"), r"the decision comes first: report\(decision, results\)"),
        (lambda c: c.report("some-id", [None]), "results must be a threshold, True or None by arm"),
        (lambda c: c.put_allocator(["q1"], "quiz", "weibull", 9.0), r"put_allocator\(name, arms, law, max_budget\)"),
        (lambda c: c.import_evidence("quiz", "log-1", {}), r"import_evidence\(name, evidence, import_id\)"),
        (lambda c: c.estimates(20.0), "name comes first"),
        (lambda c: c.decision(7), "what decide"),
    ],
)
def test_swapped_arguments_of_the_client(call: Callable[[hg.Client], object], says: str) -> None:
    with hg.Client("http://127.0.0.1:9") as client, pytest.raises(InputError, match=says):
        call(client)
