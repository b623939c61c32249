"""Who may do what: keys and their scopes, rates, sizes, names of this machine, the cookie."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from headgate.service.faults import TooManyError
from headgate.service.settings import Settings
from headgate.service.store import audit, open_database
from headgate.service.store.keys import Key, create_key, digest, revoke_key
from headgate.service.web.keyring import Keyring
from tests.service.harness import QUIZ, running

Maker = Callable[..., str]


@pytest.fixture
def make_key(sqlite_url: str) -> Maker:
    def make(scope: str = "admin", rate: float = 1000.0) -> str:
        database = open_database(sqlite_url)
        with database.transaction() as connection:
            secret = create_key(connection, "a test", "tester", scope, rate)
        database.close()
        return secret

    return make


@pytest.fixture
def guarded(sqlite_url: str, make_key: Maker) -> Iterator[httpx.Client]:
    make_key()
    with running(Settings(database=sqlite_url, keys=True, most_bytes=2000)) as client:
        yield client


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_scopes(guarded: httpx.Client, make_key: Maker) -> None:
    keys = {scope: bearer(make_key(scope)) for scope in ("read", "decide", "admin")}
    wait_for(guarded, keys["admin"])
    asked: dict[str, Callable[[dict[str, str]], httpx.Response]] = {
        "admin": lambda headers: guarded.put("/v1/allocators/quiz", json=QUIZ, headers=headers),
        "decide": lambda headers: guarded.post("/v1/allocators/quiz/decisions", json={"budget": 1}, headers=headers),
        "read": lambda headers: guarded.get("/v1/allocators", headers=headers),
    }
    order = ["admin", "decide", "read"]
    for needed, ask in asked.items():
        for scope, headers in sorted(keys.items()):
            expected = order.index(scope) <= order.index(needed)
            assert (ask(headers).status_code != 403) == expected, (needed, scope)
        known = id_of(keys["admin"])
        for headers in ({}, bearer("hg_x_y"), {"Authorization": "Basic abc"}, bearer(f"hg_{known}_wrong"),
                        bearer(f"hg_{known}_"), bearer(f"hg_{known}")):  # fmt: skip
            refused = ask(headers)
            assert refused.status_code == 401
            assert refused.json()["error"]["code"] == "unauthorized"
    assert guarded.get("/metrics").status_code == 401
    assert guarded.get("/healthz").status_code == guarded.get("/readyz").status_code == 200


def id_of(headers: dict[str, str]) -> str:
    """Return the id in a key that is good."""
    return headers["Authorization"].split("_")[1]


def wait_for(client: httpx.Client, headers: dict[str, str]) -> None:
    """Keys are read again every two seconds."""
    deadline = time.monotonic() + 10.0
    while client.get("/v1/allocators", headers=headers).status_code == 401:
        assert time.monotonic() < deadline


def test_a_revoked_key_is_useless_within_seconds(guarded: httpx.Client, make_key: Maker, sqlite_url: str) -> None:
    key = make_key()
    wait_for(guarded, bearer(key))
    database = open_database(sqlite_url)
    with database.transaction() as connection:
        revoke_key(connection, "a test", key.split("_")[1])
    deadline = time.monotonic() + 10.0
    while guarded.get("/v1/allocators", headers=bearer(key)).status_code != 401:
        assert time.monotonic() < deadline
    actions = [entry["action"] for entry in database.look(audit.entries)]
    assert actions[:1] == ["revoke key"]
    assert key.split("_", 2)[2] not in json.dumps(database.look(audit.entries)), "no secret is kept"
    database.close()


def test_a_rate_is_kept(guarded: httpx.Client, make_key: Maker) -> None:
    headers = bearer(make_key(rate=0.5))
    wait_for(guarded, headers)
    refused = guarded.get("/v1/allocators", headers=headers)
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) >= 1


def test_a_batch_counts_as_many() -> None:
    """A key of 2 a second has bursts of 4."""
    ring, key = Keyring(), Key("k", "tester", "", "admin", 2.0, 0)
    ring.charge(key)
    ring.charge(key, 3)
    with pytest.raises(TooManyError) as refused:
        ring.charge(key)
    assert 0.0 < refused.value.seconds <= 0.5
    ring = Keyring()
    ring.charge(key, 1000)  # more than a burst is let through once, and waited for afterwards
    with pytest.raises(TooManyError) as refused:
        ring.charge(key)
    assert 490.0 < refused.value.seconds < 500.0


def test_a_batch_over_http_counts_as_many(guarded: httpx.Client, make_key: Maker) -> None:
    slow, admin = bearer(make_key("decide", rate=2.0)), bearer(make_key())
    wait_for(guarded, admin)
    assert guarded.put("/v1/allocators/quiz", json=QUIZ, headers=admin).status_code == 201
    many = {"decisions": [{"budget": 1.0}] * 9}  # more than a burst, which is 4
    assert guarded.post("/v1/allocators/quiz/decisions/batch", json=many, headers=slow).status_code == 200
    refused = guarded.post("/v1/outcomes", json={"outcomes": [{"decision_id": "x", "results": {}}] * 4}, headers=slow)
    assert refused.status_code == 429
    assert refused.json()["error"]["code"] == "too-many-requests"
    assert int(refused.headers["Retry-After"]) >= 1
    assert guarded.get("/v1/allocators/quiz", headers=admin).json()["counts"]["decisions"] == 9


def test_secrets_are_stored_as_digests_and_never_logged(
    guarded: httpx.Client, make_key: Maker, caplog: pytest.LogCaptureFixture
) -> None:
    key = make_key()
    with caplog.at_level(logging.DEBUG):
        wait_for(guarded, bearer(key))
        guarded.get("/v1/allocators/none", headers=bearer(key))
    secret = key.split("_", 2)[2]
    assert digest(secret) != secret
    assert secret not in caplog.text


def test_bodies_have_a_limit(guarded: httpx.Client, make_key: Maker) -> None:
    headers = bearer(make_key())
    wait_for(guarded, headers)
    large = QUIZ | {"units": "x" * 3000}
    assert guarded.put("/v1/allocators/quiz", json=large, headers=headers).status_code == 413

    def stream() -> Iterator[bytes]:
        yield from (b" " * 500 for _ in range(10))

    streamed = guarded.put(
        "/v1/allocators/quiz", content=stream(), headers=headers | {"Content-Type": "application/json"}
    )
    assert streamed.status_code == 413


def test_a_cookie_may_look_but_not_change(guarded: httpx.Client, make_key: Maker) -> None:
    key = make_key()
    wait_for(guarded, bearer(key))
    assert guarded.get("/", headers={"Accept": "text/html"}).headers["location"] == "/login"
    for wrong in ("hg_no_no", key[:-1] + ("A" if key[-1] != "A" else "B"), f"hg_{key.split('_')[1]}_"):
        assert guarded.post("/login", data={"key": wrong}).status_code == 401
    signed = guarded.post("/login", data={"key": key})
    assert signed.status_code == 303
    for rule in ("HttpOnly", "SameSite=strict"):
        assert rule in signed.headers["set-cookie"]
    assert key.split("_", 2)[2] not in signed.headers["set-cookie"], "what the browser keeps is not the key"
    assert guarded.get("/v1/allocators").status_code == 200
    assert guarded.put("/v1/allocators/quiz", json=QUIZ).status_code == 401
    guarded.post("/logout")
    assert guarded.get("/v1/allocators").status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[::1", "a@localhost", "testserver"]
)
def test_without_keys_only_names_of_this_machine_are_answered(refusing: httpx.Client, host: str) -> None:
    assert refusing.get("/v1/allocators", headers={"Host": host}).status_code == 403


def test_a_form_of_a_foreign_page_decides_nothing(refusing: httpx.Client) -> None:
    sent = refusing.post(
        "/v1/allocators/quiz/decisions", content=b'{"budget": 1}', headers={"Content-Type": "text/plain"}
    )
    assert sent.status_code == 422
    assert "content-type" in sent.json()["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"budget": NaN}',
        b'{"budget": 1e999}',
        b'{"budget": 1, "context": {"a": NaN}}',
        b'{"budget": 1, "context": {"a": "\\ud800"}}',
    ],
)
def test_what_is_no_request_is_refused_without_a_trace(refusing: httpx.Client, body: bytes) -> None:
    sent = refusing.post("/v1/allocators/quiz/decisions", content=body, headers={"Content-Type": "application/json"})
    assert sent.status_code == 422
    assert "Traceback" not in sent.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["archive", "arms/q1/retire"])
def test_a_page_of_another_site_changes_nothing(refusing: httpx.Client, headers: dict[str, str], path: str) -> None:
    """Routes without a body can be asked by a form, so the browser's word on where it comes from counts."""
    sent = refusing.post(f"/v1/allocators/quiz/{path}", headers=headers)
    assert sent.status_code == 403
    own = {"Origin": str(refusing.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    assert refusing.post(f"/v1/allocators/quiz/{path}", headers=own).status_code == 404


@pytest.mark.parametrize("header", ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host"])
def test_without_keys_a_proxy_is_not_answered(refusing: httpx.Client, header: str) -> None:
    assert refusing.get("/v1/allocators", headers={header: "203.0.113.5"}).status_code == 403


def test_answers_are_not_guessed_at_nor_kept(refusing: httpx.Client) -> None:
    headers = refusing.get("/v1/allocators").headers
    assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")
    assert refusing.head("/healthz").status_code == 200


def test_many_wrong_fields_are_not_all_named(refusing: httpx.Client) -> None:
    sent = refusing.put("/v1/allocators/quiz", json=QUIZ | {f"x{i}": 1 for i in range(2000)})
    assert len(sent.json()["error"]["fields"]) == 100
