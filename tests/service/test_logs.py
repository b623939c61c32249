"""What is written to the log: who was turned away, under which request's id, and never a secret."""

from __future__ import annotations

import json
import logging
import logging.config
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import httpx
import pytest

from headgate.service.settings import Settings
from headgate.service.store import open_database
from headgate.service.store.keys import create_key
from headgate.service.web import logs
from tests.service.harness import QUIZ, running


@pytest.fixture
def keys(sqlite_url: str) -> dict[str, str]:
    database = open_database(sqlite_url)
    with database.transaction() as connection:
        made = {s: create_key(connection, "a test", s, s, 1000.0) for s in ("admin", "read")}
        made["slow"] = create_key(connection, "a test", "slow", "read", 0.01)
    database.close()
    return made


@pytest.fixture
def guarded(sqlite_url: str, keys: dict[str, str]) -> Iterator[httpx.Client]:
    with running(Settings(database=sqlite_url, keys=True)) as client:
        yield client


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_who_is_turned_away_leaves_a_line_without_secrets(
    guarded: httpx.Client, keys: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    wrong = keys["read"][:-1] + ("A" if keys["read"][-1] != "A" else "B")
    html = {"accept": "text/html", "cookie": "headgate_session=0123456789ab.1.2.forged"}
    with caplog.at_level(logging.INFO):
        guarded.get("/v1/allocators")
        guarded.get("/v1/allocators", headers=bearer(wrong))
        guarded.put("/v1/allocators/quiz", json=QUIZ, headers=bearer(keys["read"]))
        guarded.get("/v1/allocators", headers=bearer(keys["slow"]))
        guarded.get("/v1/allocators", headers=bearer(keys["slow"]))
        guarded.post("/login", data={"key": wrong})
        assert guarded.get("/", headers=html).status_code == 303
        guarded.get("/v1/allocators", headers=bearer(keys["admin"]))
        guarded.get(f"/v1/allocators/{keys['admin']}", headers=bearer(keys["admin"]))
    lines = [r for r in caplog.records if r.name == "headgate.security"]
    assert [(r.__dict__["fields"]["status"], r.__dict__["fields"]["path"]) for r in lines] == [
        (401, "/v1/allocators"), (401, "/v1/allocators"), (403, "/v1/allocators/quiz"), (429, "/v1/allocators"),
        (401, "/login"), (303, "/"),
    ]  # fmt: skip
    assert lines[2].__dict__["fields"]["key"] == keys["read"].split("_")[1]
    assert "sign-in failed" in lines[4].getMessage()
    assert all(r.__dict__["fields"]["client"] == "127.0.0.1" for r in lines)
    written = "\n".join(f.format(r) for r in caplog.records for f in (logs.TextFormatter(), logs.JsonFormatter()))
    for key in (*keys.values(), wrong):
        assert key.split("_", 2)[2] not in written


def test_a_request_has_one_id_that_the_caller_may_choose(guarded: httpx.Client, keys: dict[str, str]) -> None:
    assert guarded.get("/healthz", headers={"X-Request-ID": "order-17/a"}).headers["x-request-id"] == "order-17/a"
    refused = guarded.get("/v1/allocators", headers={"X-Request-ID": "refused-1"})
    assert (refused.status_code, refused.headers["x-request-id"]) == (401, "refused-1")
    for wrong in ("", "a b", 'a","level":"info', "x" * 101, "-a", "\u00e9"):
        made = guarded.get("/healthz", headers={b"X-Request-ID": wrong.encode("latin-1")}).headers["x-request-id"]
        assert made != wrong
        assert len(made) == 16
    twice = guarded.get("/healthz", headers=[("X-Request-ID", "a"), ("X-Request-ID", "b")]).headers
    assert twice.get_list("x-request-id") not in (["a"], ["b"])
    assert guarded.get("/healthz").headers["x-request-id"] != guarded.get("/healthz").headers["x-request-id"]


def test_lines_for_machines(caplog: pytest.LogCaptureFixture) -> None:
    logs.REQUEST_ID.set("r-1")
    try:
        raise ValueError("postgresql://me:word@db/x\nTwo")  # noqa: TRY301  # what goes wrong somewhere
    except ValueError:
        record = logging.LogRecord("headgate.service", logging.ERROR, "f", 1, "bad %s", ("a\nb",), sys.exc_info())
    text = logs.JsonFormatter().format(record)
    assert "\n" not in text
    line = json.loads(text)
    assert (line["level"], line["message"], line["request_id"]) == ("error", "bad a\nb", "r-1")
    assert "word" not in text
    assert "postgresql://me:***@db/x" in line["exception"]
    assert line["time"].endswith("+00:00")


def test_strangers_do_not_fill_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    # The log's own clock: others of this process, such as an event loop in a thread, go on by the real one.
    monkeypatch.setattr(logs, "time", SimpleNamespace(monotonic=lambda: now[0]))
    sparing = logs.Sparing()

    def line() -> tuple[bool, str]:
        record = logging.LogRecord("headgate.security", logging.WARNING, "f", 1, "away", (), None)
        return sparing.filter(record), record.getMessage()

    assert sum(line()[0] for _ in range(10_000)) == 50
    now[0] += 1.0
    assert line() == (True, "away [9950 lines like this were left out]")
    assert line() == (True, "away")


@pytest.mark.parametrize("kind", logs.FORMATS)
def test_the_configuration_is_one(kind: logs.Format) -> None:
    """Configured beside the loggers of this process, which it would change."""
    made = logs.configuration(kind, "trace")
    assert made["loggers"]["headgate"]["level"] == "DEBUG"
    configurator = logging.config.DictConfigurator(made)
    formatter = configurator.configure_formatter(made["formatters"]["line"])
    assert type(formatter).__name__.lower().startswith(kind)
