"""`headgate bench`: the table, JSON, its status, and what it says when a name is unknown."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import numpy as np
import pytest

from headgate.bench import BENCHMARKS, AtMost, Result
from headgate.bench.harness import process
from headgate.bench.whole import TEN_LINES
from headgate.cli.app import run
from headgate.errors import InputError

FAST, SLOW = "test: a fast one", "test: a slow one"


@pytest.fixture(autouse=True)
def _two_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BENCHMARKS, FAST, lambda: Result(ours=1e-3, reference=0.5, required=200.0))
    monkeypatch.setitem(BENCHMARKS, SLOW, lambda: AtMost(ours=40.0, reference=2000.0, required=35.0))


def test_one_row_each_and_status_0_if_all_are_met(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--only", "a fast one"]) == 0
    shown = capsys.readouterr().out
    assert "1 ms" in shown
    assert "yes" in shown


def test_json_and_status_1_if_one_is_missed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--only", "test:", "--json"]) == 1
    fast, slow = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (fast["name"], fast["ratio"], fast["met"]) == (FAST, 500.0, True)
    assert (slow["name"], slow["ours"], slow["met"]) == (SLOW, 40.0, False)


def test_json_of_numpys_numbers_and_of_none_at_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A benchmark may hand over NumPy's numbers, be skipped (NaN), or have a ratio that is infinite."""
    monkeypatch.setitem(BENCHMARKS, FAST, lambda: AtMost(np.float64(0.0), np.float64(3.0), np.float64(2.0)))
    monkeypatch.setitem(BENCHMARKS, SLOW, lambda: AtMost(np.nan, np.nan, 1.0))
    assert run(["bench", "--only", "test:", "--json"]) == 0

    def refused(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    fast, slow = (json.loads(line, parse_constant=refused) for line in capsys.readouterr().out.splitlines())
    assert (fast["ours"], fast["ratio"], fast["met"]) == (0.0, None, True)
    assert (slow["ours"], slow["met"]) == (None, True)


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(InputError, match=r"no benchmark is called 'nonsense'; there are: .*Clarabel"):
        run(["bench", "--only", "nonsense"])


def test_a_process_is_measured_by_itself() -> None:
    held = np.ones(50_000_000)  # 400 MB, which a forked process would be charged with
    small, large = (process(f"held = bytearray({megabytes} * 2**20)").megabytes for megabytes in (1, 101))
    assert held.size
    assert 95.0 < large - small < 105.0
    assert small < 100.0


def test_a_sample_is_shown_by_its_mean_tail_and_worst() -> None:
    result = AtMost.of(np.arange(101.0), reference=200.0, required=50.0, note="seeds 0 to 100")
    assert (result.ours, result.met) == (50.0, True)
    assert result.note == "p95 95, worst 100 of 101; seeds 0 to 100"
    assert not AtMost.of([1.0, 3.0], reference=1.0, required=2.0, worst=2.5).met
    assert not AtMost.of([1.0, 3.0], reference=1.0, required=1.9).met


def test_the_cold_start_is_that_of_the_ten_lines_in_the_readme() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    lines = readme.split("## Ten lines")[1].split("\n## ")[0]
    shown = "".join(example.source for example in doctest.DocTestParser().get_examples(lines))
    assert "".join(line.split("#")[0].rstrip() + "\n" for line in shown.splitlines()) == TEN_LINES.lstrip()
