"""Keys that are bound to allocators: others do not exist for them, at any route. Decision ids are an allocator's own.

The routes are those of the app: one that is new and has no case here fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from sqlalchemy import select

import headgate as hg
from headgate.errors import InputError
from headgate.service import views
from headgate.service.bodies import DecisionRequest, LiveRequest, StepReport
from headgate.service.engine.queue import Ledger
from headgate.service.engine.requests import Decide, LiveStep, Report
from headgate.service.faults import ConflictError, NotFoundError
from headgate.service.settings import Settings
from headgate.service.store import Database, open_database, schema
from headgate.service.store.keys import Asker, create_key
from headgate.service.verify import verify
from headgate.service.web.app import create_app
from tests.service import asking
from tests.service.harness import QUIZ, results, running

EVIDENCE = hg.Evidence.empty(3, 30.0).to_dict(QUIZ["arms"])
RESULT = {"results": {"q1": {"success": False}}}
#: A body for every route that takes one, by the name of its endpoint.
BODIES: dict[str, Any] = {
    "decide": {"budget": 3.0},
    "decide_many": {"decisions": [{"budget": 3.0}]},
    "open_live": {"budget": 3.0},
    "report_step_of": {"success": False},
    "report_step": {"success": False},
    "report_of": RESULT,
    "report": RESULT,
    "push": {"evidence": EVIDENCE},
    "put_allocator": QUIZ,
    "change_allocator": {"law": "exponential"},
    "archive_allocator": None,
    "add_arm": {"name": "q4"},
    "retire_arm": None,
    "put_evidence": EVIDENCE,
    "put_retraction": {"key": "abc"},
    "delete_subject": None,
}
PLACES = {
    "decision_id": "d",
    "live_id": "l",
    "number": "0",
    "edge": "e",
    "import_id": "i",
    "arm": "q1",
    "retraction_id": "r",
    "subject": "s",
}
#: Routes of no allocator, or of all: what they show is looked at one by one.
OTHERS = {
    "list_allocators", "report_many", "metrics", "first_page", "first_data", "api_page", "alive", "ready", "login_form",
    "login", "logout", "static", "icon",
}  # fmt: skip


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, dict[str, str], dict[str, str]]]:
    """A service with an allocator of a bank, and the headers of who may do everything, and of a shop's admin."""
    url = f"sqlite:///{tmp_path_factory.mktemp('tenants') / 'headgate.db'}"
    database = open_database(url)
    with database.transaction() as connection:
        owner, shop = (
            {"Authorization": f"Bearer {create_key(connection, 'a test', 'k', 'admin', 10_000.0, bound)}"}
            for bound in (None, ["shop-*"])
        )
    database.close()
    with running(Settings(database=url)) as client:
        for name in ("bank", "shop-1"):
            client.put(f"/v1/allocators/{name}", json=QUIZ, headers=owner).raise_for_status()
        said = {"budget": 20.0, "decision_id": "d"}
        client.post("/v1/allocators/bank/decisions", json=said, headers=owner).raise_for_status()
        client.post("/v1/allocators/bank/live", json=said | {"decision_id": "l"}, headers=owner).raise_for_status()
        yield client, owner, shop


def _routes() -> list[tuple[str, APIRoute]]:
    app = create_app(Settings(database="sqlite:///none.db"))
    return [(method, one) for one in app.routes if isinstance(one, APIRoute) for method in sorted(one.methods or ())]


def _request(route: APIRoute, **places: str) -> tuple[str, Any]:
    path = route.path
    for name, value in (PLACES | places).items():
        path = path.replace(f"{{{name}}}", value).replace(f"{{{name}:path}}", value)
    assert "{" not in path, f"a place is missing for {route.path}"
    return path, BODIES.get(route.name)


