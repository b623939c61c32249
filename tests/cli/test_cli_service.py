"""`headgate serve`, `keys`, `verify`, `backup`, `restore`, `audit` as processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

QUIZ = {"arms": ["a", "b"], "law": "exponential", "max_budget": 10.0}


def headgate(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headgate.cli", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


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


def test_what_it_left_is_verified_and_backed_up(place: Path) -> None:
    verified = headgate("verify", "sqlite:///headgate.db", cwd=place)
    assert verified.returncode == 0, verified.stderr
    assert "1 decision" in verified.stdout
    assert headgate("backup", "copy.db", cwd=place).returncode == 0
    assert "exists" in headgate("backup", "copy.db", cwd=place).stderr
    restored = headgate("restore", "copy.db", "--database", "sqlite:///new.db", cwd=place)
    assert "restored and verified" in restored.stdout
    assert not (place / "copy.db-wal").exists(), "a backup is one file, and is not written to"


def test_keys_are_made_listed_and_revoked(place: Path) -> None:
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
    ],
)
def test_what_is_wrong_is_said_in_a_line(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    refused = headgate(*arguments, cwd=tmp_path)
    assert refused.returncode == 2
    assert words in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
