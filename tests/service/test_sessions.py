"""Sessions: forged, expired and revoked tokens are worth nothing; one that is in use is renewed, not for ever."""

from __future__ import annotations

import time
from dataclasses import replace

import httpx
import pytest

from headgate.service.settings import Settings
from headgate.service.store import open_database
from headgate.service.store.keys import Key, all_keys, create_key, revoke_key
from headgate.service.web import sessions
from headgate.service.web.sessions import COOKIE, LIFE, LONGEST, Session, begin, session_of
from tests.service.harness import running

KEY = Key("0123456789ab", "tester", "d" * 64, "read", 10.0, 0)
OTHER = replace(KEY, id="ba9876543210", digest="e" * 64)
KNOWN = {KEY.id: KEY, OTHER.id: OTHER}


def test_a_token_is_its_key_and_its_time() -> None:
    session = begin(KEY)
    assert session_of(session.token(), KNOWN) == session
    assert session.until - session.begun == LIFE
    assert KEY.digest not in session.token()


def test_forged_tokens_are_worth_nothing() -> None:
    token = begin(KEY).token()
    name, begun, until, signature = token.split(".")
    later = str(int(until) + 1)
    forged = [
        "", ".", "...", "a.b.c.d", token[:-1], token + "0", token.upper(), f"{token}.", f".{token}",
        f"{name}.{begun}.{later}.{signature}", f"{name}.{int(begun) - 1}.{until}.{signature}",
        f"{OTHER.id}.{begun}.{until}.{signature}", f"{name}.{begun}.{until}.", f"{name}.{begun}.{until}.{'0' * 64}",
        f"{name}.-{begun}.{until}.{signature}", f"{name}.{begun}.{'9' * 400}.{signature}",
        f"{name}.{begun}.{until}\u0661.{signature}", f"{name}.{begun}.{until}.{signature[:-1]}\u00e9",
        f"nobody.{begun}.{until}.{signature}", f"{name}. {begun}.{until}.{signature}",
        f"hg_{KEY.id}_secret",
    ]  # fmt: skip
    assert [one for one in forged if session_of(one, KNOWN) is not None] == []
    assert session_of(token, {KEY.id: replace(KEY, digest="f" * 64)}) is None, "signed with another key's digest"


def test_a_token_ends_with_its_time_and_with_its_key() -> None:
    now = int(time.time())
    assert session_of(Session(KEY, now - 2 * LIFE, now - 1).token(), KNOWN) is None
    assert session_of(Session(KEY, now - LIFE, now + 5).token(), KNOWN) is not None
    assert session_of(begin(KEY).token(), {KEY.id: replace(KEY, revoked_at=1)}) is None


def test_it_is_renewed_while_it_is_used_but_not_for_ever() -> None:
    now = int(time.time())
    assert begin(KEY).renewed() is None, "a new one needs no other"
    longer = Session(KEY, now - LIFE, now + 60).renewed()
    assert longer is not None
    assert longer.begun == now - LIFE
    assert longer.until - now == pytest.approx(LIFE, abs=2)
    last = Session(KEY, now - LONGEST + 100, now + 60).renewed()
    assert last is not None
    assert last.until == last.begun + LONGEST
    assert last.renewed() is None


def test_sessions_over_http(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    database = open_database(sqlite_url)
    with database.transaction() as connection:
        secret = create_key(connection, "a test", "tester", "admin", 1000.0)
    (key,) = database.look(all_keys)
    now = int(time.time())
    with running(Settings(database=sqlite_url, keys=True)) as client:

        def ask(token: str) -> httpx.Response:
            return client.get("/v1/allocators", headers={"cookie": f"{COOKIE}={token}"})

        assert ask(secret).status_code == 401, "the key itself is no token"
        assert ask(Session(key, now - LIFE, now - 1).token()).status_code == 401
        fresh = ask(begin(key).token())
        assert fresh.status_code == 200
        assert "set-cookie" not in fresh.headers
        used = ask(Session(key, now - LIFE, now + 60).token())
        assert COOKIE in used.headers["set-cookie"]
        renewed = used.headers["set-cookie"].split(";")[0].split("=", 1)[1]
        assert ask(renewed).status_code == 200
        with database.transaction() as connection:
            revoke_key(connection, "a test", key.id)
        deadline = time.monotonic() + 10.0
        while ask(renewed).status_code != 401:
            assert time.monotonic() < deadline
    database.close()


def test_a_cookie_over_tls_is_sent_over_tls_only() -> None:
    assert begin(KEY).cookie(secure=True).endswith("; Secure")
    assert "Secure" not in begin(KEY).cookie(secure=False)
    assert sessions.LIFE <= 3600
