"""The command as a process: exit status, one line on stderr, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import headgate as hg
from headgate.cli import main

PROBLEM = 'law = "exponential"\narms = [{name = "a", activation = 0.5, rate = 1.0}]\n'


def headgate(*arguments: str, before: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command in a new process, `before` first."""
    code = f"{before}\nfrom headgate.cli import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, cwd=cwd
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("solve none.toml --budget 3", "none.toml: cannot be read: No such file or directory"),
        ("solve bad.toml --budget 3", "bad.toml: is not TOML"),
        ("solve ok.toml --budget -3", "budget must be finite and >= 0, got -3.0"),
        ("solve ok.toml --budget nan", "budget must be finite and >= 0, got nan"),
        ("solve ok.toml --budget inf", "budget must be finite and >= 0, got inf"),
        ("solve ok.toml --budget much", "--budget"),
        ("solve ok.toml", "--budget"),
        ("solve ok.toml --budget 3 --upper b=1", "there is no arm 'b': the 1 arms are a"),
        ("solve ok.toml --budget 3 --upper a", "--upper must be ARM=AMOUNT, such as a=2.5, got 'a'"),
        ("solve ok.toml --budget 3 --lower a=x", "--lower must be ARM=AMOUNT, such as a=2.5, got 'a=x'"),
        ("solve ok.toml --budget 3 --lower a=4", "lower"),
        ("solve ok.toml --budget 3 --lower a=-1", "lower must be finite and >= 0, got -1.0"),
        ("solve ok.toml --budget 3 --reward max", "reward must be one of sum, cascade, got"),
        ("solve ok.toml --budget 3 --tol nan", "tol must be"),
        ("solve ok.toml --budget 3 --max-nodes 0", "max_nodes must be a whole number and at least 1"),
        ("solve ok.toml --budget 3 --plot x.gif", "must end in .png, .pdf, .svg, got 'x.gif'"),
        ("solve ok.toml --budget 3 --plot none/x.png", "none/x.png"),
        ("demo --out bad.toml", "bad.toml"),
        ("fly", "No such command 'fly'"),
        ("--fly", "--fly"),
    ],
)
def test_what_is_wrong_takes_one_line_and_status_2(
    arguments: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "ok.toml").write_text(PROBLEM, encoding="utf-8")
    (tmp_path / "bad.toml").write_text("law = ", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["headgate", *arguments.split()])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert error.startswith("headgate: ")
    assert words in error


def test_the_process_ends_with_status_2_and_no_traceback(tmp_path: Path) -> None:
    for arguments in ("solve none.toml --budget 3", "fly"):
        done = headgate(*arguments.split(), cwd=tmp_path)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


def test_version_and_help() -> None:
    assert headgate("--version").stdout == f"headgate {hg.__version__}\n"
    listed = headgate()
    for words in ("Usage", "demo", "solve", "simulate"):
        assert words in listed.stdout
    asked = headgate("solve", "--help")
    assert asked.returncode == 0
    assert "headgate solve problem.toml --budget 40" in asked.stdout


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_a_missing_extra_is_named(module: str) -> None:
    done = headgate("solve", "--help", before=f"import sys; sys.modules[{module!r}] = None")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [f"headgate: this needs {module}: pip install 'headgate[cli]'"]


def test_a_missing_plot_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "ok.toml").write_text(PROBLEM, encoding="utf-8")
    done = headgate(
        "solve",
        "ok.toml",
        "-b",
        "3",
        "--plot",
        "x.png",
        before="import sys; sys.modules['matplotlib'] = None",
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["headgate: this needs matplotlib: pip install 'headgate[plot]'"]


@pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way")
def test_ctrl_c_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "ok.toml").write_text(PROBLEM, encoding="utf-8")
    interrupt = (
        "import signal, headgate.problem as p\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # what runs in the background may ignore it
        "p.Problem.solve = lambda *a, **k: signal.raise_signal(signal.SIGINT)"  # handled before it returns
    )
    done = headgate("solve", "ok.toml", "--budget", "3", before=interrupt, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.skipif(os.name != "posix", reason="pipes are closed the POSIX way")
def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "ok.toml").write_text(PROBLEM, encoding="utf-8")
    code = "from headgate.cli import main\nmain()"
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", code, "solve", "ok.toml", "-b", "3", "--json"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")