OF_ONE = [pytest.param(m, r, id=f"{m} {r.path}") for m, r in _routes() if "{name}" in r.path and r.name != "static"]
BY_ID = [pytest.param(m, r, id=f"{m} {r.path}") for m, r in _routes() if r.path.startswith(("/v1/dec", "/v1/live"))]


def test_every_route_has_its_case() -> None:
    """Beside those that name an allocator or a decision, which are asked below."""
    asked = {r.values[1].name for r in (*OF_ONE, *BY_ID)}  # type: ignore[union-attr]  # a parameter of ours
    assert {route.name for _, route in _routes()} - asked == OTHERS
    for method, route in _routes():
        if method in {"POST", "PUT", "DELETE"} and route.name in asked:
            assert route.name in BODIES, f"a body for {route.name} is missing"


@pytest.mark.parametrize(("method", "route"), OF_ONE)
def test_another_s_allocator_is_not_there(service: Any, method: str, route: APIRoute) -> None:
    """What is said of one that exists is what is said of one that does not; who may see it gets another answer."""
    client, owner, shop = service
    answers = {}
    for name in ("bank", "none"):
        path, body = _request(route, name=name)
        answers[name] = client.request(method, path, json=body, headers=shop)
        assert answers[name].status_code == 404
    assert answers["bank"].text.replace("bank", "none") == answers["none"].text
    if route.name not in {"archive_allocator", "retire_arm"}:  # which would end what others look at
        path, body = _request(route, name="bank")
        assert client.request(method, path, json=body, headers=owner).status_code in {200, 201, 409}


@pytest.mark.parametrize(("method", "route"), BY_ID)
def test_another_s_decision_is_not_there(service: Any, method: str, route: APIRoute) -> None:
    client, owner, shop = service
    path, body = _request(route)
    found = client.request(method, path, json=body, headers=shop)
    unknown, _ = _request(route, decision_id="none", live_id="none")
    none = client.request(method, unknown, json=body, headers=shop)
    assert found.status_code == none.status_code == 404
    named = "'d'" if "decision" in route.path else "'l'"
    assert found.text.replace(named, "'none'") == none.text
    assert client.request(method, path, json=body, headers=owner).status_code in {200, 409}


def test_what_is_of_all_shows_one_s_own(service: Any) -> None:
    client, owner, shop = service
    assert [a["name"] for a in client.get("/v1/allocators", headers=shop).json()["allocators"]] == ["shop-1"]
    assert [a["name"] for a in client.get("/data", headers=shop).json()["allocators"]] == ["shop-1"]
    body = {"outcomes": [{"decision_id": "d", **RESULT}, {"decision_id": "d", "allocator": "bank", **RESULT}]}
    told = client.post("/v1/outcomes", json=body, headers=shop).json()["answers"]
    assert [one["status"] for one in told] == [404, 404]
    for path in ("/metrics", "/", "/docs", "/openapi.json"):
        shown = client.get(path, headers=shop)
        assert shown.status_code == 200
        assert "bank" not in shown.text
    metrics = client.get("/metrics", headers=shop).text
    assert 'allocator="shop-1"' in metrics
    assert "headgate_requests" not in metrics, "requests of all are counted together"
    assert "headgate_requests" in client.get("/metrics", headers=owner).text


def test_a_session_is_bound_as_its_key_is(service: Any) -> None:
    client, _, shop = service
    signed = client.post("/login", data={"key": shop["Authorization"].split()[1]})
    with httpx.Client(base_url=client.base_url, cookies=signed.cookies, trust_env=False) as browser:
        assert browser.get("/allocators/shop-1").status_code == 200
        assert browser.get("/allocators/bank").status_code == browser.get("/allocators/bank/data").status_code == 404


def test_a_bound_key_works_on_its_own(service: Any) -> None:
    client, _, shop = service
    assert client.put("/v1/allocators/shop-2", json=QUIZ, headers=shop).status_code == 201
    made = client.post("/v1/allocators/shop-2/decisions", json={"budget": 9, "decision_id": "d"}, headers=shop).json()
    said = {"results": results(made["allocation"], {"q1"})}
    assert client.post("/v1/decisions/d/outcome", json=said, headers=shop).json()["complete"], "the bank's is not there"


