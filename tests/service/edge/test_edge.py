"""Edges: they decide here, and what the service knows in the end is the sum of what they saw, to the last bit."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import headgate as hg
from headgate.client import Decision, Retry
from headgate.client.errors import ConflictError, UnavailableError
from headgate.errors import HeadgateError, InputError
from headgate.service.edge_bodies import Push
from headgate.service.engine.pushes import digest_of
from headgate.service.store import open_database
from headgate.service.verify import verify
from tests.service.edge.conftest import ARMS, LAW, QUICK, TRUTH, Awaited, Losing, play
from tests.service.harness import QUIZ

KILLED = """
import os, signal, sys, numpy as np
import headgate as hg
from tests.service.edge.conftest import QUICK, play
class Dying(hg.Client):
    def send(self, call):
        answer = super().send(call) if call.method != "PUT" or sys.argv[4] == "after" else None
        if call.method == "PUT":
            os.kill(os.getpid(), signal.SIGKILL)
        return answer
edge = hg.Edge(Dying(sys.argv[1], retry=QUICK), "quiz", file=sys.argv[2])
edge.pull()
np.save(sys.argv[3], play(edge, 25, np.random.default_rng(7)).bins)
edge.push()
"""


def given(decision: Decision) -> dict[str, float]:
    assert decision.allocation is not None
    return decision.allocation


def exported(client: hg.Client) -> Any:
    return hg.Evidence.from_dict(client.export_evidence("quiz"), ARMS).bins


def confirmed(url: str) -> None:
    database = open_database(url)
    assert verify(database) == []
    database.close()


@pytest.mark.long
def test_the_sum_is_exact_whatever_is_lost_repeated_or_killed(service: str, url: str, tmp_path: Path) -> None:
    """Edges in this process, and others that are killed in the middle of a push: before it is sent, or after."""
    with hg.Client(service, retry=QUICK) as client:
        client.put_allocator("quiz", ARMS, LAW, 30.0)
        dying = {}
        for when in ("before", "after")[: 2 if url.startswith("sqlite") else 1]:  # the soak has many on both
            run = [sys.executable, "-c", KILLED, service, str(tmp_path / when), str(tmp_path / f"{when}.npy"), when]
            dying[when] = subprocess.Popen(run)
        total = np.zeros((3, 4, 2, 129))
        losing = [Losing(service, seed) for seed in range(4)]
        edges = [hg.Edge(one, "quiz", keep_decisions=bool(place % 2)) for place, one in enumerate(losing)]
        rng = np.random.default_rng(1)
        for edge in edges:
            edge.pull()
        for _ in range(6):
            for edge in edges:
                total += play(edge, int(rng.integers(1, 12)), rng).bins
                try:
                    edge.sync()
                except UnavailableError:
                    continue
        for edge in edges:
            while edge.unsent:
                try:
                    edge.push()
                except UnavailableError:
                    continue
        assert sum(one.lost for one in losing) > 5
        for when, process in dying.items():
            assert process.wait() == -9
            again = hg.Edge(client, "quiz", file=tmp_path / when)  # a new run goes on with the push of the old one
            again.pull()
            again.push()
            total += np.load(tmp_path / f"{when}.npy")
        assert np.array_equal(exported(client), total)
        for edge in edges[:2]:
            edge.pull()
            assert np.array_equal(edge.evidence.bins, total), "and every edge knows it after a pull"
        listed = client.edges("quiz")
        assert sum(one.trials for one in listed) == total[:, 1, 0].sum()
        assert {one.edge for one in listed} >= {edge.id for edge in edges}
        for one in losing:
            one.close()
    confirmed(url)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_it_decides_as_the_service_would(service: str, url: str, kind: str) -> None:
    """Decisions, their own terms, amounts that differ, parts, repeats, and the record that the service keeps."""
    with hg.Client(service, retry=QUICK) as client:
        client.put_allocator("quiz", ARMS, LAW, 30.0)
        edge: Any = hg.Edge(client, "quiz", label="till") if kind == "sync" else Awaited(service, "quiz", label="till")
        with pytest.raises(InputError, match="has not begun"):
            edge.decide(20.0)
        edge.pull()
        first = edge.decide(20.0, lower=dict.fromkeys(ARMS, 1.0))
        assert sum(first.allocation.values()) == pytest.approx(20.0)
        assert first.decision_id.startswith("till-")
        only = edge.decide(9.0, eligible=["q2"], value={"q2": 2.0}, upper={"q2": 5.0})
        assert (only.allocation["q1"], only.allocation["q2"]) == (0.0, 5.0)
        assert edge.decide(20.0, lower={"q3": 4.0}).allocation["q3"] >= 4.0
        assert edge.report(only, {"q2": True}, amounts={"q2": 7.0}) == ("q2",)
        assert edge.report(only, {"q2": True}) == (), "it is over: said again"
        assert edge.report(first, {"q1": None}) == ("q1",)
        assert edge.report(first, {"q1": None}) == ()
        with pytest.raises(ConflictError, match="reported otherwise before: q1"):
            edge.report(first, {"q1": 1.0})
        wrongs: tuple[tuple[Callable[[], object], str], ...] = (
            (lambda: edge.report("nobody.7", {}), "no decision 'nobody.7'"),
            (lambda: edge.report(first, {"nobody": None}), "arm 'nobody' is not in"),
            (lambda: edge.report(first, {"q2": 25.0}), "threshold"),
            (lambda: edge.report(first, {"q2": None}, amounts={"q3": 1.0}), "amounts must be of arms"),
            (lambda: edge.decide(31.0), "must not exceed max_budget"),
            (lambda: edge.decide(9.0, eligible=["nobody"]), "no arm in use"),
        )
        for wrong, words in wrongs:
            with pytest.raises(HeadgateError, match=words):
                wrong()
        assert edge.report(first, {arm: None for arm in ARMS if arm != "q1"}) == ("q2", "q3")
        edge.push()
        assert edge.unsent == 0
        expected = hg.Evidence.of_rows(
            [1, 0, 1, 2], [7.0, *first.allocation.values()], [True, False, False, False], [np.nan] * 4, max_budget=30.0
        )
        assert np.array_equal(exported(client), expected.bins)
        (state,) = client.edges("quiz")
        assert (state.pushes, state.decisions, state.trials) == (1, 2, int(expected.trials.sum()))
        if kind == "async":
            edge.close()
    confirmed(url)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_it_learns_what_it_sees_and_what_others_saw(service: str) -> None:
    """With evidence it decides in batches: allocations still add up, differ, and follow the evidence."""
    with hg.Client(service, retry=QUICK) as client:
        client.put_allocator("quiz", ARMS, LAW, 30.0)
        rng = np.random.default_rng(3)
        x = rng.uniform(0.0, 10.0, (4000, 3))
        arm = np.tile(np.arange(3), 4000)
        feedback = TRUTH.play(x, rng)
        log = hg.Evidence.of_rows(arm, x.ravel(), feedback.success.ravel(), feedback.threshold.ravel(), max_budget=30.0)
        client.import_evidence("quiz", log, "log")
        edge = hg.Edge(client, "quiz")
        edge.pull()
        best = TRUTH.solve(20.0).x
        made = np.array([list(given(edge.decide(20.0)).values()) for _ in range(300)])
        assert len(np.unique(made[:, 0])) > 290, "every decision is a draw of its own"
        assert (made.sum(axis=1) <= 20.0).all()
        np.testing.assert_allclose(np.median(made, axis=0), best, atol=1.0)
        client.retire_arm("quiz", "q1")
        late = edge.decide(20.0)
        edge.sync()
        assert list(given(edge.decide(20.0))) == ["q2", "q3"]
        edge.report(late, {"q1": None})  # an arm that was retired meanwhile still counts
        client.add_arm("quiz", "q4")
        edge.sync()
        assert list(given(edge.decide(20.0))) == ["q2", "q3", "q4"]
        assert exported_trials(client) == int(log.trials.sum()) + 1


def exported_trials(client: hg.Client) -> int:
    return int(hg.Evidence.from_dict(client.export_evidence("quiz")).trials.sum())


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_threads_share_an_edge_that_pushes_by_itself(service: str, url: str, tmp_path: Path) -> None:
    with hg.Client(service, retry=QUICK) as client:
        client.put_allocator("quiz", ARMS, LAW, 30.0)
        totals: list[Any] = []
        with hg.Edge(client, "quiz", every=0.01, file=tmp_path / "edge.json") as edge:
            threads = [
                threading.Thread(target=lambda s=seed: totals.append(play(edge, 60, np.random.default_rng(s)).bins))
                for seed in range(4)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert np.array_equal(exported(client), sum(totals))
        away = hg.Client("http://127.0.0.1:9", retry=Retry(deadline=0.05))
        later = hg.Edge(away, "quiz", file=tmp_path / "edge.json")
        later.pull()  # the service is away: with what the edge before it knew
        assert sum(given(later.decide(20.0)).values()) == pytest.approx(20.0)
        with pytest.raises(UnavailableError):
            hg.Edge(away, "quiz").pull()
        away.close()
        with pytest.raises(InputError, match="is of an edge of allocator 'quiz'"):
            hg.Edge(client, "other", file=tmp_path / "edge.json")
        (tmp_path / "edge.json").write_text("{")
        with pytest.raises(InputError, match="is not what an edge keeps"):
            hg.Edge(client, "quiz", file=tmp_path / "edge.json")
        with pytest.raises(InputError, match="every must be seconds"):
            hg.Edge(client, "quiz", every=0.0)
    confirmed(url)


def a_push(**more: Any) -> dict[str, Any]:
    evidence = hg.Evidence.of_rows([0], [8.0], [True], [3.1], arms=3, max_budget=30.0).to_dict(ARMS)
    made = {"decision_id": "e.0", "budget": 8.0, "allocation": {"q1": 8.0}, "made_at": "2026-01-01T00:00:00Z",
            "results": {"q1": {"success": True, "threshold": 3.1}}}  # fmt: skip
    return {"evidence": evidence, "decisions": [made]} | more


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_what_cannot_be_is_refused_with_field_and_rule(service: str, url: str) -> None:
    with httpx.Client(base_url=service) as http:
        http.put("/v1/allocators/quiz", json=QUIZ)
        http.put("/v1/allocators/ordered", json=QUIZ | {"policy": {"name": "ra-ucb", "rounds": 100}})
        place = "/v1/allocators/quiz/edges/e/pushes/0"
        wrong = a_push()["decisions"][0]
        for body, field in (
            (a_push(evidence=a_push()["evidence"] | {"max_budget": 31.0}), "evidence.max_budget"),
            (a_push(evidence=a_push()["evidence"] | {"arms": {"nobody": {}}}), "evidence.arms"),
            (a_push(decisions=[wrong | {"allocation": {"nobody": 1.0}}]), "decisions.0.allocation"),
            (a_push(decisions=[wrong | {"results": {"nobody": {"success": False}}}]), "decisions.0.results"),
            (a_push(decisions=[wrong | {"budget": -1.0}]), "decisions.0.budget"),
            ({"decisions": []}, "evidence"),
        ):
            refused = http.put(place, json=body)
            assert refused.status_code == 422, refused.text
            assert refused.json()["error"]["fields"][0]["field"] == field
        assert http.put("/v1/allocators/quiz/edges/e/pushes/-1", json=a_push()).status_code == 422
        assert http.put("/v1/allocators/nobody/edges/e/pushes/0", json=a_push()).status_code == 404
        for path in ("learner", "edges"):
            assert http.get(f"/v1/allocators/nobody/{path}").status_code == 404
        assert http.get("/v1/allocators/ordered/learner").status_code == 409
        assert http.put("/v1/allocators/ordered/edges/e/pushes/0", json=a_push()).status_code == 409
        assert http.get("/v1/allocators/quiz/edges").json() == {"edges": []}, "nothing was stored"
        assert http.put(place, json=a_push()).json() == {"edge": "e", "number": 0, "repeated": False, "trials": 1}
        assert http.put(place, json=a_push()).json()["repeated"]
        assert http.put(place, json=a_push(decisions=[])).status_code == 409
    confirmed(url)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("UPDATE pushes SET trials = 2", "says 2 results, by its evidence it has 1"),
        ("UPDATE pushes SET evidence = replace(evidence, '[[', '[[9,1,1048576],[')", "by its evidence it has 2"),
        ("UPDATE pushes SET evidence = replace(evidence, '[[', '[[9,1,0],[')", "cannot be read"),
        ("UPDATE pushes SET decisions = replace(decisions, '3.1', '3.9')", "is not what was pushed"),
        ("DELETE FROM pushes", "numbers of the evidence differ"),
    ],
)
@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_damage_to_pushes_is_found(service: str, url: str, damage: str, words: str) -> None:
    with httpx.Client(base_url=service) as http:
        http.put("/v1/allocators/quiz", json=QUIZ)
        assert http.put("/v1/allocators/quiz/edges/e/pushes/0", json=a_push()).status_code == 200
    database = open_database(url)
    with database.transaction() as connection:
        connection.exec_driver_sql(damage)
    assert any(words in line for line in verify(database)), verify(database)
    database.close()


def test_a_push_is_never_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evidence of many arms goes in several pushes, and what is cut is what is taken."""
    from headgate.client.answers import Learner
    from headgate.edge.deciding import Deciding

    names = [f"a{i}" for i in range(3000)]
    policy = hg.Uniform(hg.Exponential(), 3000, 10.0)
    empty = hg.Evidence.empty(3000, 10.0)
    plain = {"name": "uniform", "options": policy.plain_options()}
    here = Deciding(Learner("many", 0, 0, tuple(names), tuple(range(3000)), plain, empty.to_dict(names)), "edge-1")
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.uniform(0.001, 10.0, 3000)
        won = rng.random(3000) < 0.5
        here.learn(
            dict(zip(names, x.tolist(), strict=True)),
            {name: float(a) if w else None for name, a, w in zip(names, x, won, strict=True)},
        )
    whole, cut = here.delta.copy(), np.zeros_like(here.delta.bins)
    pushes = 0
    while here.unsent:
        part, sent = here.cut()
        assert len(json.dumps(sent)) < 500_000
        cut += hg.Evidence.from_dict(sent, names).bins
        assert np.array_equal(hg.Evidence.from_dict(sent, names).bins, part.bins)
        pushes += 1
    assert pushes > 3
    assert np.array_equal(cut, whole.bins)


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"holdout": 0.1}, "a holdout, which the service draws: it cannot decide at edges"),
        ({"shadow": True}, "a shadow: its answers are the baseline's"),
        ({"guard": {}}, "policy 'guarded' remembers more than sums"),
    ],
)
def test_what_only_the_service_can_draw_is_refused(
    service: str, url: str, kind: str, terms: dict[str, Any], words: str
) -> None:
    """An edge that has begun stops deciding with its next pull; what it saw before still counts, but for a guard."""
    with hg.Client(service, retry=QUICK) as client:
        client.put_allocator("quiz", ARMS, LAW, 30.0, baseline="even")
        edge: Any = hg.Edge(client, "quiz") if kind == "sync" else Awaited(service, "quiz")
        edge.pull()
        decision = edge.decide(20.0)
        edge.report(decision, {arm: None for arm, x in given(decision).items() if x > 0.0})
        client.change("quiz", **terms)
        if "guard" not in terms:
            edge.push()
            assert exported(client).any(), "evidence is evidence"
        for refused in (edge.pull, lambda: edge.decide(20.0)):
            with pytest.raises(ConflictError, match=words):
                refused()
        client.change("quiz", holdout=0.0, shadow=False, guard=False)
        edge.sync()
        assert sum(given(edge.decide(20.0)).values()) == pytest.approx(20.0)
        if kind == "async":
            edge.close()
    confirmed(url)


def test_a_push_is_known_again_whatever_it_leaves_unsaid() -> None:
    """Its digest is of all fields, those too that an edge does not send, however bodies are read."""
    evidence = hg.Evidence.empty(1, 10.0).to_dict(["a"])
    made = {"decision_id": "d", "budget": 1.0, "allocation": {"a": 1.0}, "made_at": "2026-11-18T00:00:00Z"}
    digests = {
        digest_of(Push.model_validate({"evidence": evidence, "decisions": [made | {"results": {"a": said}}]}))
        for said in ({"success": False}, {"success": False, "threshold": None, "amount": None})
    }
    assert len(digests) == 1
