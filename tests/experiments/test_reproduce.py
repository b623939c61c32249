"""Experiments from end to end: figures, data, what is skipped, what is kept, what is refused."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from headgate import experiments
from headgate.calibration.reading.ednet_pseudo import read_answers
from headgate.errors import InputError
from headgate.experiments.base import Part
from headgate.simulation import Result
from tests.experiments.answers import write_answers

pytestmark = pytest.mark.long  # they look at all experiments, run once, small

NAMES = (
    "theory", "ra-etc", "no-ucb", "ednet-fit", "ednet", "criteo-fit", "criteo", "unknown-budget", "plan", "cascade",
)  # fmt: skip
"""The figures; the lemmas have none."""


def test_the_figures_are_the_paper_s_and_one_more() -> None:
    assert tuple(experiments.EXPERIMENTS) == (*NAMES, "lemmas", "optimist")


@pytest.mark.parametrize("name", NAMES)
def test_each_leaves_figure_and_data(everything: Path, name: str) -> None:
    folder = everything / name
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    part = Part.load(experiments.EXPERIMENTS[name], folder)
    assert part is not None
    assert part.config == experiments.EXPERIMENTS[name].config(quick=True)
    for result in part.outcome.results.values():
        assert all(np.all(np.isfinite(regret)) for regret in result.regret.values())


def test_the_settings_are_the_paper_s() -> None:
    full = {name: experiments.EXPERIMENTS[name].full for name in NAMES}
    assert (full["theory"].rounds, full["theory"].runs) == (100_000, 15)
    assert (full["theory"].arms, full["theory"].budget) == (10, 40.0)
    assert {full[name].rounds for name in ("ra-etc", "no-ucb")} == {10_000}
    assert (full["ednet"].rounds, full["ednet"].runs, full["ednet"].budget) == (1000, 5, 700.0)
    assert full["ednet-fit"].question == "q4135"
    assert (full["criteo"].rounds, full["criteo"].runs) == (1000, 20)


def test_a_second_run_skips_and_redraws_and_force_does_not(tiny: None, tmp_path: Path) -> None:
    said: list[str] = []
    experiments.reproduce(["criteo-fit"], tmp_path, quick=True, say=said.append)
    record, figure = tmp_path / "criteo-fit" / "outcome.json", tmp_path / "criteo-fit" / "criteo-fit.png"
    before, drawn = record.stat().st_mtime_ns, figure.read_bytes()
    figure.unlink()
    said.clear()
    experiments.reproduce(["criteo-fit"], tmp_path, quick=True, say=said.append)
    assert said[-1].endswith("finished before")
    assert record.stat().st_mtime_ns == before
    assert figure.read_bytes() == drawn
    experiments.reproduce(["criteo-fit"], tmp_path, quick=True, force=True)
    assert record.stat().st_mtime_ns > before
    os.utime(record, ns=(1, 1))
    experiments.reproduce(["criteo-fit"], tmp_path, quick=True, seed=1)  # another seed is another experiment
    assert record.stat().st_mtime_ns > 1
    assert json.loads(record.read_text())["seed"] == 1


def test_stopping_keeps_what_is_finished(tiny: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    stopped = replace(experiments.EXPERIMENTS["criteo"], run=stop)
    monkeypatch.setitem(experiments.EXPERIMENTS, "criteo", stopped)
    with pytest.raises(KeyboardInterrupt):
        experiments.reproduce(["criteo-fit", "criteo"], tmp_path, quick=True)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 'id="criteo-fit"' in page
    assert 'id="criteo"' not in page


def test_real_answers_are_replayed(tiny: None, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    write_answers(tmp_path / "data", 400)
    experiments.reproduce(["ednet", "ednet-fit"], tmp_path / "out", quick=True, data=tmp_path / "data")
    record = json.loads((tmp_path / "out" / "ednet" / "outcome.json").read_text())
    assert record["source"].startswith("real answers")
    result = Result.from_parquet(tmp_path / "out" / "ednet" / "own" / "result.parquet")
    assert result.configuration["environment"] == "replay"
    fit = json.loads((tmp_path / "out" / "ednet-fit" / "outcome.json").read_text())["numbers"]
    assert fit["ks"] < 1.95 / 380**0.5  # drawn from the law: beyond with probability 1e-3, and less since it is fitted
    assert len(fit["ks_of_all"]) == 20


def test_answers_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no column 'question_id'; it has: a, b"):
        read_answers(path, ("q1",))
    header = "pseudo_user_id,question_id,response_time_ms,is_correct\n"
    path.write_text(header + "u1,q1,12.5,maybe\n")
    with pytest.raises(InputError, match="whether it was right"):
        read_answers(path, ("q1",))
    path.write_text(header + "u1,q1,12.5,1\n")
    with pytest.raises(InputError, match="every one of 2 questions, a time above 0"):
        read_answers(path, ("q1", "q2"))
    path.write_text(header + "u1,q1,12.5,1\nu1,q1,12.5,1\n")
    with pytest.raises(InputError, match="one answer of a student to a question"):
        read_answers(path, ("q1",))


def test_answers_are_placed_by_student_and_question(tmp_path: Path) -> None:
    """Students in the order of their numbers, questions as they are asked for, milliseconds as seconds."""
    path = tmp_path / "answers.csv"
    rows = ["u10,q1,1000,1", "u9,q2,2500,0", "u10,q2,3000,0", "u9,q1,500,1", "u9,q3,1,1", "u10,q3,1,1"]
    path.write_text("pseudo_user_id,question_id,response_time_ms,is_correct\n" + "\n".join(rows) + "\n")
    answers = read_answers(path, ("q2", "q1"))
    assert answers.seconds.tolist() == [[2.5, 0.5], [3.0, 1.0]]
    assert answers.right.tolist() == [[False, True], [False, True]]


def test_a_folder_that_is_not_ours_is_left_alone(tiny: None, tmp_path: Path) -> None:
    (tmp_path / "criteo-fit").mkdir()
    mine = tmp_path / "criteo-fit" / "thesis.txt"
    mine.write_text("important")
    with pytest.raises(InputError, match="choose another --out"):
        experiments.reproduce(["criteo-fit"], tmp_path, quick=True)
    assert mine.read_text() == "important"


def test_unknown_names_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'figure-7'"):
        experiments.reproduce(["figure-7"], tmp_path)
    with pytest.raises(InputError, match="--data must be a folder"):
        experiments.reproduce(["theory"], tmp_path, data=tmp_path / "nowhere")
