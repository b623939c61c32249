"""`headgate serve` as a process; `keys`, `verify`, `backup`, `restore`, `audit` in this one.

What makes a process of a command, its entry and its status, is tested in `test_cli_process`.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.main import get_command

from headgate.cli import main
from headgate.cli.app import COMMANDS, app

QUIZ = {"arms": ["a", "b"], "law": "exponential", "max_budget": 10.0}


Headgate = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def headgate(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Headgate:
    """Run the command in a folder; return its status and what it wrote."""

    def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["headgate", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code is None or isinstance(stopped.value.code, int)
        return subprocess.CompletedProcess(arguments, stopped.value.code or 0, *capfd.readouterr())

    return run


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a service has run, with a decision and its outcome, and was stopped by Ctrl-C."""
    folder = tmp_path_factory.mktemp("service")
    with subprocess.Popen(
        [sys.executable, "-m", "headgate.cli", "serve", "--port", "0"],
        cwd=folder, stderr=subprocess.PIPE, text=True, env=os.environ | {"COLUMNS": "200"},
    ) as server:  # fmt: skip
        assert server.stderr is not None
        url = next(word for line in server.stderr for word in line.split() if word.startswith("http://"))
        with httpx.Client(base_url=url, transport=httpx.HTTPTransport(retries=20), trust_env=False) as client:
            assert client.put("/v1/allocators/pair", json=QUIZ).status_code == 201
            made = client.post("/v1/allocators/pair/decisions", json={"budget": 10.0}).json()
            said = {arm: {"success": False} for arm in made["allocation"]}
            client.post(f"/v1/decisions/{made['decision_id']}/outcome", json={"results": said})
        server.send_signal(signal.SIGINT)
        assert server.wait(20) in {0, 130, -signal.SIGINT}
    return folder


def test_what_it_left_is_verified_and_backed_up(place: Path, headgate: Headgate) -> None:
    verified = headgate("verify", "sqlite:///headgate.db", cwd=place)
    assert verified.returncode == 0, verified.stderr
    assert "1 decision" in verified.stdout
    for same in (("verify",), ("verify", "-d", "sqlite:///headgate.db")):
        assert headgate(*same, cwd=place).stdout == verified.stdout
    assert "no database none.db" in headgate("verify", "-d", "sqlite:///none.db", cwd=place).stderr
    assert headgate("backup", "copy.db", cwd=place).returncode == 0
    assert "exists" in headgate("backup", "copy.db", cwd=place).stderr
    restored = headgate("restore", "copy.db", "--database", "sqlite:///new.db", cwd=place)
    assert "restored and verified" in restored.stdout
    assert not (place / "copy.db-wal").exists(), "a backup is one file, and is not written to"


def test_a_restore_that_fails_leaves_nothing(place: Path, headgate: Headgate) -> None:
    (place / "broken.db").write_text("no backup")
    before = {path.name for path in place.iterdir()}
    failed = headgate("restore", "broken.db", "--database", "sqlite:///another.db", cwd=place)
    assert (failed.returncode, "is no backup" in failed.stderr) == (2, True)
    assert {path.name for path in place.iterdir()} == before
    assert headgate("restore", "broken.db", cwd=place).returncode == 2
    assert (place / "headgate.db").exists(), "what was there before stays"


def test_keys_are_made_listed_and_revoked(place: Path, headgate: Headgate) -> None:
    made = headgate("keys", "create", "robot", "--scope", "read", cwd=place)
    secret = made.stdout.strip()
    assert secret.startswith("hg_")
    listed = headgate("keys", "list", cwd=place).stdout
    assert "robot" in listed
    assert secret not in listed
    assert headgate("keys", "revoke", secret.split("_")[1], cwd=place).returncode == 0
    assert headgate("keys", "revoke", secret.split("_")[1], cwd=place).returncode == 2
    actions = [json.loads(line)["action"] for line in headgate("audit", cwd=place).stdout.splitlines()]
    assert actions == ["revoke key", "create key", "create allocator"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("verify", "sqlite:///none.db"), "there is no database none.db"),
        (("serve", "--database", "nonsense"), "sqlite:///file.db"),
        (("serve", "--host", "256.1.1.1"), "cannot listen"),
        (("serve", "--log-level", "loud"), "log-level"),
        (("keys", "create", "x", "--scope", "god"), "scope must be one of read, decide, admin"),
        (("restore", "none.db", "--database", "sqlite:///other.db"), "there is no backup"),
        (("restore", "text.db", "--database", "sqlite:///other.db"), "text.db is no backup of Headgate"),
        (("verify", "sqlite:///text.db"), "cannot open sqlite:///text.db: file is not a database"),
        (
            ("verify", "sqlite:///strange.db"),
            "strange.db has no tables of this version: `headgate serve` with it makes",
        ),
        (("backup", "none/b.db", "--database", "sqlite:///strange.db"), "strange.db has no tables"),
        (("serve", "--database", "sqlite:///none/b.db"), "cannot open sqlite:///none/b.db"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    tmp_path: Path, headgate: Headgate, arguments: tuple[str, ...], words: str
) -> None:
    (tmp_path / "text.db").write_text("not a database, but as long as one that could be: " * 20)
    with closing(sqlite3.connect(tmp_path / "strange.db")) as strange:
        strange.execute("CREATE TABLE things (name)")
    refused = headgate(*arguments, cwd=tmp_path)
    assert refused.returncode == 2
    assert words in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1


def test_a_backup_that_fails_leaves_nothing(place: Path, headgate: Headgate) -> None:
    refused = headgate("backup", "none/monday.db", cwd=place)
    assert (refused.returncode, refused.stderr) == (2, "headgate: there is no folder none for the backup\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_explains_every_option_and_shows_an_example(name: str) -> None:
    command: Any = get_command(app)
    command = command.get_command(None, name)
    for one in getattr(command, "commands", {name: command}).values():
        assert [p.name for p in one.params if p.name != "help" and not getattr(p, "help", None)] == []
        assert "[bold]Example" in one.help or name == "warm"
