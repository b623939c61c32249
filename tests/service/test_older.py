"""Allocators that an older version stored: they open as what their policy has become, or are refused by themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update

from headgate.service import views
from headgate.service.engine.queue import Ledger
from headgate.service.faults import ConflictError
from headgate.service.settings import Settings
from headgate.service.store import Database, open_database, schema
from headgate.service.verify import verify
from tests.service import asking
from tests.service.harness import results, running

FISHER = {"name": "ra-ucb", "confidence": "fisher", "estimator": "likelihood", "scale": 0.5, "seed": 3}


def store_policy(database: Database, name: str, policy: dict[str, Any]) -> None:
    """Write an allocator's policy as it would stand in a database that another version left."""
    table = schema.allocators
    with database.transaction() as connection:
        spec = json.loads(connection.execute(select(table.c.spec).where(table.c.name == name)).scalar_one())
        text = json.dumps(spec | {"policy": policy})
        connection.execute(update(table).where(table.c.name == name).values(spec=text, config=table.c.config + 1))


def test_optimism_by_fisher_information_is_lr_ucb_now(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    asking.play(ledger, 5)
    store_policy(database, "quiz", FISHER)
    made = asking.decide(ledger, "next")["allocation"]
    assert sum(made.values()) == pytest.approx(20.0)
    (learner,) = ledger.memory.learners.values()
    assert (type(learner.policy).name, learner.policy.seed) == ("lr-ucb", 3)
    assert learner.evidence.trials.sum() > 0, "it goes on with what was seen"
    assert database.look(lambda c: views.allocator(c, "quiz")).spec.policy == {"name": "lr-ucb", "seed": 3}
    assert verify(database) == []


def test_the_body_that_made_it_is_still_its_body(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger, policy=FISHER)
    store_policy(database, "quiz", FISHER)
    with pytest.raises(AssertionError, match="False"):  # there is the same already
        asking.create(ledger, policy=FISHER)


def test_one_that_cannot_be_opened_does_not_stop_the_others(database: Database) -> None:
    """Asked in one batch, each of the others is answered; what was decided before is still answered too."""
    ledger = Ledger(database)
    for name in ("quiz", "odd"):
        asking.create(ledger, name)
        asking.play(ledger, 3, name=name)
    made = asking.decide(ledger, "odd-d", name="odd")["allocation"]
    store_policy(database, "odd", {"name": "thompson", "confidence": "forgotten"})
    for worker in (ledger, Ledger(database)):
        odd, told, again, quiz = worker.answer(
            [asking.ask("odd-e", name="odd"), asking.tell("odd-d", results(made, set())),
             asking.ask("odd-d", name="odd"), asking.ask("d")]
        )  # fmt: skip
        for refused in (odd, told):
            assert isinstance(refused, ConflictError)
            assert "'odd' cannot be opened by this version: Thompson does not take confidence" in str(refused)
        assert json.loads(again)["allocation"] == made
        assert json.loads(quiz)["decision_id"] == "d"
    assert len(database.look(lambda c: views.evidence(c, "odd")).arms) == 3, "its evidence can be taken elsewhere"
    (unverified,) = verify(database)  # it says what it could not look at, and nothing else is wrong
    assert unverified.startswith("odd: cannot be opened by this version: Thompson does not take confidence")


def test_its_page_and_its_estimates_say_why(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'older.db'}"
    database = open_database(url)
    asking.create(Ledger(database))
    asking.create(Ledger(database), "odd")
    store_policy(database, "odd", {"name": "forgotten"})
    with running(Settings(database=url, keys=False)) as client:
        for path in ("/v1/allocators/odd/estimates", "/allocators/odd/data"):
            assert _refusal(client, path) == (409, True)
        shown = [(one["name"], one["policy"]) for one in client.get("/data").json()["allocators"]]
        assert shown == [("odd", "forgotten"), ("quiz", "thompson")]
        assert client.get("/v1/allocators/quiz/estimates").status_code == 200
        assert client.post("/v1/allocators/odd/archive").json()["archived_at"] is not None
    database.close()


def _refusal(client: httpx.Client, path: str) -> tuple[int, bool]:
    answer = client.get(path)
    return answer.status_code, "policy.name must be one of" in answer.json()["error"]["message"]
