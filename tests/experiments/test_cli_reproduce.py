"""`headgate reproduce` on the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headgate import experiments
from headgate.cli.app import run

_HIDE = "import sys; sys.modules['matplotlib'] = None; from headgate.cli import main; main()"


def test_all_is_every_experiment(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """And a name said twice is run once."""
    asked: list[list[str]] = []

    def note(names: list[str], out: Path, **_: object) -> Path:
        asked.append(names)
        return out

    monkeypatch.setattr(experiments, "reproduce", note)
    assert run(["reproduce", "all"]) == run(["reproduce", "theory", "ednet", "theory"]) == 0
    assert asked == [list(experiments.EXPERIMENTS), ["theory", "ednet"]]


@pytest.mark.long
def test_one_experiment(tiny: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "there"
    assert run(["reproduce", "criteo-fit", "--quick", "--out", str(out), "--workers", "1"]) == 0
    captured = capsys.readouterr()
    assert captured.out.strip() == f"page: {out / 'index.html'}"
    assert captured.err == "[1/1] criteo-fit: running\n"  # progress, also when piped
    assert (out / "index.html").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["figure-7"], "figure-7"), (["theory", "--data", "/no/such/folder"], "--data must be a folder")],
)
def test_errors_are_one_line_and_status_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "headgate.cli", "reproduce", *arguments, "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_without_matplotlib_the_extra_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _HIDE, "reproduce", "theory", "--quick", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'headgate[plot]'" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()
