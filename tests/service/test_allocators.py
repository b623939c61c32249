"""Allocators over HTTP: what they refuse, arms that come and go, evidence that travels."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from headgate.policies import POLICIES
from tests.service.harness import QUIZ, results


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"arms": []}, "arms"),
        ({"arms": ["a", "a"]}, "twice"),
        ({"arms": ["a\n"]}, "printable"),
        ({"law": {"name": "nope"}}, "nope"),
        ({"law": {"name": "weibull", "shape": -1}}, "shape"),
        ({"law": {"name": "weibull", "shape": 10**400}}, "number"),
        ({"law": {"name": "weibull", "shape": [1, 2]}}, "2 arms"),
        ({"policy": {"name": "ra-ucb"}}, "give rounds="),
        ({"policy": {"name": "thompson", "discount": 1.1}}, "discount"),
        (
            {"policy": {"name": "thompson", "bogus": 1}},
            "does not take bogus: its options are law, arms, max_budget, seed",
        ),
        ({"policy": {"name": "thompson", "rounds": 100}}, "does not take rounds"),
        ({"policy": {"name": "thompson", "lower": [1]}}, "arms"),
        ({"policy": {}}, "policy.name"),
        ({"max_budget": 0}, "max_budget"),
        ({"max_budget": "NaN"}, "max_budget"),
        ({"surprise": 1}, "surprise"),
        ({"feedback_deadline": -1}, "feedback_deadline"),
    ],
)
def test_a_wrong_allocator_is_refused_in_words(refusing: httpx.Client, change: dict[str, Any], words: str) -> None:
    refused = refusing.put("/v1/allocators/quiz", json=QUIZ | change)
    assert refused.status_code == 422, refused.text
    assert words in refused.json()["error"]["message"]
    assert refusing.get("/v1/allocators").json() == {"allocators": []}


@pytest.mark.parametrize("policy", [name for name, policy in POLICIES.items() if policy.additive])
def test_policies_that_act_on_evidence_are_served(client: httpx.Client, policy: str) -> None:
    options: dict[str, Any] = {"name": policy}
    if policy == "oracle":
        options |= {"activation": [0.5, 0.5, 0.5], "rate": [0.1, 0.2, 0.3]}
    assert client.put("/v1/allocators/quiz", json=QUIZ | {"policy": options}).status_code == 201
    for _ in range(4):
        made = client.post("/v1/allocators/quiz/decisions", json={"budget": 12.0}).json()
        assert sum(made["allocation"].values()) <= 12.0 * (1 + 1e-12)
        said = {"results": results(made["allocation"], {"q2"})}
        assert client.post(f"/v1/decisions/{made['decision_id']}/outcome", json=said).status_code == 200


def test_arms_come_and_go_and_come_back(client: httpx.Client) -> None:
    client.put("/v1/allocators/quiz", json=QUIZ | {"policy": {"name": "uniform"}})
    old = client.post("/v1/allocators/quiz/decisions", json={"budget": 30.0}).json()
    assert client.post("/v1/allocators/quiz/arms", json={"name": "q4", "upper": 2.0}).status_code == 200
    assert client.post("/v1/allocators/quiz/arms", json={"name": "q4"}).status_code == 409
    assert client.post("/v1/allocators/quiz/arms/q1/retire").status_code == 200
    now = client.post("/v1/allocators/quiz/decisions", json={"budget": 30.0}).json()["allocation"]
    assert set(now) == {"q2", "q3", "q4"}
    assert now["q4"] == pytest.approx(2.0)
    late = client.post(
        f"/v1/decisions/{old['decision_id']}/outcome", json={"results": results(old["allocation"], {"q1"})}
    )
    assert late.json()["accepted"] == ["q1", "q2", "q3"], "what is heard of a retired arm counts"
    assert client.post("/v1/allocators/quiz/arms", json={"name": "q1"}).status_code == 200
    known = {arm["arm"]: arm["trials"] for arm in client.get("/v1/allocators/quiz/estimates").json()["arms"]}
    assert known == {"q1": 1, "q2": 1, "q3": 1, "q4": 0}
    assert client.post("/v1/allocators/quiz/arms/nobody/retire").status_code == 404
    for arm in ("q2", "q3", "q4"):
        client.post(f"/v1/allocators/quiz/arms/{arm}/retire")
    assert client.post("/v1/allocators/quiz/arms/q1/retire").status_code == 409, "the last one stays"


def test_shapes_for_each_arm_survive_the_retirement_of_one(client: httpx.Client) -> None:
    client.put("/v1/allocators/quiz", json=QUIZ | {"law": {"name": "weibull", "shape": [1.2, 1.6, 2.0]}})
    assert client.post("/v1/allocators/quiz/arms/q2/retire").status_code == 200
    assert set(client.post("/v1/allocators/quiz/decisions", json={"budget": 5}).json()["allocation"]) == {"q1", "q3"}
    assert client.post("/v1/allocators/quiz/arms", json={"name": "q4"}).status_code == 422, "of which shape?"
    assert client.post(
        "/v1/allocators/quiz/arms", json={"name": "q4", "law": {"name": "gamma", "shape": 2.0}}
    ).is_success


def test_an_archived_allocator_decides_no_more_but_hears(client: httpx.Client) -> None:
    client.put("/v1/allocators/quiz", json=QUIZ | {"policy": {"name": "uniform"}})
    made = client.post("/v1/allocators/quiz/decisions", json={"budget": 3.0, "decision_id": "d"}).json()
    assert client.post("/v1/allocators/quiz/archive").json()["archived_at"]
    assert client.post("/v1/allocators/quiz/decisions", json={"budget": 3.0}).status_code == 409
    again = client.post("/v1/allocators/quiz/decisions", json={"budget": 3.0, "decision_id": "d"})
    assert again.json() == made, "what was decided is still given"
    said = {"results": results(made["allocation"], {"q1"})}
    assert client.post("/v1/decisions/d/outcome", json=said).json()["complete"]


def test_evidence_travels_and_merges_once(client: httpx.Client) -> None:
    for name in ("east", "west"):
        client.put(f"/v1/allocators/{name}", json=QUIZ | {"policy": {"name": "uniform"}})
        for i in range(3):
            made = client.post(f"/v1/allocators/{name}/decisions", json={"budget": 9.0 + i}).json()
            said = {"results": results(made["allocation"], {"q1"} if name == "east" else set())}
            client.post(f"/v1/decisions/{made['decision_id']}/outcome", json=said)
    east = client.get("/v1/allocators/east/evidence").json()
    for repeated in (False, True):
        answer = client.put("/v1/allocators/west/evidence/from-east", json=east)
        assert answer.json() == {"import_id": "from-east", "repeated": repeated, "trials": 9}
    both = client.get("/v1/allocators/west/estimates").json()["arms"]
    assert [(arm["trials"], arm["successes"]) for arm in both] == [(6, 3), (6, 0), (6, 0)]
    other = {**east, "arms": {"q1": east["arms"]["q1"]}}
    assert client.put("/v1/allocators/west/evidence/from-east", json=other).status_code == 409
    assert client.put("/v1/allocators/west/evidence/x", json={**east, "max_budget": 31.0}).status_code == 422
    torn = {**east, "arms": {"q1": {"played": [[90, 2, 3 * 2**20]]}}}
    assert client.put("/v1/allocators/west/evidence/x", json=torn).status_code == 422, "played = failed + seen"


def test_what_does_not_exist_is_404(client: httpx.Client) -> None:
    for path in ("/v1/allocators/none", "/v1/allocators/none/estimates", "/v1/allocators/none/history",
                 "/v1/allocators/none/evidence", "/v1/decisions/none"):  # fmt: skip
        assert client.get(path).json()["error"]["code"] == "not-found"
    assert client.post("/v1/allocators/none/decisions", json={"budget": 1}).status_code == 404
    assert client.post("/v1/decisions/none/outcome", json={"results": {}}).status_code == 404


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"law": {"name": "nope"}}, "law"),
        ({"policy": {"name": "nope"}}, "policy"),
        ({"arms": ["a", "a"]}, "arms"),
        ({"arms": ["a", {"name": "b", "lower": 31.0}]}, "arms"),
        ({"arms": ["a\n"]}, "arms.0"),
        (
            {"law": {"name": "weibull", "shape": "learn"}, "policy": {"name": "greedy", "rounds": 100}},
            "policy",
        ),
    ],
)
def test_the_field_that_is_wrong_is_named(refusing: httpx.Client, change: dict[str, Any], field: str) -> None:
    refused = refusing.put("/v1/allocators/quiz", json=QUIZ | change)
    assert refused.status_code == 422
    assert refused.json()["error"]["fields"][0]["field"] == field


def test_malformed_json_is_refused_alike_everywhere(refusing: httpx.Client) -> None:
    for method, path in (("PUT", "/v1/allocators/quiz"), ("POST", "/v1/allocators/quiz/decisions")):
        sent = refusing.request(method, path, content=b"{", headers={"Content-Type": "application/json"})
        assert sent.status_code == 422
        assert sent.json()["error"]["fields"][0]["field"] == "body"


def test_the_same_in_another_spelling_is_the_same(client: httpx.Client) -> None:
    first = QUIZ | {"law": {"name": "weibull", "shape": 2}}
    assert client.put("/v1/allocators/quiz", json=first).status_code == 201
    assert client.put("/v1/allocators/quiz", json=QUIZ | {"law": {"shape": 2.0, "name": "weibull"}}).status_code == 200
    asked = [{"budget": 5, "decision_id": "d", "context": c} for c in ({"a": 1, "b": 2}, {"b": 2, "a": 1})]
    answers = [client.post("/v1/allocators/quiz/decisions", json=body) for body in asked]
    assert answers[0].content == answers[1].content


def test_an_import_that_cannot_be_exact_is_refused(client: httpx.Client) -> None:
    client.put("/v1/allocators/quiz", json=QUIZ)
    cell = [120, 8 * 10**9, 8 * 10**9 * 2**20]
    body = {"max_budget": 30.0, "bins": [8, 16], "arms": {"q1": {"played": [cell], "failed": [cell]}}}
    assert client.put("/v1/allocators/quiz/evidence/one", json=body).status_code == 200
    second = client.put("/v1/allocators/quiz/evidence/two", json=body)
    assert second.status_code == 422, "together they reach 2^53"
    twice = {**body, "arms": {"q2": {"played": [[90, 1, 2**20]] * 2, "failed": [[90, 2, 2**21]]}}}
    assert client.put("/v1/allocators/quiz/evidence/x", json=twice).status_code == 422, "a bin stands there twice"
