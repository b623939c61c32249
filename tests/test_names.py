"""Arms by name: what is asked, handed out, observed and written, and errors that say the right names."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headgate as hg
from headgate.errors import FeedbackError, ParameterError, ShapeError, UnknownArmError
from headgate.names import Amounts
from headgate.policies import POLICIES, Policy

ARMS = ("north", "south", "east")
LAW = hg.Weibull(1.6)
NEEDED: dict[str, dict[str, Any]] = {
    "oracle": {"activation": [0.9, 0.6, 0.3], "rate": 0.2},
    **{key: {"rounds": 100} for key in ("cucb", "explore-then-commit", "greedy", "mg-ucb", "ra-ucb")},
}


def amounts() -> Any:
    return thompson().allocate(9.0)


def thompson(**options: Any) -> hg.Thompson:
    return hg.Thompson(LAW, arms=ARMS, max_budget=30.0, **options)


@pytest.mark.parametrize("name", [name for name in POLICIES if POLICIES.find(name).__module__.startswith("headgate.")])
def test_every_policy_plays_by_name_as_by_position(name: str) -> None:
    kind, options = POLICIES.find(name), NEEDED.get(name, {})
    named, plain = (kind(LAW, arms=arms, max_budget=30.0, **options) for arms in (ARMS, 3))
    assert (named.arms, named.names, plain.names) == (3, ARMS, None)
    for _ in range(3):
        x, y = named.allocate(20.0), plain.allocate(20.0)
        assert isinstance(x, Amounts)
        assert type(y) is np.ndarray
        assert np.array_equal(x, y)
        assert x["south"] == y[1]
        got = {arm: float(x[arm]) for arm in ARMS}
        named.observe(got, {"east": None, "north": bool(x["north"] > 0.0) or None})
        plain.observe(y, hg.Feedback([y[0] > 0.0, False, False], [np.nan] * 3, [True, False, True]))
    again = hg.load_policy(named.to_json())
    assert (again.names, repr(again)) == (ARMS, repr(named))
    assert "north" in repr(named)
    assert np.array_equal(again.allocate(20.0), plain.allocate(20.0))
    assert again.estimate().names == ARMS


def test_a_round_is_asked_for_by_name() -> None:
    for options, same in (
        ({"eligible": ["south", "east"]}, {"eligible": [False, True, True]}),
        ({"eligible": {"north": False}}, {"eligible": [False, True, True]}),
        ({"value": {"east": 9.0}}, {"value": [1.0, 1.0, 9.0]}),
        ({"lower": {"east": 7.0}, "upper": {"north": 1.0}}, {"lower": [0.0, 0.0, 7.0], "upper": [1.0, 99.0, 99.0]}),
    ):
        asked: dict[str, Any] = options
        instead: dict[str, Any] = same
        assert np.array_equal(thompson().allocate(20.0, **asked), thompson().allocate(20.0, **instead)), options
        assert thompson().live(20.0, **asked).next() == thompson().live(20.0, **instead).next()
    assert thompson(value={"south": 3.0}).value.tolist() == [1.0, 3.0, 1.0]  # type: ignore[union-attr]
    baseline = hg.Guarded(thompson(), baseline={"east": 5.0, "north": 2.0})
    assert (np.asarray(baseline.baseline).tolist(), baseline.names) == ([2.0, 0.0, 5.0], ARMS)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: thompson().allocate(9.0, value={"nord": 1.0}), r"'nord': the 3 arms are north, .*mean 'north'"),
        (lambda: thompson().allocate(9.0, eligible=["west"]), "'west': the 3 arms are north, south, east"),
        (lambda: thompson().observe({"west": 1.0}, {"north": None}), "'west': the 3 arms are"),
        (lambda: thompson().observe([1.0, 0.0, 0.0], {"west": None}), "'west': the 3 arms are"),
        (lambda: amounts()["west"], "'west': the 3 arms are"),
        (lambda: hg.Thompson(LAW, 2, 9.0).observe([1.0, 1.0], {"west": None}), "have no names.*arms="),
        (lambda: world().solve(9.0, lower={"west": 1.0}), "'west': the 3 arms are"),
        (lambda: world().expected_reward({"west": 1.0}), "'west': the 3 arms are"),
    ],
)
def test_wrong_names_are_errors_that_say_the_right_ones(wrong: Callable[[], object], says: str) -> None:
    with pytest.raises(UnknownArmError, match=says):
        wrong()


@pytest.mark.parametrize("arms", [["a", "a"], ["a", ""], [1, 2], [], "ab", 2.5])
def test_names_that_are_none(arms: Any) -> None:
    with pytest.raises(ParameterError, match=r"arms|names"):
        hg.Thompson(LAW, arms=arms, max_budget=9.0)


def test_a_wrong_result_leaves_the_state_as_it_was() -> None:
    policy = thompson()
    for results in ({"north": "won"}, {"north": [1.0]}, {"north": -1.0}, {"north": 9.0}):
        with pytest.raises(FeedbackError):
            policy.observe({"north": 5.0}, results)  # type: ignore[arg-type]
    assert not policy.evidence.trials.any()
    policy.observe({"north": 5.0, "south": 4.0}, {"north": 3.0, "south": False})
    assert (policy.evidence.trials.tolist(), policy.evidence.successes.tolist()) == ([1.0, 1.0, 0.0], [1.0, 0.0, 0.0])


def world(**options: Any) -> hg.Problem:
    return hg.Problem(LAW, [0.9, 0.6, 0.3], [0.2, 0.5, 0.1], arms=ARMS, units="s", **options)


def test_a_problem_answers_by_name() -> None:
    problem, plain = world(), hg.Problem(LAW, [0.9, 0.6, 0.3], [0.2, 0.5, 0.1])
    best = problem.solve(12.0, lower={"east": 1.0})
    assert (best.names, best.units) == (ARMS, "s")
    assert np.array_equal(best.x, plain.solve(12.0, lower=[0.0, 0.0, 1.0]).x)
    assert plain.solve(12.0).names is None
    assert problem.expected_reward({"north": 3.0}) == plain.expected_reward([3.0, 0.0, 0.0])
    x: Any = problem.frontier([6.0, 12.0]).x
    assert np.array_equal(x["north"], plain.frontier([6.0, 12.0]).x[:, 0])
    plan = problem.plan([5.0, 9.0])
    assert plan.names == ARMS
    assert plan.given(4.0)["south"] == plan.given(4.0)[1]  # type: ignore[call-overload]
    assert ("south:" in repr(plan), "1:" in repr(plain.plan([5.0, 9.0]))) == (True, True)
    assert hg.Problem.from_toml(problem.to_toml()) == problem
    assert not hg.Problem.from_toml(plain.to_toml()).named
    with pytest.raises(ShapeError, match="3 names"):
        hg.Problem(LAW, [0.9, 0.6, 0.3], 0.2, arms=["a", "b"])
    with pytest.raises(ParameterError, match="the same"):
        hg.Problem(LAW, [0.9, 0.6], 0.2, ["a", "b"], arms=["a", "b"])


def test_a_live_round_says_whom_to_serve_also_after_it_was_written() -> None:
    live, plain = world().live(9.0), hg.Problem(LAW, [0.9, 0.6, 0.3], [0.2, 0.5, 0.1]).live(9.0)
    step, other = live.next(), plain.next()
    assert step is not None
    assert other is not None
    assert (tuple(step), other.name) == (tuple(other), None)
    assert step.name == ARMS[step.arm]
    again = hg.LiveRound.from_json(live.to_json())
    assert (again.names, again.next(), repr(again.next())) == (ARMS, step, repr(step))
    live.report(success=False, spent=0.5)
    assert live.x[step.name] == 0.5  # type: ignore[call-overload]
    poured = next(thompson().pour(1.0))
    assert (poured.name, poured.amount) == (ARMS[poured.arm], 1.0)


def test_amounts_forget_their_names_where_these_would_be_wrong() -> None:
    x = Amounts.of(np.array([1.25, 2.0, 3.0]), ARMS)
    assert (x.to_dict(), x.round(1).names) == ({"north": 1.25, "south": 2.0, "east": 3.0}, ARMS)
    for other in (x[::-1], x[1:], 2.0 * x, np.sort(x), np.clip(x, 0.0, 2.0), x + x):
        assert getattr(other, "names", None) is None
        assert repr(other).startswith("array(")
    assert (x.sum(), float(x[0]), [float(v) for v in x]) == (6.25, 1.25, [1.25, 2.0, 3.0])
    assert repr(x) == "Amounts({'north': 1.25, 'south': 2, 'east': 3})"


def test_evidence_finds_its_arms_by_name() -> None:
    log = thompson()
    log.observe({"north": 5.0, "east": 4.0}, {"north": 3.0, "east": None})
    other = hg.Thompson(LAW, arms=["east", "west", "south", "north"], max_budget=30.0)
    other.warm_start(log.evidence)
    assert other.evidence.trials.tolist() == [1.0, 0.0, 0.0, 1.0]
    assert list(log.evidence.to_dict()["arms"]) == list(ARMS)
    read = hg.Evidence.from_dict(json.loads(json.dumps(log.evidence.to_dict())))
    assert read.names == ARMS
    assert other.evidence.merge(read).trials.tolist() == [2.0, 0.0, 0.0, 2.0]
    with pytest.raises(UnknownArmError, match="'south': the 2 arms are north, east"):
        hg.Thompson(LAW, arms=["north", "east"], max_budget=30.0).warm_start(log.evidence)
    by_position = hg.Thompson(LAW, 3, 30.0)
    by_position.warm_start(log.evidence)
    assert by_position.evidence.trials.tolist() == [1.0, 0.0, 1.0]


def test_a_batch_has_names_too() -> None:
    policy: Policy = thompson(seed=[1, 2])
    x = policy.allocate(20.0)
    assert np.array_equal(x["north"], np.asarray(x)[:, 0])  # type: ignore[call-overload]
    assert hg.load_policy(policy.to_json()).names == ARMS
