"""Whose decision it is: the policy's or the baseline's, drawn the same everywhere, stored, learned from, verified."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sqlalchemy import select, update

import headgate as hg
from headgate.errors import HeadgateError
from headgate.service import views
from headgate.service.engine import changes, deciding, modes, versions
from headgate.service.engine.baseline import Baseline
from headgate.service.engine.queue import Ledger
from headgate.service.engine.requests import Change
from headgate.service.export import pages
from headgate.service.faults import ConflictError, RefusedError
from headgate.service.spec import AllocatorChange, AllocatorSpec, build_policy, resolved_arms, seed_of
from headgate.service.spec_checks import check
from headgate.service.store import Database, open_database, schema
from headgate.service.verify import verify
from headgate.service.verify_modes import ModeCheck
from headgate.service.why import why
from tests.service import asking
from tests.service.harness import QUIZ, results

AMOUNTS = {"q1": 10.0, "q2": 20.0}
AT_20 = {"q1": 10.0 * 20.0 / 30.0, "q2": 20.0 * 20.0 / 30.0, "q3": 0.0}


def held_out(name: str, number: int, share: float) -> bool:
    """Whether the baseline gets a decision, from the digest's text."""
    digest = hashlib.sha256(f"holdout {name} {number}".encode()).hexdigest()
    return int(digest[:16], 16) // 2**11 < share * 2**53


def change(ledger: Ledger, **body: Any) -> Any:
    said = AllocatorChange.model_validate(body)
    (answer,) = ledger.answer([Change(lambda c: versions.change(c, "a test", "quiz", said))])
    return answer


def many(ledger: Ledger, keys: range) -> list[dict[str, Any]]:
    return [json.loads(text) for text in ledger.answer([asking.ask(f"d{i}") for i in keys])]


