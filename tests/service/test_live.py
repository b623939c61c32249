"""Live rounds over HTTP: the steps of the library, once each, whatever is repeated, killed or forgotten."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import httpx
import pytest

from headgate.live import LiveRound
from headgate.policies import Policy
from headgate.service import clock, upkeep, views
from headgate.service.bodies import LiveRequest, StepReport
from headgate.service.engine.queue import Ledger
from headgate.service.engine.requests import Change, Decide, LiveStep, Report
from headgate.service.faults import ConflictError, NotFoundError, RefusedError
from headgate.service.spec import AllocatorSpec, build_policy, resolved_arms, seed_of
from headgate.service.store import Database
from headgate.service.verify import verify
from tests.service import asking
from tests.service.harness import QUIZ

ARMS: list[str] = QUIZ["arms"]


def begin(ledger: Ledger, key: str, budget: float | None = 20.0, **more: Any) -> Any:
    body = LiveRequest.model_validate({"budget": budget, "decision_id": key} | more)
    (answer,) = ledger.answer([Decide("quiz", body)])
    return json.loads(answer) if isinstance(answer, str) else answer


def go_on(ledger: Ledger, key: str, number: int, **told: Any) -> Any:
    (answer,) = ledger.answer([LiveStep(key, number, StepReport.model_validate(told))])
    return json.loads(answer) if isinstance(answer, str) else answer


def policy_of(**change: Any) -> Policy:
    spec = AllocatorSpec.model_validate(QUIZ | change)
    return build_policy(spec, resolved_arms(spec), seed_of(spec, "quiz"))


def play(live: LiveRound, ledgers: list[Ledger], key: str, shown: Any, seed: int) -> int:
    """Follow a round in memory and in the service, with any worker, every report twice; return the number of steps."""
    rng, number = random.Random(seed), 0  # noqa: S311  # a game for a test
    while (step := live.next()) is not None:
        assert shown["step"] == {"number": number, "arm": ARMS[step.arm], "amount": step.amount}
        told: dict[str, Any] = {"success": rng.random() < 0.4, "spent": step.amount * rng.uniform(0.1, 1.0)}
        live.report(**told)
        answers = [go_on(rng.choice(ledgers), key, number, **told) for _ in range(2)]
        assert answers[0] == answers[1]
        shown, number = answers[0], number + 1
    assert (shown["step"], shown["done"]) == (None, True)
    return number


@pytest.mark.parametrize(
    "change", [{}, {"reward": "cascade"}, {"policy": {"name": "thompson", "discount": 0.9}}], ids=str
)
def test_it_is_the_librarys_round(database: Database, change: dict[str, Any]) -> None:
    """Step by step, through two workers; what was learned is what the policy observes.

    All are opened by one of them, where the policy remembers which arms were idle when it last decided.
    """
    ledgers, policy = [Ledger(database), Ledger(database)], policy_of(**change)
    asking.create(ledgers[0], **change)
    for i in range(4):
        live = policy.live(20.0)
        play(live, ledgers, f"r{i}", begin(ledgers[i % 2 if "policy" in change else 0], f"r{i}"), seed=i)
        policy.observe(live)
    made = asking.decide(ledgers[0], "d")["allocation"]
    assert list(made.values()) == policy.allocate(20.0).tolist()
    counts = database.look(lambda c: views.allocator(c, "quiz")).counts
    assert (counts.complete, counts.pending) == (4, 1)
    assert verify(database) == []


def test_terms_and_unknown_budgets(database: Database) -> None:
    ledger, policy = Ledger(database), policy_of()
    asking.create(ledger)
    live = policy.live(None, value=[1.0, 2.0, 1.0], eligible=[True, True, False])
    shown = begin(ledger, "r", None, value={"q2": 2.0}, eligible=["q1", "q2"])
    assert shown["left"] is None
    for number in range(3):
        step = live.next()
        assert step is not None
        assert shown["step"]["amount"] == step.amount
        live.report(success=False)
        shown = go_on(ledger, "r", number, success=False, last=number == 2)
    live.stop()
    policy.observe(live)
    assert shown["done"]
    assert list(asking.decide(ledger, "d")["allocation"].values()) == policy.allocate(20.0).tolist()
    assert verify(database) == []


def test_what_contradicts_or_cannot_be_is_refused(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    first = begin(ledger, "r")
    assert begin(ledger, "r") == begin(Ledger(database), "r") == first
    assert isinstance(begin(ledger, "r", 19.0), ConflictError)
    assert isinstance(ledger.answer([asking.ask("r")])[0], ConflictError), "it is no decision"
    assert isinstance(go_on(ledger, "r", 1, success=False), ConflictError), "not handed out yet"
    assert isinstance(go_on(ledger, "none", 0, success=False), NotFoundError)
    most = first["step"]["amount"]
    assert isinstance(go_on(ledger, "r", 0, success=False, spent=2 * most), RefusedError)
    second = go_on(ledger, "r", 0, success=True, spent=most / 2)
    assert second["step"]["number"] == 1
    assert isinstance(go_on(Ledger(database), "r", 0, success=False), ConflictError)
    assert go_on(Ledger(database), "r", 0, success=True, spent=most / 2) == second
    assert isinstance(ledger.answer([asking.tell("r", {"q1": {"success": False}})])[0], ConflictError)
    assert database.look(lambda c: views.live(c, "r")).model_dump() == second
    asking.decide(ledger, "d")
    assert isinstance(go_on(ledger, "d", 0, success=False), NotFoundError)
    assert verify(database) == []


def test_a_deadline_keeps_what_was_reported(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where silence is nothing too: the steps that were reported are no silence; then the round is over."""
    ledger = Ledger(database)
    asking.create(ledger, feedback_deadline=60.0)
    shown = begin(ledger, "r")
    arm = shown["step"]["arm"]
    go_on(ledger, "r", 0, success=True, spent=shown["step"]["amount"] / 2)
    begin(ledger, "silent")
    start = clock.now()
    for later in range(0, 90_000_000, 10_000_000):
        monkeypatch.setattr(time, "time_ns", lambda later=later: (start + later) * 1000)
        assert ledger.answer([Change(upkeep.beat)]) == [None]
        for _, _, key, _ in database.look(lambda c: upkeep.silent(c, (-1, -1))):
            for worker in (ledger, Ledger(database)):
                worker.answer([Report(key, None)])
    heard = database.look(lambda c: views.decision(c, "r"))
    assert heard.complete
    assert heard.results[arm]["amount"] == shown["step"]["amount"] / 2
    assert heard.results[arm]["success"]
    assert isinstance(go_on(ledger, "r", 1, success=False), ConflictError)
    counts = database.look(lambda c: views.allocator(c, "quiz")).counts
    assert (counts.complete, counts.expired, counts.reward) == (2, 0, 1)
    assert database.look(lambda c: views.live(c, "r")).done
    assert verify(database) == []


