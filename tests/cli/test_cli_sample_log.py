"""`headgate sample-log`: it can be calibrated, comes from the problem it names, and says that it is simulated."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import headgate as hg
from headgate.cli.app import run


def test_the_log_is_that_of_its_problem_and_says_that_it_is_simulated(tmp_path: Path) -> None:
    """2,000 students: shares and mean times within 5 standard errors; nothing is overwritten."""
    path = tmp_path / "answers.csv"
    assert run(["sample-log", str(path), "--students", "2000"]) == 0
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    problem = hg.datasets.sample_problem()
    assert len(rows) == 2000 * problem.arms
    for name, p, mean in zip(
        problem.names or (), problem.activation, problem.law.truncated_mean(problem.rate, 1e4), strict=True
    ):
        mine = [row for row in rows if row["item"] == name]
        assert np.mean([int(row["correct"]) for row in mine]) == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / 2000))
        assert np.mean([float(row["seconds"]) for row in mine]) == pytest.approx(mean, rel=5 * 0.61 / np.sqrt(2000))
    assert "simulated" in (tmp_path / "answers.simulated.txt").read_text(encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(hg.errors.InputError, match="there already"):
        run(["sample-log", str(path)])
    assert path.read_bytes() == before


@pytest.mark.parametrize("arguments", [["log.parquet"], ["log.csv", "--students", "0"]])
def test_wrong_arguments_write_nothing(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(hg.errors.InputError):
        run(["sample-log", *arguments])
    assert not list(tmp_path.iterdir())
    with pytest.raises(hg.errors.ParameterError, match="students"):
        hg.datasets.sample_answers(0)
