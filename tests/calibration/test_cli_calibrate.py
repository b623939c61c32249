"""`headgate calibrate`: tables for people, JSON for machines, and one line for what is wrong."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import headgate as hg
from headgate.calibration.report.words import interval, shares
from headgate.cli import main
from headgate.cli.app import app

runner = CliRunner()
TRUTH = hg.Problem(hg.Weibull([1.6, 1.2]), [0.8, 0.5], [0.05, 0.03], ["web", "[bold]tv"])


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 rounds: what was given, whether it was enough, and when."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("logs") / "log.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["channel", "given", "worked", "took", "country"])
        for _ in range(600):
            x = rng.uniform(5.0, 80.0, 2)
            feedback = TRUTH.play(x, rng)
            for arm, name in enumerate(TRUTH.names):
                won = bool(feedback.success[arm])
                rows.writerow([name, x[arm], int(won), feedback.threshold[arm] if won else "", "fr"])
        rows.writerow(["web", 10.0, 1, -3.0, "fr"])
        rows.writerow(["web", 10.0, 1, 3.0, "de"])
    return path


COLUMNS = ["--arm", "channel", "--success", "worked", "--threshold", "took", "--allocation", "given"]


def output(*arguments: str | Path) -> str:
    result = runner.invoke(app, ["calibrate", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


@pytest.mark.usefixtures("unrendered")
def test_the_tables_and_the_files(table: Path, tmp_path: Path) -> None:
    text = output(
        table, *COLUMNS, "--units", "s", "--where", "country=fr", "--law", "weibull", "-b", "40", "--bootstrap", "20",
        "--out", tmp_path / "out",
    )  # fmt: skip
    for words in (
        "1,201 rows read, 1,200 used",
        "1 dropped",
        "cure model",
        "web",
        "[bold]tv",
        "weibull",
        "shape",
        "scale (s)",
        "KS",
        "even",
        "best",
        "as logged",
        "held out",
        "what each arm gets of 40 s, and earns by it",
        "together",
        "With 40 s: ",
        "certificate",
        "calibration.html",
    ):
        assert words in text
    problem = hg.load_problem(tmp_path / "out" / "problem.toml")
    assert set(problem.names) == set(TRUTH.names)
    assert problem.units == "s"
    again = runner.invoke(app, ["solve", str(tmp_path / "out" / "problem.toml"), "-b", "40", "--json"])
    assert json.loads(again.output)["value"] == pytest.approx(float(problem.solve(40.0).value))
    short = ["--rounds", "20", "--runs", "1", "-j", "1", "--json"]
    played = runner.invoke(app, ["simulate", str(tmp_path / "out" / "problem.toml"), "-b", "40", *short])
    assert played.exit_code == 0


def test_json_and_a_mapping_file(table: Path, tmp_path: Path) -> None:
    mapping = tmp_path / "columns.toml"
    mapping.write_text('arm = "channel"\nsuccess = "worked"\nthreshold = "took"\nallocation = "given"\nunits = "min"\n')
    data = json.loads(output(table, "--mapping", mapping, "--bootstrap", "0", "--budget", "30", "--json"))
    assert data["units"] == "min"
    assert data["kind"] == data["basis"] == "censored"
    assert data["reading"]["read"] == 1202
    assert [gain["budget"] for gain in data["gains"]] == [30.0]
    assert len(data["arms"][0]["aic"]) == 11


def test_text_of_the_user_is_not_markup(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "log[ab].csv"
    path.write_text(table.read_text(encoding="utf-8"), encoding="utf-8")
    text = output(path, *COLUMNS, "--units", "[s]", "--law", "beta", "-b", "10:30:10", "--bootstrap", "0")
    assert "log[ab].csv: 1,202 rows read" in text
    assert "scale ([s])" in text
    assert "budget ([s])" in text
    assert "rate " in text
    even = [line.split()[0] for line in text.splitlines() if "  even  " in line and line[0].isdigit()]
    assert even == ["10", "20", "30"]


def test_an_arm_without_success_shows_no_scale(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(0), tmp_path / "log.csv"
    rows = [f"web,1,{t}" for t in rng.weibull(1.5, 100)] + ["tv,0,"] * 100
    path.write_text("\n".join(["channel,worked,took", *rows]))
    given = ["--arm", "channel", "--success", "worked", "--threshold", "took", "--bootstrap", "0"]
    text = output(path, *given)
    line = next(line for line in text.splitlines() if line.startswith("tv"))
    assert line.split() == ["tv", "100", "0.0%", "-", "-", "0.000", "0.000..0.019", "1"]
    tv, web = json.loads(output(path, *given, "--json"))["arms"]
    assert tv["activation_interval"] == pytest.approx([0.0, 0.01896], abs=1e-4)
    assert web["activation"] == web["activation_interval"][1] == 1.0


def test_numbers_have_no_point_at_their_end() -> None:
    assert interval((100.2, 121.7)) == "100..122"
    assert shares((-0.0001, 0.0001)) == "0.0%..0.0%"


def test_help_explains_and_has_examples() -> None:
    text = output("--help")
    for words in ("--trim", "--select", "--format", "answers.csv", "replay"):
        assert words in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("LOG", "say which columns matter: --arm, --success, --threshold is missing"),
        ("LOG --arm channel --success worked --threshold nope", "nope"),
        ("none.csv --arm a --success b --threshold c", "none.csv"),
        ("LOG COLUMNS --trim 0.1", "--trim must be LOW,HIGH, such as 0.025,0.975, got '0.1'"),
        ("LOG COLUMNS --trim 0.1,0.9", "trim needs thresholds that are not censored"),
        ("LOG COLUMNS --law gauss", "unknown law 'gauss': it must be one of exponential"),
        ("LOG COLUMNS --budget -3", "budget must be"),
        ("LOG COLUMNS --budget 3:x", "--budget must be an amount or START:STOP:STEP"),
        ("LOG COLUMNS --budget 5:1:1", "--budget must be an amount or START:STOP:STEP"),
        ("LOG COLUMNS --out LOG", "--out must be a folder, got"),
        ("LOG COLUMNS --where country=xx", "has country = 'xx'"),
        ("a.parquet.gz --arm a --success b --threshold c", "only text may be in .gz"),
        ("LOG COLUMNS --level 2", "level must be within (0, 1), got 2.0"),
        ("LOG COLUMNS --bootstrap -1", "bootstrap must be a whole number of at least 0, got -1"),
        ("LOG COLUMNS --select 9", "select must be a whole number within 1 and 2, got 9"),
        ("LOG COLUMNS --by luck", "by must be one of ks, rows, got"),
        ("LOG COLUMNS --where country", "--where must be COLUMN=VALUE, got 'country'"),
        ("LOG COLUMNS --format criteo", "--format criteo knows its columns: leave out --allocation"),
        ("LOG --format tsv", "format must be one of ednet-kt3, ednet-pseudo, criteo, got"),
        ("LOG COLUMNS --engine nonsense://x", "nonsense"),
    ],
)
def test_what_is_wrong_takes_one_line_and_status_2(
    arguments: str,
    words: str,
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.parquet.gz").write_bytes(b"")
    given: list[str] = []
    for word in arguments.split():
        given += [str(table)] if word == "LOG" else COLUMNS if word == "COLUMNS" else [word]
    monkeypatch.setattr(sys, "argv", ["headgate", "calibrate", *given])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert error.startswith("headgate: ")
    assert words in error


def test_stopped_it_says_what_is_left(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("headgate.calibration.calibrate", stopped)
    nothing = runner.invoke(app, ["calibrate", str(table), *COLUMNS, "--out", str(tmp_path / "out")])
    assert nothing.exit_code == 130
    assert "stopped; nothing was written. The log was only read" in nothing.output
    (tmp_path / "problem.toml").write_text("", encoding="utf-8")
    before = runner.invoke(app, ["calibrate", str(table), *COLUMNS, "--out", str(tmp_path)])
    assert "problem.toml, perhaps of another calibration" in " ".join(before.output.split())