def test_shares_are_kept_and_every_worker_draws_the_same(database: Database) -> None:
    """400 decisions, of which .25 are held out: their number is off by more than 5 sigma with probability 1e-6."""
    workers = Ledger(database), Ledger(database)
    asking.create(workers[0], baseline=AMOUNTS, holdout=0.25)
    made = [one for i in range(0, 360, 20) for one in many(workers[i // 20 % 2], range(i, i + 20))]
    made += many(Ledger(database), range(360, 400))  # after a restart
    wanted = ["holdout" if held_out("quiz", i, 0.25) else "policy" for i in range(400)]
    assert [one["mode"] for one in made] == wanted
    assert abs(wanted.count("holdout") - 100) < 5 * np.sqrt(400 * 0.25 * 0.75)
    for one in made:
        assert one["probability"] == (0.25 if one["mode"] == "holdout" else 0.75)
        assert (one["allocation"] == pytest.approx(AT_20)) == (one["mode"] == "holdout")
    again = many(workers[0], range(400))
    assert again == made, "asked again, in other workers, the answer is the same"
    assert verify(database) == []


def test_allocators_are_held_out_each_in_its_own_rounds() -> None:
    drawn = np.array([[modes.draw(name, i) for i in range(2_000)] for name in ("quiz", "shop")])
    assert drawn.min() >= 0.0
    assert drawn.max() < 1.0
    assert abs(np.corrcoef(drawn)[0, 1]) < 5 / np.sqrt(2_000), "5 sigma: 1e-6"
    counts = np.histogram(drawn[0], bins=10, range=(0.0, 1.0))[0]
    assert np.all(binom.cdf(counts, 2_000, 0.1) > 1e-6)


def test_mode_and_probability_are_wherever_a_decision_is(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger, baseline="even", holdout=0.3)
    asking.play(ledger, 8)
    change(ledger, holdout=0.0, shadow=True)
    asking.play(ledger, 2, seed=1)
    made = [views.decision, why]
    logged = database.look(lambda c: views.decisions(c, "quiz", None, 100)).items
    rows = [row for page in database.look(lambda c: list(pages(c, "quiz"))) for row in page]
    for item in logged:
        one = item.decision
        expected = "shadow" if item.round >= 8 else "holdout" if held_out("quiz", item.round, 0.3) else "policy"
        shares = {"shadow": 1.0, "holdout": 0.3, "policy": 0.7}
        assert (one.mode, one.probability, one.version) == (expected, shares[expected], int(item.round >= 8))
        for look in made:
            found = database.look(lambda c, look=look, key=one.decision_id: look(c, key))  # type: ignore[misc]
            found = getattr(found, "decision", found)
            assert (found.mode, found.probability) == (one.mode, one.probability)
        mine = [row for row in rows if row["decision_id"] == one.decision_id]
        assert {(row["version"], row["mode"], row["probability"]) for row in mine} == {
            (one.version, one.mode, one.probability)
        }
        wanted = {row["arm"]: row["policy_amount"] for row in mine}
        assert wanted == (one.policy_allocation or dict.fromkeys(QUIZ["arms"]))
    reasons = database.look(lambda c: why(c, logged[-1].decision.decision_id))
    assert [arm.policy_amount for arm in reasons.arms] == list((logged[-1].decision.policy_allocation or {}).values())
    paid = [arm.marginal for arm in reasons.arms if arm.policy_amount and arm.marginal is not None]
    assert paid == pytest.approx([reasons.price] * len(paid), rel=1e-3), "the marginal at what the policy would give"
    held = next(item.decision for item in logged if item.decision.mode == "holdout")
    assert database.look(lambda c: why(c, held.decision_id)).price is None, "a holdout has no price"


def test_a_shadow_learns_from_what_was_really_given(database: Database) -> None:
    """Its evidence is that of the baseline's amounts, and what it would give is what a policy with that would."""
    ledger, rng = Ledger(database), np.random.default_rng(3)
    asking.create(ledger, baseline=AMOUNTS, shadow=True)
    body = AllocatorSpec.model_validate(QUIZ)
    policy = build_policy(body, resolved_arms(body), seed_of(body, "quiz"))
    said: dict[str, tuple[dict[str, float], dict[str, Any]]] = {}
    for i in range(12):
        made = asking.decide(ledger, f"d{i}")
        assert made["allocation"] == pytest.approx(AT_20)
        assert (made["mode"], made["probability"]) == ("shadow", 1.0)
        would = policy.allocate(20.0)
        assert list(made["policy_allocation"].values()) == would.tolist()
        heard = results(made["allocation"], {arm for arm in AMOUNTS if rng.random() < 0.6})
        said[f"d{i}"] = made["allocation"], heard
        ledger.answer([asking.tell(f"d{i}", heard)])
        won = [heard.get(arm, {"success": False})["success"] for arm in QUIZ["arms"]]
        seen = [heard[arm]["threshold"] if w else np.nan for arm, w in zip(QUIZ["arms"], won, strict=True)]
        x = np.array([made["allocation"][arm] for arm in QUIZ["arms"]])
        policy.observe(x, hg.Feedback(won, seen, x > 0.0))
    (kept,) = ledger.memory.learners.values()
    assert np.array_equal(kept.evidence.bins, asking.evidence_of_log(said, QUIZ["arms"]).bins)
    assert kept.evidence.trials[2] == 0, "what the policy would have given to q3 is no trial"
    assert verify(database) == []


@pytest.mark.parametrize("policy", [{"name": "cucb", "rounds": 1000}, {"name": "thompson", "discount": 0.9}], ids=str)
@pytest.mark.parametrize("terms", [{"holdout": 0.4}, {"shadow": True}], ids=str)
def test_policies_in_order_stay_folds_of_their_log(
    database: Database, policy: dict[str, Any], terms: dict[str, Any]
) -> None:
    """Two workers and a restart make the same states; a holdout or a shadow may begin and end meanwhile."""
    one, other = Ledger(database), Ledger(database)
    asking.create(one, policy=policy, baseline="even")
    asking.play(one, 6)
    assert change(other, **terms) is True
    asking.play(other, 6, seed=1)
    asking.play(one, 6, seed=2)
    assert change(one, holdout=0.0, shadow=False) is True
    asking.play(Ledger(database), 4, seed=3)
    assert verify(database) == []


def test_a_shadow_does_not_remember_that_it_decided(database: Database) -> None:
    """Of a policy that forgets: every round fades what is known once, and nothing else changes it but reports."""
    ledger = Ledger(database)
    terms = {"name": "thompson", "discount": 0.8}
    asking.create(ledger, policy=terms, baseline="even", shadow=True)
    body = AllocatorSpec.model_validate(QUIZ | {"policy": terms})
    policy = build_policy(body, resolved_arms(body), seed_of(body, "quiz"))
    state = policy.start()
    for i in range(6):
        made = asking.decide(ledger, f"d{i}")["allocation"]
        state = policy.skip(state, policy.ask(20.0, round=i))
        ledger.answer([asking.tell(f"d{i}", results(made, {"q1"}))])
        seen = [made["q1"] / 2, np.nan, np.nan]
        state = policy.absorb(state, np.array(list(made.values())), hg.Feedback([True, False, False], seen))
    (kept,) = ledger.memory.learners.values()
    assert np.array_equal(kept.state.evidence.bins, state.evidence.bins)
    assert kept.state.round == state.round == 6


def test_a_guard_begins_and_ends_while_it_decides(database: Database) -> None:
    """It begins with the evidence of then, also after an arm is gone; what it holds back says so."""
    one, other = Ledger(database), Ledger(database)
    asking.create(one, baseline="even", holdout=0.2)
    asking.play(one, 6)
    assert change(one, guard={"share": 0.99, "delta": 0.01}) is True
    asking.play(other, 8, seed=1)
    asking.play(one, 4, seed=2)
    assert change(other, holdout=0.1) is True, "the guard goes on"
    asking.play(one, 4, seed=3)
    found = [item.decision.mode for item in database.look(lambda c: views.decisions(c, "quiz", 5, 100)).items]
    assert "guard" in found
    assert verify(database) == []
    assert change(one, guard=False) is True
    asking.play(other, 3, seed=4)
    (answer,) = one.answer([Change(lambda c: changes.retire_arm(c, "a test", "quiz", "q2"))])
    assert answer is None
    assert change(other, guard={}) is True
    asking.play(one, 4, seed=5)
    asking.play(other, 4, seed=6)
    one.answer([Change(lambda c: changes.archive(c, "a test", "quiz"))])
    assert verify(database) == []


def test_schedules_and_live_rounds_are_the_policys(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger, baseline="even", holdout=0.9)
    made = [asking.decide(ledger, f"s{i}", None) for i in range(4)]
    assert {(one["mode"], one["probability"]) for one in made} == {("policy", 1.0)}
    change(ledger, holdout=0.0, shadow=True)
    (refusal,) = ledger.answer([asking.ask("s9", None)])
    assert (type(refusal), refusal.field) == (RefusedError, "budget")
    assert verify(database) == []


# -- the baseline ----------------------------------------------------------------------------------------------------


@given(
    amounts=st.one_of(st.just("even"), st.lists(st.floats(0.0, 10.0), min_size=3, max_size=3)),
    budget=st.floats(0.0, 30.0),
    whole=st.booleans(),
    lower=st.lists(st.floats(0.0, 6.0), min_size=3, max_size=3),
    room=st.lists(st.one_of(st.none(), st.floats(0.0, 10.0)), min_size=3, max_size=3),
    able=st.one_of(st.none(), st.sets(st.sampled_from(["q1", "q2", "q3"]))),
)
def test_the_baseline_is_what_plain_loops_say(
    amounts: Any, budget: float, whole: bool, lower: list[float], room: list[float | None], able: Any
) -> None:
    """Whatever the limits: within them and the budget, and equal to the reference that `verify` has."""
    names = ["q1", "q2", "q3"]
    given = amounts if amounts == "even" else dict(zip(names, amounts, strict=True))
    if given != "even" and sum(given.values()) == 0.0:
        return
    upper = [None if r is None else low + r for low, r in zip(lower, room, strict=True)]
    law = hg.DiscreteWeibull(1.0) if whole else hg.Weibull(1.6)
    try:
        most = [np.inf if u is None else u for u in upper]
        policy = hg.Uniform(law, 3, 30.0, lower=lower, upper=most)
        ask = policy.ask(budget, eligible=None if able is None else [name in able for name in names])
    except HeadgateError:
        return
    x = Baseline(given, names, policy).split(ask)
    assert np.all(x >= ask.limits.lower - 1e-9)
    assert np.all(x <= ask.limits.upper + 1e-9)
    assert x.sum() <= budget * (1.0 + 1e-12) + 1e-12
    terms = {"baseline": given, "arms": {n: [lo, up, 1.0] for n, lo, up in zip(names, lower, upper, strict=True)}}
    reference = ModeCheck.__new__(ModeCheck)
    reference._whole = dict.fromkeys(names, whole)
    expected = reference._baseline(terms, {"budget": budget} | ({} if able is None else {"eligible": list(able)}))
    assert x.tolist() == pytest.approx(list(expected.values()), abs=1e-7)


def test_amounts_are_cut_in_proportion_and_never_blown_up() -> None:
    spec = AllocatorSpec.model_validate(QUIZ | {"baseline": {"q1": 6.0, "q2": 12.0}})
    policy = build_policy(spec, resolved_arms(spec), 0)
    base = Baseline(spec.baseline or "even", QUIZ["arms"], policy)
    assert base.split(policy.ask(30.0)).tolist() == [6.0, 12.0, 0.0], "12 of 30 are not spent"
    assert base.split(policy.ask(9.0)).tolist() == [3.0, 6.0, 0.0]


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({"holdout": 0.1}, "holdout", "holdout needs a baseline"),
        ({"shadow": True}, "shadow", "shadow needs a baseline"),
        ({"guard": {}}, "guard", "guard needs a baseline"),
        ({"baseline": {"q9": 1.0}}, "baseline", "no arm 'q9'"),
        ({"baseline": {"q1": 30.2}}, "baseline", "at most max_budget 30 in all, got 30.2"),
        ({"baseline": {"q1": 0.0}}, "baseline", "more than 0"),
        ({"baseline": "even", "shadow": True, "holdout": 0.1}, "shadow", "holdout must be 0"),
        ({"baseline": "even", "shadow": True, "guard": {}}, "shadow", "guard must be null"),
        ({"baseline": "even", "guard": {}, "reward": "cascade"}, "guard", "reward 'sum'"),
        ({"baseline": "even", "guard": {}, "law": "auto"}, "guard", "none is known to be right"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_stored(
    database: Database, body: dict[str, Any], field: str, words: str
) -> None:
    ledger = Ledger(database)
    spec = AllocatorSpec.model_validate(QUIZ | body)
    (refusal,) = ledger.answer([Change(lambda c: changes.create(c, "a test", "quiz", spec))])
    assert (type(refusal), refusal.field, words in str(refusal)) == (RefusedError, field, True), refusal
    assert database.look(views.allocators) == []
    if "reward" in body or "law" in body:
        return
    asking.create(ledger)
    refusal = change(ledger, **body)
    assert (type(refusal), refusal.field) == (RefusedError, field), refusal
    assert database.look(lambda c: views.allocator(c, "quiz")).version == 0


def test_a_policy_that_remembers_more_cannot_be_guarded_later(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger, policy={"name": "cucb", "rounds": 1000}, baseline="even")
    assert isinstance(change(ledger, guard={}), ConflictError)
    assert change(ledger, holdout=0.5) is True


def test_a_baseline_does_not_change_what_an_allocator_without_one_is() -> None:
    """A body from before these fields is the same body."""
    spec = AllocatorSpec.model_validate(QUIZ)
    check(spec)
    assert (spec.baseline, spec.holdout, spec.shadow, spec.guard) == (None, 0.0, False, None)


# -- mutants: verify notices each ------------------------------------------------------------------------------------


def _played(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger, baseline="even", holdout=0.3)
    asking.play(ledger, 10)


@pytest.mark.parametrize(
    ("mode", "new", "words"),
    [
        ("policy", {"probability": None}, "by its number it is 'policy' with 0.7"),
        ("policy", {"mode": None, "probability": None}, "has no mode"),
        ("policy", {"mode": "holdout", "probability": 0.3}, "by its number it is 'policy'"),
        ("holdout", {"mode": "policy", "probability": 0.7}, "by its number it is 'holdout'"),
        ("holdout", {"allocation": {"q1": 20.0, "q2": 0.0, "q3": 0.0}}, "not what the baseline of version 0 gives"),
        ("policy", {"policy_allocation": {"q1": 1.0}}, "only a shadow keeps"),
    ],
)
def test_verify_notices_a_mode_that_cannot_be(sqlite_url: str, mode: str, new: dict[str, Any], words: str) -> None:
    database = open_database(sqlite_url)
    asking.create(ledger := Ledger(database), baseline="even")
    asking.play(ledger, 1, seed=9)  # so that a mode was written down before
    change(ledger, holdout=0.3)
    asking.play(ledger, 10)
    words = words.replace("version 0", "version 1")
    assert verify(database) == []
    _rewrite(database, mode, new)
    assert any(words in line for line in verify(database)), verify(database)
    database.close()


def _rewrite(database: Database, mode: str, new: dict[str, Any]) -> None:
    """Change what is stored of the first decision of a mode in version 1; None: it is not stored."""
    table = schema.decisions
    with database.transaction() as connection:
        for key, text in connection.execute(select(table.c.id, table.c.answer).order_by(table.c.round)).all():
            answer = json.loads(text)
            if answer["mode"] == mode and answer["version"] == 1:
                changed = {name: v for name, v in (answer | new).items() if v is not None or name not in new}
                connection.execute(update(table).where(table.c.id == key).values(answer=json.dumps(changed)))
                return


def test_verify_notices_sums_that_are_not_the_logs(database: Database) -> None:
    _played(database)
    assert verify(database) == []
    with database.transaction() as connection:
        connection.execute(update(schema.modes).where(schema.modes.c.mode == "holdout").values(worth="1/3"))
    (line,) = verify(database)
    assert "mode 'holdout' of version 0 is not what the log says" in line


def test_verify_notices_a_holdout_that_depends_on_the_clock(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "draw", lambda _name, _number: time.time_ns() % 1000 / 1000.0)
    _played(database)
    assert any("by its number it is" in line for line in verify(database))
