"""Is it better than before? The difference to the baseline and its intervals: how often they are right, and where."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import headgate as hg
from headgate.client import AsyncClient, Client, InvalidRequestError
from headgate.laws import Floats
from headgate.service.comparison import Side, compare, difference, sides
from headgate.service.engine.modes import ModeSum
from headgate.service.engine.queue import Ledger
from headgate.service.store import Database
from headgate.service.verify import verify
from tests.service import asking
from tests.service.harness import QUIZ, results

HOLDOUT = 0.05
LOOKS = np.unique(np.geomspace(700, 12_000, 15).astype(int))
RUNS = 300


def _side(worth: Floats) -> Side:
    return Side(len(worth), len(worth), float(worth.sum()), float((worth**2).sum()))


@pytest.mark.parametrize("kind", ["three arms", "one in twenty", "values"])
def test_intervals_cover_as_often_as_they_say(kind: str) -> None:
    """300 runs of 12,000 decisions: one look in the end, and 15 looks together; each bound fails with probability 1e-4.

    The first may miss in 5% of runs, so 33 or more misses are too many; the second in 5% of runs at any look.
    """
    rng, once, ever = np.random.default_rng(7), 0, 0
    chances: tuple[
        list[float], list[float]
    ] = {  # of each worth 0, 1, 2, ... of a decision: of the policy's, and of the baseline's
        "three arms": ([0.125, 0.375, 0.375, 0.125], [0.216, 0.432, 0.288, 0.064]),
        "one in twenty": ([0.95, 0.05], [0.96, 0.04]),
        "values": ([0.5, 0.3, 0.0, 0.0, 0.2], [0.6, 0.3, 0.0, 0.0, 0.1]),
    }[kind]
    truth = float(np.subtract(*chances) @ np.arange(len(chances[0])))
    for _ in range(RUNS):
        held = rng.random(LOOKS[-1]) < HOLDOUT
        ours_or_base = [rng.choice(len(c), held.size, p=c) for c in chances]
        worth = np.where(held, ours_or_base[1], ours_or_base[0]).astype(np.float64)
        missed = False
        for look in LOOKS:
            ours, base = (_side(worth[:look][side[:look]]) for side in (~held, held))
            found = difference([(ours, base)])
            if found is not None:
                low, high = found.always(0.95)
                missed |= not low <= truth <= high
        low, high = found.once(0.95)  # type: ignore[union-attr]  # there are enough by then
        once, ever = once + (not low <= truth <= high), ever + missed
    most = stats.binom.ppf(1.0 - 1e-4, RUNS, 0.05)
    assert once <= most
    assert ever <= most


def test_one_version_is_welchs_test() -> None:
    """But for the two decisions that each variance counts more."""
    rng = np.random.default_rng(1)
    ours, base = rng.poisson(2.0, 4_000).astype(float), rng.poisson(1.8, 400).astype(float)
    found = difference([(_side(ours), _side(base))])
    reference = stats.ttest_ind(ours, base, equal_var=False).confidence_interval(0.95)
    assert found is not None
    assert found.once(0.95) == pytest.approx((reference.low, reference.high), rel=0.02)
    low, high = found.always(0.95)
    assert low < found.once(0.95)[0] < found.once(0.95)[1] < high


def test_versions_are_compared_within_themselves() -> None:
    """More is held out in the better week: pooled, the baseline would look better than it is.

    The policy adds .2 in the week of 16,000 decisions and .6 in that of 4,000: .28 in the mean of all of them.
    """
    rng = np.random.default_rng(2)

    def week(size: int, mean: float, more: float, share: float) -> tuple[Side, Side]:
        held = rng.random(size) < share
        worth = rng.poisson(np.where(held, mean, mean + more)).astype(float)
        return _side(worth[~held]), _side(worth[held])

    weeks = [week(16_000, 1.0, 0.2, 0.1), week(4_000, 3.0, 0.6, 0.5)]
    found, pooled = difference(weeks), difference([tuple(sum(s, Side()) for s in zip(*weeks, strict=True))])  # type: ignore[list-item]
    assert found is not None
    assert pooled is not None
    low, high = found.once(0.9999)
    assert low < 0.28 < high < 0.4
    assert pooled.value < low


def _sum(mode: str, worth: int, version: int = 0) -> ModeSum:
    return ModeSum(1, version, mode, 100, 90, Fraction(worth), Fraction(worth))


def test_modes_are_not_mixed() -> None:
    """A guard's decisions are the policy's side; a shadow's, or those of a version without a draw, are on none."""
    found = sides([_sum("policy", 50), _sum("guard", 5), _sum("holdout", 30), _sum("shadow", 80), _sum("guard", 9, 1)])
    assert found == [(Side(200, 180, 55.0, 55.0), Side(100, 90, 30.0, 30.0))]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60), st.integers(0, 60)), max_size=4))
