"""`headgate bench`: the table, JSON, its status, and what it says when a name is unknown."""

from __future__ import annotations

import json

import pytest

from headgate.bench import BENCHMARKS, Regret, Result
from headgate.cli.app import run
from headgate.errors import InputError

FAST, SLOW = "test: a fast one", "test: a slow one"


@pytest.fixture(autouse=True)
def _two_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BENCHMARKS, FAST, lambda: Result(ours=1e-3, reference=0.5, required=200.0))
    monkeypatch.setitem(BENCHMARKS, SLOW, lambda: Regret(ours=40.0, reference=2000.0, required=35.0))


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


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(InputError, match=r"no benchmark is called 'nonsense'; there are: .*Clarabel"):
        run(["bench", "--only", "nonsense"])
