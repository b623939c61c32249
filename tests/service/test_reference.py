"""How the API describes itself: plain names, examples that a real service takes, and a page without the network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from headgate.service.settings import Settings
from headgate.service.web.schema import EXAMPLES, PARAMETERS
from tests.service.harness import running


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    place = tmp_path_factory.mktemp("reference") / "headgate.db"
    with running(Settings(database=f"sqlite:///{place}", keys=False)) as found:
        yield found


@pytest.fixture(scope="module")
def schema(client: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def operations(schema: dict[str, Any]) -> dict[str, tuple[str, str, dict[str, Any]]]:
    return {
        operation["operationId"]: (method, path, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    }


def test_names_are_plain_and_none_is_twice(schema: dict[str, Any]) -> None:
    found = operations(schema)
    assert len(found) == sum(map(len, schema["paths"].values()))
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", name) and "_v1_" not in name for name in found), list(found)
    assert {"decide", "report", "put_allocator", "get_estimates"} <= found.keys()
    assert all(operation["summary"] and len(operation["summary"]) < 120 for _, _, operation in found.values())


def test_every_example_is_taken(client: httpx.Client, schema: dict[str, Any]) -> None:
    found = operations(schema)
    bodies = {name for name, (_, _, operation) in found.items() if "requestBody" in operation}
    order = [*EXAMPLES, *sorted(bodies - EXAMPLES.keys())]
    assert set(order) == bodies, "every operation that takes a body has an example"
    for name in order:
        method, path, operation = found[name]
        example = operation["requestBody"]["content"]["application/json"]["example"]
        sent = client.request(method, path.format(**PARAMETERS), json=example)
        assert sent.status_code in {200, 201}, (name, sent.text)
        assert {a["status"] for a in sent.json().get("answers", [])} <= {200}, (name, sent.text)
    for method, path, operation in found.values():
        if method == "get":
            assert client.get(path.format(**PARAMETERS)).status_code == 200, path
            for parameter in operation.get("parameters", ()):
                assert parameter["name"] in PARAMETERS or not parameter["required"]


def test_the_page_has_everything_and_needs_nobody(client: httpx.Client, schema: dict[str, Any]) -> None:
    answer = client.get("/docs", headers={"Accept": "text/html"})
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert re.findall(r"(?:src|href)=\"https?://", answer.text) == []
    for name, (_, path, _) in operations(schema).items():
        assert f'id="{name}"' in answer.text
        assert path in answer.text
    for model in schema["components"]["schemas"]:
        assert f'id="model-{model}"' in answer.text
    targets = set(re.findall(r'href="#(model-[^"]+)"', answer.text))
    assert [t for t in targets if f'id="{t}"' not in answer.text and " " not in t] in ([], ["model-anything"])


def test_with_keys_it_asks_for_one(sqlite_url: str) -> None:
    with running(Settings(database=sqlite_url, keys=True)) as guarded:
        assert guarded.get("/docs", headers={"Accept": "text/html"}).headers["location"] == "/login"
        assert guarded.get("/openapi.json").status_code == 401
