"""Data out: decisions page by page, and the whole log as a Parquet file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

import headgate as hg
from headgate.cli.app import app
from headgate.errors import InputError
from headgate.service.bodies import DecisionRequest
from headgate.service.engine.queue import Ledger
from headgate.service.engine.requests import Decide
from headgate.service.export import export
from headgate.service.faults import NotFoundError
from headgate.service.store import Database
from headgate.service.store.keys import Asker
from tests.service import asking
from tests.service.harness import QUIZ, results


def test_pages_are_the_log_in_its_order(client: httpx.Client) -> None:
    client.put("/v1/allocators/quiz", json=QUIZ)
    for place in range(7):
        body = {"budget": 20.0, "decision_id": f"d{place}", "context": {"n": place}}
        made = client.post("/v1/allocators/quiz/decisions", json=body).json()
        if place % 2:
            said = {"results": results(made["allocation"], {"q1"})}
            client.post(f"/v1/decisions/d{place}/outcome", json=said)
    everything = client.get("/v1/allocators/quiz/decisions").json()
    assert [one["decision"]["decision_id"] for one in everything["items"]] == [f"d{place}" for place in range(7)]
    assert everything["items"] == client.get("/v1/allocators/quiz/history").json()["items"][::-1]
    assert everything["next_after"] is None
    first = client.get("/v1/allocators/quiz/decisions", params={"limit": 4}).json()
    rest = client.get("/v1/allocators/quiz/decisions", params={"limit": 4, "after": first["next_after"]}).json()
    assert first["items"] + rest["items"] == everything["items"]
    for wrong in ({"limit": 0}, {"after": -1}, {"limit": 1001}, {"after": "x"}):
        refused = client.get("/v1/allocators/quiz/decisions", params=wrong)
        assert refused.status_code == 422
        assert refused.json()["error"]["fields"][0]["field"] == next(iter(wrong))
    with hg.Client(str(client.base_url)) as typed:
        found = list(typed.decisions("quiz", page=3))
        assert [one.decision.decision_id for one in found] == [f"d{place}" for place in range(7)]
        assert [one.round for one in typed.decisions("quiz", after=4)] == [5, 6]


def test_the_file_is_the_log(database: Database, tmp_path: Path) -> None:
    """One row an arm: its evidence is that of the service, and all kinds of decisions are in it."""
    pq = pytest.importorskip("pyarrow.parquet")
    ledger = Ledger(database)
    asking.create(ledger, policy={"name": "uniform"})
    asking.create(ledger, "empty")
    asking.play(ledger, 6)
    request = DecisionRequest(budget=20.0, decision_id="silent", context={"class": "5b"}, subject="student-17")
    ledger.answer([Decide("quiz", request, asker=Asker("till-7"))])
    made = asking.decide(ledger, "less")["allocation"]
    said = {arm: {"success": False, "amount": 1.5} for arm in made}
    ledger.answer([asking.tell("less", said)])
    file = tmp_path / "log.parquet"
    assert export(database, "quiz", file) == 8 * 3
    rows: list[dict[str, Any]] = pq.read_table(file).to_pylist()
    heard = [row for row in rows if row["success"] is not None]
    arm = [QUIZ["arms"].index(row["arm"]) for row in heard]
    seen = [np.nan if row["threshold"] is None else row["threshold"] for row in heard]
    won, x = [row["success"] for row in heard], [row["amount"] for row in heard]
    evidence = hg.Evidence.of_rows(arm, x, won, seen, arms=3, max_budget=30.0)
    from headgate.service import views

    stored = database.look(lambda c: views.evidence(c, "quiz"))
    assert evidence.to_dict(QUIZ["arms"])["arms"] == stored.model_dump()["arms"]
    (silent, *_) = (row for row in rows if row["decision_id"] == "silent")
    assert (silent["success"], silent["given"], json.loads(silent["context"])) == (None, made["q1"], {"class": "5b"})
    assert silent["created_at"].tzinfo is not None
    assert {(row["key"], row["subject"]) for row in rows if row["decision_id"] == "silent"} == {
        ("till-7", "student-17")
    }
    assert {(row["key"], row["subject"]) for row in rows if row["decision_id"] != "silent"} == {(None, None)}
    assert {row["amount"] for row in rows if row["decision_id"] == "less"} == {1.5}
    assert export(database, "empty", tmp_path / "empty.parquet") == 0
    assert pq.read_table(tmp_path / "empty.parquet").num_rows == 0
    with pytest.raises(InputError, match="never overwrites"):
        export(database, "quiz", file)
    with pytest.raises(InputError, match="no folder"):
        export(database, "quiz", tmp_path / "none" / "log.parquet")
    with pytest.raises(NotFoundError, match="no allocator 'nobody'"):
        export(database, "nobody", tmp_path / "nobody.parquet")
    assert not (tmp_path / "nobody.parquet.partial").exists()


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_schedules_and_edges_are_exported_too(client: httpx.Client, url: str, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    client.put("/v1/allocators/quiz", json=QUIZ)
    plan = client.post("/v1/allocators/quiz/decisions", json={"budget": None, "decision_id": "plan"}).json()
    client.post("/v1/allocators/quiz/decisions", json={"budget": None, "decision_id": "open"})
    step = plan["schedule"][0]
    said = {"results": {step["arm"]: {"success": False}}, "spent": step["amount"]}
    client.post("/v1/decisions/plan/outcome", json=said).raise_for_status()
    with hg.Client(str(client.base_url)) as typed:
        edge = hg.Edge(typed, "quiz")
        edge.pull()
        decision = edge.decide(20.0)
        edge.report(decision, dict.fromkeys(decision.allocation or {}))
        edge.push()
    said_by_command = CliRunner().invoke(app, ["export", "quiz", str(tmp_path / "a.parquet"), "--database", url])
    assert said_by_command.exit_code == 0, said_by_command.output
    rows = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert f"{len(rows)} rows" in said_by_command.output
    by = {key: [row for row in rows if row["decision_id"] == key] for key in ("plan", "open", decision.decision_id)}
    assert [row["given"] for row in by["plan"] if row["arm"] == step["arm"]] == [step["amount"]]
    assert {row["given"] for row in by["open"]} == {None}
    assert {row["edge"] for row in by[decision.decision_id]} == {edge.id}
    assert sum(row["given"] for row in by[decision.decision_id]) == pytest.approx(20.0)