def test_nothing_to_hand_out_is_over_at_once(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    assert begin(ledger, "r", 0.0)["done"]
    assert database.look(lambda c: views.allocator(c, "quiz")).counts.complete == 1
    assert verify(database) == []


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE live_steps SET spent = spent / 2",
        "UPDATE live_steps SET answer = REPLACE(answer, 'amount', 'amounts')",
        "UPDATE live SET steps = steps + 1",
        "DELETE FROM live_steps",
    ],
)
def test_damage_is_found(database: Database, damage: str) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    shown = begin(ledger, "r")
    go_on(ledger, "r", 0, success=False, spent=shown["step"]["amount"] / 3)
    assert verify(database) == []
    with database.transaction() as connection:
        connection.exec_driver_sql(damage)
    assert verify(database) == ["quiz: live round 'r' is not what its steps say"]


def test_over_http(client: httpx.Client) -> None:
    client.put("/v1/allocators/quiz", json=QUIZ)
    shown = client.post("/v1/allocators/quiz/live", json={"budget": 20.0, "decision_id": "r"}).json()
    path = "/v1/live/r/steps"
    refused = client.post(f"{path}/0", json={"success": "yes"})
    assert (refused.status_code, refused.json()["error"]["fields"][0]["field"]) == (422, "success")
    assert client.post(f"{path}/-1", json={"success": True}).status_code == 422
    number = 0
    while not shown["done"]:
        assert client.get("/v1/live/r").json() == shown
        shown = client.post(f"{path}/{number}", json={"success": number == 1}).json()
        number += 1
    assert client.get("/v1/decisions/r").json()["complete"]
    assert client.get("/v1/allocators/quiz/history").json()["items"][0]["decision"]["allocation"] == {}
    for body in ({"budget": 31.0}, {"budget": 5.0, "step": 1.0}, {"budget": None, "switching": False}):
        assert client.post("/v1/allocators/quiz/live", json=body).status_code == 422, body