def test_few_decisions_are_no_comparison_and_many_have_an_interval(counts: list[tuple[int, int, int, int]]) -> None:
    versions = [
        (Side(n, n, float(min(w, n)), float(min(w, n))), Side(m, m, float(min(v, m)), float(min(v, m))))
        for n, m, w, v in counts
    ]
    found = difference(versions)
    if found is None:
        return
    low, high = found.always(0.95)
    assert low < found.value < high
    assert sum(base.complete for _, base in versions) >= 30


# -- in the service --------------------------------------------------------------------------------------------------


def _compared(database: Database) -> Any:
    return database.look(lambda c: compare(c, "quiz"))


def test_what_is_compared_is_what_was_reported(database: Database) -> None:
    """Successes times value by mode, from the answers and reports themselves."""
    ledger, rng = Ledger(database), np.random.default_rng(0)
    arms = [{"name": "q1", "value": 2.5}, "q2", "q3"]
    asking.create(ledger, arms=arms, baseline="even", holdout=0.5)
    worth: dict[str, list[float]] = {"policy": [], "holdout": []}
    for i in range(80):
        made = asking.decide(ledger, f"d{i}", value={"q3": 0.1} if i % 2 else None)
        wins = {arm for arm in QUIZ["arms"] if rng.random() < 0.4}
        said = results(made["allocation"], wins)
        if i % 10 == 9:  # heard in part: not complete
            ledger.answer([asking.tell(f"d{i}", dict(list(said.items())[:1]))])
            continue
        ledger.answer([asking.tell(f"d{i}", said)])
        values = {"q1": 2.5, "q2": 1.0, "q3": 0.1 if i % 2 else 1.0}
        worth[made["mode"]].append(sum(values[arm] for arm in wins if arm in said))
    found = _compared(database)
    assert found.status == "compared"
    for side, mode in ((found.policy_side, "policy"), (found.baseline_side, "holdout")):
        assert side.complete == len(worth[mode]) < side.decisions
        assert side.value_per_decision == pytest.approx(np.mean(worth[mode]), rel=1e-12)
    assert found.difference == pytest.approx(np.mean(worth["policy"]) - np.mean(worth["holdout"]), rel=1e-9)
    assert verify(database) == []


