"""Both clients against a real service: every call, and every refusal."""

from __future__ import annotations

import sys
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import headgate as hg
from headgate.client import (
    AccessError,
    Client,
    ClientError,
    ConflictError,
    Decision,
    InvalidRequestError,
    NotFoundError,
    OutcomeAnswer,
)
from headgate.errors import HeadgateError, InputError, UnsupportedError
from headgate.service.settings import Settings
from headgate.service.store import open_database
from headgate.service.store.keys import create_key
from tests.client.conftest import open_client, serving

LAW = hg.Weibull(shape=1.6)


def test_an_allocator_from_its_beginning_to_its_end(client: Any, name: str) -> None:
    made = client.put_allocator(name, ["q1", {"name": "q2", "upper": 9.0}], LAW, 30.0, units="seconds")
    assert made == client.put_allocator(name, ["q1", {"name": "q2", "upper": 9.0}], LAW.to_dict(), 30, units="seconds")
    assert [arm.name for arm in made.arms] == ["q1", "q2"]
    assert made.arms[1].upper == 9.0
    assert made.spec["law"] == LAW.to_dict()
    assert isinstance(made.created_at, datetime)
    assert made.archived_at is None
    with pytest.raises(ConflictError) as conflict:
        client.put_allocator(name, ["q1"], LAW, 30.0)
    assert (conflict.value.status, conflict.value.code) == (409, "conflict")

    assert len(client.add_arm(name, "q3", lower=1.0).arms) == 3
    retired = client.retire_arm(name, "q1")
    assert [arm.name for arm in retired.arms if arm.retired_at is None] == ["q2", "q3"]
    assert set(client.decide(name, 12.0).allocation) == {"q2", "q3"}
    assert client.archive(name).archived_at is not None
    with pytest.raises(ConflictError, match="archived"):
        client.decide(name, 12.0)
    assert name in [one.name for one in client.allocators()]
    assert client.allocator(name).counts.decisions == 1


def test_a_round(client: Any, name: str) -> None:
    client.put_allocator(name, ["a", "b"], "exponential", 10.0, policy="uniform")
    decision = client.decide(name, 8.0, context={"class": "5b"})
    assert decision == client.decide(name, 8.0, decision_id=decision.decision_id, context={"class": "5b"})
    assert sum(decision.allocation.values()) == pytest.approx(8.0)
    assert decision.expires_at > decision.created_at
    with pytest.raises(ConflictError):
        client.decide(name, 7.0, decision_id=decision.decision_id)

    first = client.report(decision, {"a": decision.allocation["a"] / 2})
    assert (first.accepted, first.complete) == (("a",), False)
    last = client.report(decision.decision_id, {"a": decision.allocation["a"] / 2, "b": None})
    assert (last.accepted, last.repeated, last.complete, last.late) == (("b",), ("a",), True, False)
    with pytest.raises(ConflictError, match="otherwise"):
        client.report(decision, {"b": 1.0})

    (past,) = client.history(name)
    assert past.decision == decision
    assert past.context == {"class": "5b"}
    assert past.results == {"a": decision.allocation["a"] / 2, "b": None}
    assert past.complete


def test_a_budget_that_is_not_known(client: Any, name: str) -> None:
    client.put_allocator(name, ["a", "b"], "exponential", 4.0)
    decision = client.decide(name, None, step=0.5)
    assert decision.allocation is None
    assert sum(step.amount for step in decision.schedule) == pytest.approx(4.0)
    first = decision.schedule[0]
    assert client.report(decision, {first.arm: None}, spent=first.amount).complete
    (past,) = client.history(name)
    assert past.spent == first.amount
    once = client.decide(name, None, switching=False).schedule
    assert once is not None
    assert len({step.arm for step in once}) == len(once)