@pytest.mark.parametrize("path", ["/v1/new/route", "/v1/allocators/", "/v1/allocator/bank", "//allocators/bank"])
def test_what_is_not_known_to_be_checked_is_not_there(service: Any, path: str) -> None:
    client, _, shop = service
    assert client.get(path, headers=shop).status_code == 404


@pytest.mark.parametrize("wrong", [[], ["*"], ["shop-*-x"], ["a b"], ["-x"], ["x" * 65], ["a"] * 101])
def test_what_a_key_cannot_be_bound_to(database: Database, wrong: list[str]) -> None:
    with database.transaction() as connection, pytest.raises(InputError, match="allocators"):
        create_key(connection, "a test", "k", "read", 1.0, wrong)


# -- ids, and who asked ------------------------------------------------------------------------------------------------

SHOP = Asker("shop-key", ("shop",))


def _two(database: Database) -> tuple[Ledger, dict[str, dict[str, float]]]:
    """Two allocators with a decision and a live round of the same ids."""
    ledger, made = Ledger(database), {}
    for name in ("shop", "bank"):
        asking.create(ledger, name)
        (text,) = ledger.answer([Decide(name, DecisionRequest(budget=20.0, decision_id="d"), asker=SHOP)])
        made[name] = json.loads(text)["allocation"]
        ledger.answer([Decide(name, LiveRequest(budget=20.0, decision_id="l"))])
    return ledger, made


def test_ids_are_an_allocator_s_own(database: Database) -> None:
    ledger, made = _two(database)
    outcome = {name: asking.tell("d", results(given, {"q1"})).outcome for name, given in made.items()}
    for worker in (ledger, Ledger(database)):  # one that remembers the decisions, and one that does not
        ambiguous, step = worker.answer([Report("d", outcome["shop"]), LiveStep("l", 0, StepReport(success=False))])
        assert isinstance(ambiguous, ConflictError)
        assert "/v1/allocators/bank/decisions/d, /v1/allocators/shop/decisions/d" in str(ambiguous)
        assert isinstance(step, ConflictError)
        assert "/v1/allocators/bank/live/l" in str(step)
    with pytest.raises(ConflictError, match="2 allocators have a decision 'd'"):
        database.look(lambda c: views.decision(c, "d"))
    with pytest.raises(ConflictError, match="2 allocators have a live round 'l'"):
        database.look(lambda c: views.live(c, "l"))
    (told,) = Ledger(database).answer([Report("d", outcome["shop"], allocator="shop")])
    assert json.loads(told)["complete"]
    (own,) = Ledger(database).answer([LiveStep("l", 0, StepReport(success=False, last=True), asker=SHOP)])
    assert json.loads(own)["done"], "it sees one of them alone"
    counts = {one.name: one.counts.complete for one in database.look(views.allocators)}
    assert counts == {"shop": 2, "bank": 0}
    assert isinstance(ledger.answer([Report("d", outcome["shop"], allocator="none")])[0], NotFoundError)
    assert verify(database) == []


def test_decisions_and_reports_remember_their_key(database: Database) -> None:
    ledger, made = _two(database)
    said = asking.tell("d", results(made["shop"], set())).outcome
    ledger.answer([Report("d", said, allocator="shop", asker=SHOP)])
    ledger.answer([LiveStep("l", 0, StepReport(success=True, last=True), "shop", SHOP)])

    def keys(table: Any) -> list[str | None]:
        return database.look(lambda c: list(c.execute(select(table.c.key_id)).scalars()))

    assert keys(schema.decisions).count("shop-key") == 2
    assert keys(schema.reports) == keys(schema.live_steps) * 2 == ["shop-key"] * 2
