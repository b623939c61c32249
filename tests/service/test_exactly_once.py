"""Transport at least once, learning exactly once: whatever the order, the repeats and the number of workers."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from headgate.service.bodies import DecisionRequest
from headgate.service.engine.cells import read_evidence
from headgate.service.engine.learner import Learner
from headgate.service.engine.queue import Ledger
from headgate.service.faults import ConflictError, ServiceError, UnavailableError
from headgate.service.store import Database, statements
from headgate.service.store.rows import row_of
from headgate.service.verify import verify
from tests.service import asking
from tests.service.harness import QUIZ, results

ARMS: list[str] = QUIZ["arms"]


def stored(database: Database) -> Any:
    return database.look(lambda connection: read_evidence(connection, 1, len(ARMS), QUIZ["max_budget"])[0].bins)


@pytest.mark.parametrize("workers", [1, 3])
def test_shuffled_repeated_partial_and_contradictory_reports(database: Database, workers: int) -> None:
    """The evidence is that of the first word about every arm, recorded by one learner in memory."""
    ledgers = [Ledger(database) for _ in range(workers)]
    asking.create(ledgers[0])
    rng = random.Random(3)  # noqa: S311  # a shuffle for a test
    allocations = {f"d{i}": asking.decide(rng.choice(ledgers), f"d{i}")["allocation"] for i in range(40)}
    messages = []
    for key, allocation in allocations.items():
        said = results(allocation, {arm for arm in ARMS if rng.random() < 0.5})
        for arm, result in said.items():
            messages += [(key, {arm: result})] * 2
        messages += [(key, said)]
        if rng.random() < 0.2 and said:
            arm = rng.choice(list(said))
            flipped = results(allocation, set() if said[arm]["success"] else {arm})[arm]
            messages.append((key, {arm: flipped}))
    rng.shuffle(messages)
    heard: dict[str, dict[str, Any]] = {key: {} for key in allocations}
    contradictions = 0
    while messages:
        batch, messages = messages[:7], messages[7:]
        for (key, said), answer in zip(
            batch, rng.choice(ledgers).answer([asking.tell(key, said) for key, said in batch]), strict=True
        ):
            if isinstance(answer, ConflictError):
                contradictions += 1
                continue
            heard[key] |= {arm: said[arm] for arm in json.loads(answer)["accepted"]}
    assert contradictions > 0
    expected = asking.evidence_of_log({k: (allocations[k], heard[k]) for k in allocations}, ARMS)
    assert np.array_equal(stored(database), expected.bins)
    assert verify(database) == []


def test_a_worker_decides_from_what_another_heard(database: Database) -> None:
    """The next decision of any worker knows all evidence, and no two decisions share their randomness."""
    one, other = Ledger(database), Ledger(database)
    asking.create(one)
    asking.decide(other, "warm")
    asking.play(one, 25)
    asking.decide(other, "next")
    (learner,) = other.memory.learners.values()
    assert np.array_equal(learner.state.evidence.bins, stored(database))
    assert learner.state.round == 27


@pytest.mark.parametrize("moment", ["commit", "execute"])
def test_what_was_not_committed_was_not_learned(
    database: Database, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """A failing transaction is an error for all in it, and leaves neither database nor memory changed."""
    ledger = Ledger(database)
    asking.create(ledger)
    asking.play(ledger, 5)
    made = asking.decide(ledger, "d")["allocation"]
    before = stored(database)
    driver = database.engine.dialect

    def broken(*_args: object, **_kwargs: object) -> None:
        raise driver.loaded_dbapi.OperationalError("disk full")

    with monkeypatch.context() as patch:
        if moment == "commit":
            patch.setattr(driver, "do_commit", broken)
        else:
            patch.setitem(statements.COUNT.text, driver.name, "DELETE FROM nowhere")  # the last of all
        refused = ledger.answer([asking.tell("d", results(made, set(ARMS))), asking.ask("new")])
    assert [type(answer) for answer in refused] == [UnavailableError] * 2
    assert np.array_equal(stored(database), before)
    again = ledger.answer([asking.tell("d", results(made, set(ARMS))), asking.ask("new")])
    assert not any(isinstance(answer, ServiceError) for answer in again)
    assert verify(database) == []


def test_a_decision_knows_the_reports_of_its_batch(database: Database) -> None:
    """Asked together with a report, in whichever order, a decision is the one that is made after it."""
    ledger = Ledger(database)
    for name in ("after", "with", "before"):  # three allocators that are the same, random numbers included
        asking.create(ledger, name, policy={"name": "thompson", "seed": 7})
        asking.play(ledger, 8, name=name)
        asking.decide(ledger, f"{name}-d", name=name)
    made = {name: ledger.memory.decisions[name, f"{name}-d"].allocation or {} for name in ("after", "with", "before")}
    assert list(made["after"].values()) == list(made["with"].values()) == list(made["before"].values())
    said = {name: asking.tell(f"{name}-d", results(made[name], set(ARMS))) for name in made}
    ledger.answer([said["after"]])
    after = asking.decide(ledger, "after-next", name="after")
    together, _ = ledger.answer([asking.ask("with-next", name="with"), said["with"]])
    before = asking.decide(ledger, "before-next", name="before")
    assert json.loads(together)["allocation"] == after["allocation"]
    assert before["allocation"] != after["allocation"], "or the test would show nothing"


def test_the_same_id_in_one_batch_is_one_decision(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    first, second, third = ledger.answer([asking.ask("d"), asking.ask("d"), asking.ask("d", 10.0)])
    assert first == second
    assert isinstance(third, ConflictError)
    assert verify(database) == []


def test_a_restart_continues_where_it_was(database: Database) -> None:
    """A new process answers known ids from the log, and its decisions are those the old one would have made."""
    old = Ledger(database)
    asking.create(old)
    asking.play(old, 20)
    new = Ledger(database)
    assert new.answer([asking.ask("quiz-0-3")]) == old.answer([asking.ask("quiz-0-3")])
    fresh = database.look(lambda connection: Learner(connection, row_of(connection, "quiz")))
    (learner,) = old.memory.learners.values()
    assert np.array_equal(fresh.evidence.bins, learner.evidence.bins)
    assert asking.decide(new, "after")["allocation"] == fresh.allocate(DecisionRequest(budget=20.0), 20).allocation