def test_many_at_once(client: Any, name: str) -> None:
    client.put_allocator(name, ["a", "b"], "exponential", 10.0)
    first, refused, last = client.decide_many(name, [5.0, 99.0, 6.0])
    assert isinstance(first, Decision)
    assert isinstance(refused, InvalidRequestError)
    assert refused.status == 422
    again = client.decide_many(name, [5.0, 6.0], decision_ids=[first.decision_id, last.decision_id])
    assert again == [first, last]
    heard = client.report_many([(first, {"a": None, "b": None}), ("nobody", {"a": None}), (last, {"a": None})])
    assert isinstance(heard[0], OutcomeAnswer)
    assert heard[0].complete
    assert isinstance(heard[1], NotFoundError)
    assert not heard[2].complete
    (repeat,) = client.report_many({last.decision_id: {"a": None}})
    assert repeat.repeated == ("a",)
    with pytest.raises(InputError, match="one decision id for each budget"):
        client.decide_many(name, [5.0, 6.0], decision_ids=["x"])


def test_what_is_known(client: Any, name: str) -> None:
    client.put_allocator(name, ["a", "b"], "exponential", 10.0, policy="uniform")
    decisions = client.decide_many(name, [9.0] * 25)
    client.report_many([(one, {"a": one.allocation["a"] / 3, "b": None}) for one in decisions])
    found = client.estimates(name, budget=5.0, level=0.8)
    assert (found.level, found.budget) == (0.8, 5.0)
    assert set(found.arms) == set(found.best) == {"a", "b"}
    low, high = found.arms["a"].activation_interval
    assert 0.0 <= low <= found.arms["a"].activation <= high <= 1.0

    past = list(client.history(name, page=10))
    assert [one.round for one in past] == list(range(24, -1, -1))
    assert all(a.decision.created_at >= b.decision.created_at for a, b in pairwise(past))

    evidence = client.export_evidence(name)
    other = f"{name[:58]}-other"
    client.put_allocator(other, ["a", "b"], "exponential", 10.0)
    assert not client.import_evidence(other, evidence, "from-elsewhere").repeated
    assert client.import_evidence(other, evidence, "from-elsewhere").repeated
    assert client.export_evidence(other) == evidence
    assert client.health() == "ok"


@pytest.mark.parametrize("arm", ["a/b", "..", "50% off?", "größe #1", "a/retire"])
def test_any_arm_can_be_retired(client: Any, name: str, arm: str) -> None:
    client.put_allocator(name, [arm, "other"], "exponential", 10.0)
    assert client.retire_arm(name, arm).arms[0].retired_at is not None


def test_refusals_say_which_field_breaks_which_rule(client: Any, name: str) -> None:
    with pytest.raises(NotFoundError) as missing:
        client.allocator(name)
    assert isinstance(missing.value, ClientError)
    assert isinstance(missing.value, HeadgateError)
    with pytest.raises(InvalidRequestError) as wrong:
        client.put_allocator(name, ["a"], "exponential", -1.0)
    assert [field.field for field in wrong.value.fields] == ["max_budget"]
    with pytest.raises(InputError, match="finite"):
        client.decide(name, float("nan"))


def test_keys(kind: str, tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path / 'keys.db'}"
    database = open_database(place)
    with database.transaction() as connection:
        admin = create_key(connection, "test", "admin", "admin", 1000.0)
        reader = create_key(connection, "test", "reader", "read", 1000.0)
    database.close()
    with serving(Settings(database=place, keys=True)) as url:
        for key, refusal in ((None, 401), ("hg_nobody_nothing", 401), (reader, 403)):
            client = open_client(kind, url, key)
            with pytest.raises(AccessError) as error:
                client.put_allocator("quiz", ["a"], "exponential", 1.0)
            assert error.value.status == refusal
            client.close()
        client = open_client(kind, url, admin)
        assert client.put_allocator("quiz", ["a"], "exponential", 1.0).name == "quiz"
        client.close()


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://host", "http://", "http://host/?q=1"])
def test_a_url_is_checked(url: str) -> None:
    with pytest.raises(InputError, match="url must be"):
        Client(url)


def test_a_key_is_never_shown() -> None:
    with pytest.raises(InputError) as error:
        Client("http://127.0.0.1:1", "a secret\n")
    assert "secret" not in str(error.value)
    with Client("http://127.0.0.1:1", "hg_id_secret") as client:
        assert "secret" not in repr(vars(client))


def test_without_httpx_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'headgate\[client\]'"):
        Client("http://127.0.0.1:1")