def test_where_nothing_can_be_compared_a_sentence_says_why(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    asking.create(ledger, "base", baseline="even")
    asking.create(ledger, "shadow", baseline="even", shadow=True)
    asking.create(ledger, "few", baseline="even", holdout=0.05)
    asking.play(ledger, 3, name="few")
    for name, status, words in (
        ("quiz", "no baseline", "there is no baseline"), ("base", "no holdout", "gets no decisions"),
        ("shadow", "shadow", "Every answer is the baseline's"), ("few", "too few", "it takes 30 of each"),
    ):  # fmt: skip
        found = database.look(lambda c, name=name: compare(c, name))  # type: ignore[misc]
        assert (found.status, words in found.words, found.difference) == (status, True, None)


def test_reports_that_are_missing_on_one_side_are_said(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger, baseline="even", holdout=0.5)
    for i in range(60):
        made = asking.decide(ledger, f"d{i}")
        if made["mode"] == "policy":
            ledger.answer([asking.tell(f"d{i}", results(made["allocation"], {"q1"}))])
    assert "100.0% of the policy's decisions and 0.0% of the baseline's" in _compared(database).caution


def test_over_http_by_both_clients_and_in_metrics(client: httpx.Client) -> None:
    url, rng = str(client.base_url), np.random.default_rng(0)
    with Client(url) as ours:
        made = ours.put_allocator("quiz", QUIZ["arms"], hg.Weibull(1.6), 30.0, baseline={"q1": 30.0}, holdout=0.4)
        assert (made.spec["baseline"], made.spec["holdout"]) == ({"q1": 30.0}, 0.4)
        assert "it takes 30 of each" in ours.comparison("quiz").words
        for _ in range(3):
            decisions = [one for one in ours.decide_many("quiz", [20.0] * 50) if isinstance(one, hg.client.Decision)]
            assert {one.mode for one in decisions} == {"policy", "holdout"}
            assert {one.probability for one in decisions} == {0.4, 0.6}
            said = {
                one.decision_id: {
                    arm: x / 2 if rng.random() < 0.5 else None for arm, x in (one.allocation or {}).items() if x > 0.0
                }
                for one in decisions
            }
            ours.report_many(said)
        found = ours.comparison("quiz", level=0.9)
        assert (found.status, found.level, found.baseline) == ("compared", 0.9, {"q1": 30.0})
        assert found.policy_side.complete + found.baseline_side.complete == 150
        assert found.interval is not None
        assert found.interval[0] < (found.difference or 0.0) < found.interval[1]
        assert {one.decision.mode for one in ours.decisions("quiz")} == {"policy", "holdout"}
        with pytest.raises(InvalidRequestError):
            ours.comparison("quiz", level=1.5)
        changed = ours.change("quiz", holdout=0.0, guard={"share": 0.5})
        assert (changed.version, changed.spec["guard"]) == (1, {"share": 0.5, "delta": 0.05})
        assert ours.decide("quiz", 10.0).mode in {"policy", "guard"}
        assert ours.change("quiz", guard=False, shadow=True).spec["guard"] is None
        shadow = ours.decide("quiz", 12.0)
        assert (shadow.mode, shadow.allocation) == ("shadow", {"q1": 12.0, "q2": 0.0, "q3": 0.0})
        assert shadow.policy_allocation is not None
        assert [one.policy_amount for one in ours.why(shadow).arms] == list(shadow.policy_allocation.values())

    async def asked() -> hg.client.Comparison:
        async with AsyncClient(url) as other:
            return await other.comparison("quiz", level=0.9)

    assert asyncio.run(asked()).difference == found.difference
    metrics = client.get("/metrics").text
    assert f'headgate_allocator_difference{{allocator="quiz"}} {found.difference}' in metrics
    assert 'headgate_allocator_mode_decisions{allocator="quiz",mode="shadow"} 1.0' in metrics
    noted = client.get("/v1/allocators/quiz/versions").json()["versions"]
    assert [(one["holdout"], one["shadow"], one["guard"]) for one in noted] == [
        (0.4, False, None), (0.0, False, {"share": 0.5, "delta": 0.05}), (0.0, True, None)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"baseline": "odd"}, "baseline"), ({"baseline": {"q1": -1.0}}, "baseline"), ({"baseline": {}}, "baseline"),
        ({"baseline": "even", "holdout": 1.0}, "holdout"), ({"baseline": "even", "holdout": "0.1"}, "holdout"),
        ({"baseline": "even", "holdout": -0.1}, "holdout"), ({"baseline": "even", "shadow": 1}, "shadow"),
        ({"baseline": "even", "guard": {"share": 1.0}}, "guard.share"), ({"baseline": {"q9": 1.0}}, "baseline"),
        ({"baseline": "even", "guard": {"chance": 1.0}}, "guard.chance"), ({"holdout": 0.1}, "holdout"),
    ],
)  # fmt: skip
def test_bad_bodies_are_422_with_field_and_rule(refusing: httpx.Client, body: dict[str, Any], field: str) -> None:
    answer = refusing.put("/v1/allocators/bad", json=QUIZ | body)
    error = answer.json()["error"]
    assert answer.status_code == 422, answer.text
    assert any(one["field"].startswith(field) and one["rule"] for one in error["fields"]), error
    assert refusing.get("/v1/allocators/bad").status_code == 404
