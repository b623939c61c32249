"""The paper's table from raw user files: what is retained, what is chosen, and a run that was stopped."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from headgate.bench.ednet_log import is_weibull, write_users
from headgate.calibration import write_pseudo_students
from headgate.calibration.reading import EdnetRaw, parts, read_log
from headgate.cli.app import run
from headgate.errors import InputError, ParameterError
from tests.calibration.references import DATA

pytest.importorskip("ibis")

USERS, QUESTIONS, ENOUGH = 150, 10, 100
Answer = tuple[float, int]


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_users(tmp_path_factory.mktemp("kt3"), USERS, questions=QUESTIONS, answers=8)


def answers_of(folder: Path) -> dict[str, Counter[Answer]]:
    """Every answer by question, by a walk through the files: milliseconds, and whether it was right."""
    with (folder / "questions.csv").open(encoding="utf-8") as file:
        right = {row["question_id"]: row["correct_answer"] for row in csv.DictReader(file)}
    found: dict[str, Counter[Answer]] = defaultdict(Counter)
    for path in folder.glob("u*.csv"):
        with path.open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for before, row in pairwise(rows):
            if row["action_type"] == "respond":
                took = float(int(row["timestamp"]) - int(before["timestamp"]))
                found[row["item_id"]][took, int(row["user_answer"] == right[row["item_id"]])] += 1
    return found


def table_of(path: Path) -> dict[str, dict[str, Answer]]:
    """The table by pseudo-student and question."""
    found: dict[str, dict[str, Answer]] = defaultdict(dict)
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            assert row["question_id"] not in found[row["pseudo_user_id"]]
            found[row["pseudo_user_id"]][row["question_id"]] = float(row["response_time_ms"]), int(row["is_correct"])
    return found


def test_the_table_has_the_questions_that_fit_best_and_real_answers_once(users: Path, tmp_path: Path) -> None:
    out = tmp_path / "paper.csv"
    chosen = write_pseudo_students(users, out, select=4, interactions=ENOUGH)
    raw, table = answers_of(users), table_of(out)
    enough = [name for name, own in raw.items() if own.total() >= ENOUGH]
    assert chosen.candidates == len(enough)
    assert all(is_weibull(name) for name in chosen.questions)
    assert max(chosen.distances) < 0.12  # half of the questions are far from every Weibull law
    assert list(table) == [f"pseudo_u{j + 1}" for j in range(ENOUGH)]
    for name in chosen.questions:
        retained = Counter(student[name] for student in table.values())
        assert retained.total() == ENOUGH
        assert not retained - raw[name]  # none made up, none used twice
    assert not (tmp_path / "paper.csv.parts").exists()
    log = read_log(out, "ednet-pseudo")
    assert (log.names, log.reading.used) == (chosen.questions, 4 * ENOUGH)


@pytest.mark.long
def test_another_seed_retains_others_and_rows_choose_by_number(users: Path, tmp_path: Path) -> None:
    first, second = (tmp_path / name for name in ("a.csv", "b.csv"))
    chosen = write_pseudo_students(users, first, select=3, by="rows", interactions=ENOUGH)
    write_pseudo_students(users, second, select=3, by="rows", interactions=ENOUGH, seed=1)
    raw = answers_of(users)
    most = sorted((own.total() for own in raw.values()), reverse=True)[:3]
    assert sorted((raw[name].total() for name in chosen.questions), reverse=True) == most
    assert table_of(first) != table_of(second)


@pytest.mark.long
def test_a_run_that_was_stopped_goes_on_with_the_same_result(
    users: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out = tmp_path / "whole.csv", tmp_path / "paper.csv"
    write_pseudo_students(users, whole, select=4, interactions=ENOUGH)
    monkeypatch.setattr(parts, "FILES", 40)
    read: list[int] = []
    attempts = EdnetRaw._attempts

    def note(self: EdnetRaw, *given: object) -> parts.Part:
        read.append(1)
        return attempts(self, *given)  # type: ignore[arg-type]  # handed on

    monkeypatch.setattr(EdnetRaw, "_attempts", note)

    def stop(what: str, *_: int) -> None:
        if what.startswith("read 80 of 150"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_pseudo_students(users, out, select=4, interactions=ENOUGH, progress=stop)
    assert (len(read), out.exists()) == (2, False)
    (tmp_path / "paper.csv.parts" / "mine.txt").write_text("not ours")
    said: list[str] = []
    write_pseudo_students(
        users, out, select=4, interactions=ENOUGH, progress=lambda what, done, total: said.append(what)
    )
    assert len(read) == 4  # the two parts that were missing
    assert "read 150 of 150 files" in said
    assert out.read_bytes() == whole.read_bytes()
    assert [path.name for path in (tmp_path / "paper.csv.parts").iterdir()] == ["mine.txt"]


@pytest.mark.long
def test_a_part_is_read_again_if_a_file_or_an_option_has_changed(
    users: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "FILES", 80)
    for name in ("u1.csv", "u2.csv", "u90.csv", "questions.csv"):
        (tmp_path / name).write_bytes((users / name).read_bytes())
    used = read_log(tmp_path, EdnetRaw(keep=tmp_path / "kept")).reading.used
    assert used == 24
    text = (tmp_path / "u2.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "u2.csv").write_text("\n".join(text[:-3]) + "\n", encoding="utf-8")
    assert read_log(tmp_path, EdnetRaw(keep=tmp_path / "kept")).reading.used == 23
    short = read_log(tmp_path, EdnetRaw(keep=tmp_path / "kept", limit=20.0)).reading
    assert short.used < 23
    assert short.used + sum(short.dropped.values()) == 23
    assert read_log(tmp_path, EdnetRaw(limit=20.0)).reading.dropped == short.dropped


def test_too_few_questions_are_said(users: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="4 questions with at least 10,000 interactions"):
        write_pseudo_students(users, tmp_path / "paper.csv", select=4, interactions=10_000)
    assert not (tmp_path / "paper.csv").exists()


def test_the_command_writes_the_table_and_goes_on_with_it(
    users: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "paper.csv"
    command = ["calibrate", str(users), "--format", "ednet-kt3", "--select", "4", "--by", "ks", "--bootstrap", "0"]
    assert run([*command, "--interactions", "100", "--pseudo-students", str(out), "--json"]) == 0
    shown = capsys.readouterr()
    assert "fitting questions: 10 of 10" in shown.err
    assert run(["calibrate", str(out), "--format", "ednet-pseudo", "--law", "weibull", "--trim", "0.025,0.975",
                "--bootstrap", "0", "--json"]) == 0  # fmt: skip
    assert capsys.readouterr().out == shown.out
    with pytest.raises(ParameterError, match="--interactions belongs to --pseudo-students"):
        run([*command, "--interactions", "100"])
    with pytest.raises(ParameterError, match="needs --format ednet-kt3 and --select"):
        run(["calibrate", str(users), "--format", "ednet-kt3", "--pseudo-students", str(out)])


@pytest.mark.long
@pytest.mark.skipif(
    not (DATA / "ednet_raw").is_dir(), reason="the raw EdNet sample ../shared/data/ednet_raw is not here"
)
def test_the_real_files_make_a_table(tmp_path: Path) -> None:
    """Nine real users have few questions in common: three answers of each of five."""
    out = tmp_path / "paper.csv"
    chosen = write_pseudo_students(DATA / "ednet_raw", out, select=5, interactions=3, trim=(0.0, 1.0))
    table = table_of(out)
    assert (len(table), len(chosen.questions)) == (3, 5)
    rows = read_log(DATA / "ednet_raw", "ednet-kt3")
    known = {
        (rows.names[arm], t, s) for arm, t, s in zip(rows.rows.arm, rows.rows.threshold, rows.rows.success, strict=True)
    }
    for student in table.values():
        assert {(name, t / 1000.0, bool(s)) for name, (t, s) in student.items()} <= known
