"""Decisions and outcomes over HTTP: asked again, in parts, late, contradicted."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import headgate as hg
from tests.service.harness import QUIZ, results


def put(client: httpx.Client, **changes: Any) -> None:
    answer = client.put("/v1/allocators/quiz", json=QUIZ | changes)
    assert answer.status_code == 201, answer.text


def decide(client: httpx.Client, **body: Any) -> dict[str, Any]:
    answer = client.post("/v1/allocators/quiz/decisions", json={"budget": 20.0} | body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def report(client: httpx.Client, key: str, said: dict[str, Any], **more: Any) -> httpx.Response:
    return client.post(f"/v1/decisions/{key}/outcome", json={"results": said} | more)


def counts(client: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/v1/allocators/quiz").json()["counts"]
    return found


def test_the_same_body_is_200_and_another_409(client: httpx.Client) -> None:
    put(client)
    again = client.put("/v1/allocators/quiz", json=QUIZ)
    assert again.status_code == 200
    long = QUIZ | {"arms": [{"name": arm} for arm in QUIZ["arms"]], "reward": "sum"}
    assert client.put("/v1/allocators/quiz", json=long).status_code == 200, "the same in its long form"
    other = client.put("/v1/allocators/quiz", json=QUIZ | {"max_budget": 31.0})
    assert other.status_code == 409
    assert client.get("/v1/allocators/quiz").json()["spec"]["max_budget"] == 30.0
    assert [a["name"] for a in client.get("/v1/allocators").json()["allocators"]] == ["quiz"]


def test_a_decision_is_kept_and_given_again(client: httpx.Client) -> None:
    put(client)
    first = client.post("/v1/allocators/quiz/decisions", json={"budget": 20.0, "decision_id": "d1"})
    again = client.post("/v1/allocators/quiz/decisions", json={"decision_id": "d1", "budget": 20})
    assert first.content == again.content
    assert sum(first.json()["allocation"].values()) == pytest.approx(20.0)
    assert client.post("/v1/allocators/quiz/decisions", json={"budget": 21, "decision_id": "d1"}).status_code == 409
    client.put("/v1/allocators/other", json=QUIZ)
    taken = client.post("/v1/allocators/other/decisions", json={"budget": 20.0, "decision_id": "d1"})
    assert taken.status_code == 200, "ids are an allocator's, not the service's"
    assert counts(client)["decisions"] == 1
    both = client.get("/v1/decisions/d1")
    assert both.status_code == 409
    assert "/v1/allocators/other/decisions/d1" in both.json()["error"]["message"]
    assert client.get("/v1/allocators/quiz/decisions/d1").json()["decision"] == first.json()


def test_parts_repeats_and_contradictions(client: httpx.Client) -> None:
    put(client, arms=["a", "b"], policy={"name": "uniform"})
    key = decide(client)["decision_id"]
    part = report(client, key, {"a": {"success": True, "threshold": 4.0}}).json()
    assert part == {"decision_id": key, "accepted": ["a"], "repeated": [], "complete": False, "late": False}
    rest = report(client, key, {"a": {"success": True, "threshold": 4.0}, "b": {"success": False}}).json()
    assert (rest["accepted"], rest["repeated"], rest["complete"]) == (["b"], ["a"], True)
    for said in ({"a": {"success": False}}, {"a": {"success": True, "threshold": 4.5}}):
        assert report(client, key, said).status_code == 409
    assert report(client, key, {"b": {"success": False}}).status_code == 200
    state = counts(client)
    assert (state["complete"], state["reward"], state["duplicates"], state["contradictions"]) == (1, 1, 1, 2)
    assert (state["budget"], state["given"]) == (pytest.approx(20.0), pytest.approx(20.0))
    arms = client.get("/v1/allocators/quiz/evidence").json()["arms"]
    assert [sum(n for _, n, _ in arms[a]["played"]) for a in ("a", "b")] == [1, 1]


def test_a_contradiction_stores_nothing_of_its_report(client: httpx.Client) -> None:
    put(client, arms=["a", "b"], policy={"name": "uniform"})
    key = decide(client)["decision_id"]
    report(client, key, {"a": {"success": False}})
    both = report(client, key, {"a": {"success": True, "threshold": 1.0}, "b": {"success": False}})
    assert both.status_code == 409
    assert "b" not in client.get(f"/v1/decisions/{key}").json()["results"]


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"nobody": {"success": False}}, "results.nobody"),
        ({"q1": {"success": True, "threshold": 1e6}}, "results.q1.threshold"),
        ({"q1": {"success": False, "threshold": 1.0}}, "results.q1"),
        ({"q1": {"success": True, "threshold": -1.0}}, "results.q1.threshold"),
        ({"q1": {}}, "results.q1.success"),
    ],
)
@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_wrong_outcome_names_its_field_and_stores_nothing(
    client: httpx.Client, said: dict[str, Any], field: str
) -> None:
    put(client, policy={"name": "uniform"})
    key = decide(client)["decision_id"]
    refused = report(client, key, said)
    assert refused.status_code == 422
    assert refused.json()["error"]["fields"][0]["field"] == field
    assert client.get(f"/v1/decisions/{key}").json()["results"] == {}
    assert counts(client)["pending"] == 1


def test_a_success_may_leave_its_threshold_untold(client: httpx.Client) -> None:
    """Counted apart, said again without effect, and not the same as a success with a threshold."""
    put(client, policy={"name": "uniform"})
    key = decide(client)["decision_id"]
    untold = {"q1": {"success": True}}
    assert report(client, key, untold).json()["accepted"] == ["q1"]
    assert report(client, key, untold).json()["accepted"] == []
    assert report(client, key, {"q1": {"success": True, "threshold": 1.0}}).status_code == 409
    assert report(client, key, {"q1": {"success": False}}).status_code == 409
    assert client.get(f"/v1/decisions/{key}").json()["results"]["q1"] == {
        "success": True, "threshold": None, "amount": None,
    }  # fmt: skip
    arms = client.get("/v1/allocators/quiz/evidence").json()["arms"]
    assert sum(count for _, count, _ in arms["q1"]["reached"]) == 1
    assert "seen" not in arms["q1"]


def test_a_schedule_is_followed_until_the_money_is_gone(client: httpx.Client) -> None:
    put(client)
    plan = decide(client, budget=None, step=2.0)
    assert plan["allocation"] is None
    assert sum(step["amount"] for step in plan["schedule"]) == pytest.approx(30.0)
    got: dict[str, float] = {}
    left = 9.0
    for step in plan["schedule"]:
        part = min(step["amount"], left)
        got[step["arm"]] = got.get(step["arm"], 0.0) + part
        left -= part
    key, said = plan["decision_id"], results(got, {"q1"})
    assert report(client, key, said).status_code == 422, "it must say how much was spent"
    assert report(client, key, said, spent=31.0).status_code == 422
    assert report(client, key, said, spent=9.0).json()["complete"]
    assert report(client, key, said, spent=9.0).json()["accepted"] == []
    assert report(client, key, said, spent=8.0).status_code == 409
    assert counts(client)["budget"] == pytest.approx(9.0, abs=1e-4)


def test_a_schedule_without_switching_has_each_arm_once_and_learns_how_long_budgets_last(client: httpx.Client) -> None:
    put(client, law="exponential", policy={"name": "oracle", "activation": [0.9, 0.8, 0.7], "rate": [0.3, 0.2, 0.05]})
    law, p, rate = hg.Exponential(), [0.9, 0.8, 0.7], [0.3, 0.2, 0.05]
    known = hg.Oracle(law, 3, 30.0, activation=p, rate=rate)  # the same, beside the service
    for spent in (4.0, 5.5, None, 4.5, 0.0):  # None: the plan ended before the budget did
        slots = decide(client, budget=None, switching=False)
        plan = known.plan()
        assert [slot["arm"] for slot in slots["schedule"]] == [f"q{arm + 1}" for arm in plan.order]
        np.testing.assert_allclose([slot["amount"] for slot in slots["schedule"]], plan.amounts[plan.order], rtol=1e-12)
        whole = float(plan.amounts.sum())
        lasted = whole if spent is None else spent
        said = results({f"q{i + 1}": x for i, x in enumerate(plan.given(lasted).tolist())}, {"q1"})
        answer = report(client, slots["decision_id"], said, spent=lasted)
        assert answer.json()["complete"], answer.text
        assert report(client, slots["decision_id"], said, spent=lasted).json()["accepted"] == []
        known.observe_budget(lasted, censored=spent is None)
    for body, words in (({"budget": 3.0, "switching": False}, "switching"),
                        ({"budget": None, "switching": False, "step": 1.0}, "with switching"),
                        ({"budget": None, "switching": 0}, "boolean")):  # fmt: skip
        refused = client.post("/v1/allocators/quiz/decisions", json=body)
        assert refused.status_code == 422
        assert words in refused.text
    assert client.put("/v1/allocators/even", json=QUIZ | {"policy": {"name": "uniform"}}).status_code == 201
    refused = client.post("/v1/allocators/even/decisions", json={"budget": None, "switching": False})
    assert refused.status_code == 422
    assert "cannot plan" in refused.text
    asked = {"budget": None, "switching": False, "decision_id": "mine"}
    first = client.post("/v1/allocators/quiz/decisions", json=asked)
    assert client.post("/v1/allocators/quiz/decisions", json=asked).content == first.content
    other = client.post("/v1/allocators/quiz/decisions", json=asked | {"switching": True})
    assert other.status_code == 409


def test_silence_is_not_failure_unless_the_allocator_says_so(client: httpx.Client) -> None:
    for name, silence in (("patient", "ignore"), ("strict", "failure")):
        body = QUIZ | {"feedback_deadline": 0.05, "on_expiry": silence, "policy": {"name": "uniform"}}
        client.put(f"/v1/allocators/{name}", json=body)
        client.post(f"/v1/allocators/{name}/decisions", json={"budget": 3.0, "decision_id": name})
    deadline = time.monotonic() + 20.0
    while client.get("/v1/allocators/strict").json()["counts"]["complete"] < 1:
        assert time.monotonic() < deadline, "expired decisions were not counted"
    patient, strict = (client.get(f"/v1/allocators/{n}").json()["counts"] for n in ("patient", "strict"))
    assert (patient["expired"], patient["pending"], patient["complete"]) == (1, 0, 0)
    assert (strict["expired"], strict["complete"], strict["reward"]) == (0, 1, 0)
    late = client.post("/v1/decisions/patient/outcome", json={"results": {"q1": {"success": False}}}).json()
    assert late["late"], "late, and counted all the same"
    assert client.get("/v1/allocators/patient").json()["counts"]["late"] == 1
    won = {"q1": {"success": True, "threshold": 0.5}}
    assert client.post("/v1/decisions/strict/outcome", json={"results": won}).status_code == 409
    trials = client.get("/v1/allocators/patient/evidence").json()["arms"]["q1"]["played"]
    assert sum(n for _, n, _ in trials) == 1


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("budget", "status"), [(30.0, 200), (30.0 * (1.0 + 1e-9), 422), (30.2, 422), (60.0, 422)])
def test_no_budget_above_the_largest(client: httpx.Client, budget: float, status: int) -> None:
    put(client)
    answer = client.post("/v1/allocators/quiz/decisions", json={"budget": budget})
    assert answer.status_code == status
    assert status == 200 or answer.json()["error"]["fields"][0]["field"] == "budget"
    assert client.get("/v1/allocators/quiz").json()["counts"]["decisions"] == (status == 200)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_an_arm_that_got_nothing_cannot_succeed(client: httpx.Client) -> None:
    put(client, arms=["a", {"name": "b", "upper": 0.0}], policy={"name": "uniform"})
    decision = decide(client)
    assert decision["allocation"]["b"] == 0.0
    said = {"a": {"success": False}, "b": {"success": True, "threshold": 0.0}}
    refused = report(client, decision["decision_id"], said)
    assert refused.status_code == 422
    assert refused.json()["error"]["fields"][0]["field"] == "results.b"
    assert client.get(f"/v1/decisions/{decision['decision_id']}").json()["results"] == {}
    said["b"] = {"success": False}
    assert report(client, decision["decision_id"], said).json()["complete"], "that it failed may be said"
    assert counts(client)["reward"] == 0


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_what_was_given_may_be_less_than_the_budget(client: httpx.Client) -> None:
    put(client, arms=[{"name": "a", "upper": 3.0}, {"name": "b", "upper": 4.0}], policy={"name": "uniform"})
    key = decide(client)["decision_id"]
    assert report(client, key, {"a": {"success": False}, "b": {"success": False}}).json()["complete"]
    state = counts(client)
    assert (state["budget"], state["given"]) == (pytest.approx(20.0, rel=1e-5), pytest.approx(7.0, rel=1e-5))


def test_many_at_once_each_with_its_own_status(client: httpx.Client) -> None:
    put(client)
    asked = [{"budget": 5.0, "decision_id": "m1"}, {"budget": 31.0}, {"budget": 5.0, "decision_id": "m1"}]
    answers = client.post("/v1/allocators/quiz/decisions/batch", json={"decisions": asked}).json()["answers"]
    assert [a["status"] for a in answers] == [200, 422, 200]
    assert answers[0]["decision"] == answers[2]["decision"]
    said = results(answers[0]["decision"]["allocation"], set())
    outcomes = [{"decision_id": "m1", "results": said}, {"decision_id": "none", "results": {}}]
    heard = client.post("/v1/outcomes", json={"outcomes": outcomes}).json()["answers"]
    assert [a["status"] for a in heard] == [200, 404]
    assert heard[0]["outcome"]["complete"]


def test_it_learns_what_a_policy_in_memory_learns(client: httpx.Client) -> None:
    """After the same rounds, the estimates are those of `hg.Thompson` with the same evidence."""
    problem = hg.Problem(hg.Weibull(1.6), activation=[0.9, 0.5, 0.7], rate=[0.3, 0.6, 0.15], names=QUIZ["arms"])
    put(client)
    policy, rng = hg.Thompson(problem.law, 3, 30.0), np.random.default_rng(5)
    for _ in range(60):
        decision = decide(client)
        x = np.array([decision["allocation"][name] for name in problem.names])
        seen = problem.play(x, rng)
        policy.observe(x, seen)
        said = {
            name: {"success": True, "threshold": float(t)} if s else {"success": False}
            for name, s, t in zip(problem.names, seen.success, seen.threshold, strict=True)
        }
        assert report(client, decision["decision_id"], said).json()["complete"]
    expected = policy.estimate()
    found = client.get("/v1/allocators/quiz/estimates").json()
    assert [arm["rate"] for arm in found["arms"]] == expected.rate.tolist()
    assert [arm["activation"] for arm in found["arms"]] == expected.activation.tolist()
    assert found["value"] == pytest.approx(problem.solve(30.0).value, rel=0.35)


def test_history_has_every_decision_once(client: httpx.Client) -> None:
    put(client)
    made = [decide(client, context={"n": i})["decision_id"] for i in range(7)]
    seen, before = [], None
    while True:
        page = client.get("/v1/allocators/quiz/history", params={"limit": 3} | ({"before": before} if before else {}))
        seen += [(item["decision"]["decision_id"], item["context"]["n"]) for item in page.json()["items"]]
        before = page.json()["next_before"]
        if before is None or before == 0:
            break
    assert seen == [(key, i) for i, key in reversed(list(enumerate(made)))]


def test_a_parameter_given_twice_is_refused(client: httpx.Client) -> None:
    put(client)
    answer = client.get("/v1/allocators/quiz/history?before=3&before=5")
    assert answer.status_code == 422
    assert "before must be given once" in answer.text


def test_silence_after_a_schedule_was_spent_is_failure_where_it_counts(client: httpx.Client) -> None:
    put(client, feedback_deadline=0.3, on_expiry="failure")
    plans = [decide(client, budget=None) for _ in range(2)]
    arms = list(dict.fromkeys(step["arm"] for step in plans[0]["schedule"]))
    said = {arms[0]: {"success": False}}
    assert not report(client, plans[0]["decision_id"], said, spent=29.0).json()["complete"]
    deadline = time.monotonic() + 20.0
    while counts(client)["complete"] < 1:
        assert time.monotonic() < deadline
    state = counts(client)
    assert (state["complete"], state["expired"]) == (1, 1), "of the other nobody knows what was spent"


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_schedule_has_a_size(client: httpx.Client) -> None:
    put(client, arms=[f"q{i}" for i in range(300)], law="exponential")
    plan = decide(client, budget=None)["schedule"]
    assert len(plan) <= 300 * 16
    assert sum(step["amount"] for step in plan) == pytest.approx(30.0)
    assert all(a["arm"] != b["arm"] for a, b in pairwise(plan))
    refused = client.post("/v1/allocators/quiz/decisions", json={"budget": None, "switching": False})
    assert refused.status_code == 422
    assert "more than 50 arms, got 300" in refused.text
    many = {"decisions": [{"budget": None}] * 11}
    assert client.post("/v1/allocators/quiz/decisions/batch", json=many).status_code == 422


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_budget_that_is_too_large_is_named(client: httpx.Client) -> None:
    put(client)
    refused = client.post("/v1/allocators/quiz/decisions", json={"budget": 31.0})
    assert refused.json()["error"]["fields"][0]["field"] == "budget"


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_the_examples_in_the_documentation_run(client: httpx.Client) -> None:
    text = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in text.split("```python\n")[1:]:  # each goes on where the one before ended
        code = block.split("```")[0].replace("http://127.0.0.1:8000", str(client.base_url))
        before = names.get("client")
        exec(code, names)  # noqa: S102  # our own documentation
        if before not in (None, names["client"]):
            before.close()
    names["client"].close()
    assert client.get("/v1/allocators/quiz").json()["counts"]["complete"] == 2
    assert names["everything"].trials.sum() > 8, "four of the log, twice, and what was decided"
