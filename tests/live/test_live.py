"""Live rounds: the rule against plain references, what is promised of every round, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headgate as hg
from headgate.feedback import Feedback
from headgate.policies import POLICIES, Policy
from headgate.testing import LIVE_CHECKS
from headgate.testing.live import MakeLive, play
from tests.live.references import index_by_hand, optimum, static_optimum

FIVE: dict[str, Any] = {"activation": [0.9, 0.6, 0.8, 0.5, 0.7], "rate": [0.5, 1.0, 0.2, 0.8, 0.1]}
LAWS = {
    "falling hazards": hg.Exponential(),
    "s-shaped": hg.Weibull(2.5),
    "heavy tails": hg.Lomax(1.2),
    "tabulated": hg.from_scipy("gengamma", 2.0, 1.5),
    "bounded": hg.Beta(20.0),
    "arm by arm": hg.Weibull((0.7, 1.0, 2.0, 3.0, 5.0)),
}


def known(law: hg.laws.Law, **details: Any) -> hg.Problem:
    return hg.Problem(law, **FIVE | details)


def policy_of(name: str, law: hg.laws.Law, arms: int, max_budget: float) -> Policy:
    """A policy of that name, with what it cannot do without."""
    make = POLICIES[name]
    options: dict[str, Any] = {"rounds": 50} if "rounds" in {field.name for field in fields(make)} else {}
    if name == "oracle":
        options = {"activation": FIVE["activation"][:arms], "rate": FIVE["rate"][:arms]}
    policy: Policy = make(law, arms=arms, max_budget=max_budget, **options)
    return policy


def test_a_round_of_many_small_steps_comes_to_its_end_within_the_budget() -> None:
    """What is left may be a billionth of the budget: the last digit of the sum is then many digits of the step."""
    problem, rng = hg.Problem(hg.Weibull(1.6), FIVE["activation"], FIVE["rate"]), np.random.default_rng(3)
    for _ in range(60):
        live = problem.live(30.0)
        while (step := live.next()) is not None:
            assert (live.x + step.amount * (np.arange(5) == step.arm)).sum() <= 30.0
            live.report(success=False, spent=step.amount * (1.0 - 10.0 ** -rng.uniform(0.0, 4.0)))
        assert live.left < 1e-9


LIVE = [name for name, make in sorted(POLICIES.items()) if make.points is not Policy.points]


def learner(name: str, law: hg.laws.Law) -> MakeLive:
    """Live rounds of a policy, each of a fresh one."""
    return lambda budget, **options: policy_of(name, law, 5, 10.0).live(budget, **options)


MAKERS = {name: known(law).live for name, law in LAWS.items()}
MAKERS |= {name: learner(name, hg.Exponential()) for name in LIVE} | {
    "learned": learner("thompson", hg.Weibull("learn"))
}


@pytest.mark.parametrize("check", LIVE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_conformance(make: MakeLive, check: Callable[[MakeLive], None]) -> None:
    check(make)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("had", [0.0, 1.3])
def test_the_index_is_the_best_ratio_of_gain_to_spend(law: hg.laws.Law, had: float) -> None:
    """The arm that is served first has the largest index, and a stretch of at least its d."""
    problem = known(law, value=[1.0, 2.0, 0.5, 1.5, 1.0])
    live = problem.live(10.0)
    arms = range(5)
    if had:  # every arm has been tried in vain
        live = problem.live(10.0 + 5 * had, lower=had)
        for _ in arms:
            step = live.next()
            assert step is not None
            assert step.amount == pytest.approx(had)
            live.report(success=False)
    step = live.next()
    assert step is not None
    index = [index_by_hand(problem, arm, had, 10.0) for arm in arms]
    ratios = [ratio for ratio, _ in index]
    assert ratios[step.arm] >= 0.995 * max(ratios)  # two arms may be all but equal, and curves are known by points
    if ratios[step.arm] > 1.02 * sorted(ratios)[-2]:
        assert step.amount >= 0.9 * index[step.arm][1]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_two_and_three_arms_are_played_as_well_as_can_be(seed: int) -> None:
    """What the rule earns on average over 4,000 worlds lies between the slow optima, within 4 standard errors."""
    rng = np.random.default_rng(seed)
    arms = 2 if seed % 3 else 3
    law = hg.Weibull(tuple(rng.uniform(0.6, 4.0, arms)))
    problem = hg.Problem(
        law, rng.uniform(0.3, 1.0, arms), rng.uniform(0.1, 1.0, arms), value=rng.uniform(0.5, 1.5, arms)
    )
    budget = float(rng.uniform(2.0, 10.0))
    low, high = optimum(problem, budget, 40 if arms == 2 else 16)
    earned = _earned(problem, budget, 4000, seed)
    error = 4.0 * earned.std() / np.sqrt(earned.size)
    assert low * 0.995 - error <= earned.mean() <= high + error
    bound = float(problem.live_bound(budget).bound)
    assert bound >= low
    assert bound + error >= earned.mean()


def _earned(problem: hg.Problem, budget: float, rounds: int, seed: int, told: float | None = None) -> Any:
    """What live rounds earn in worlds that are drawn."""
    from headgate.kernels.live_play import play_round
    from headgate.live.points import curve_points

    rng = np.random.default_rng(seed)
    size = (rounds, problem.arms)
    reach = np.where(rng.random(size) < problem.activation, problem.law.sample(problem.rate, rng, size), np.inf)
    whole = problem.law.whole_arms(problem.arms)
    most = np.full(problem.arms, budget)
    x, y = curve_points(problem.law, problem.activation, problem.rate, most, whole)
    none = np.empty(0)
    got = play_round(
        x, y, problem.value, whole, False, 0.0 * most, np.minimum(most, x[:, -1]), reach,
        budget if told is None else told, budget, none, none,
    )  # fmt: skip
    assert np.all(got.sum(axis=-1) <= budget * (1.0 + 1e-9))
    return np.sum(problem.value * (reach <= got), axis=-1)


@pytest.mark.parametrize("law", [hg.Exponential(), hg.Weibull(3.0)])
def test_what_is_left_over_is_worth_something(law: hg.laws.Law) -> None:
    """Live rounds earn more than the best plan of all, and no more than the bound."""
    problem = hg.Problem(law, [0.9, 0.7, 0.8], [0.3, 0.5, 0.2])
    planned = static_optimum(problem, 9.0, 24)
    earned = _earned(problem, 9.0, 4000, 0)
    assert earned.mean() > 1.03 * planned
    assert earned.mean() <= float(problem.live_bound(9.0).bound) + 4.0 * earned.std() / np.sqrt(earned.size)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_round_by_steps_is_the_round_that_a_simulation_plays(law: hg.laws.Law) -> None:
    from headgate.kernels.live_play import play_round
    from headgate.live.points import curve_points

    problem = known(law)
    x, y = curve_points(problem.law, problem.activation, problem.rate, np.full(5, 10.0), np.zeros(5, dtype=bool))
    none = np.empty(0)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        reach = np.where(rng.random(5) < 0.8, problem.law.sample(problem.rate, rng, 5), np.inf)
        live = problem.live(10.0)
        play(live, reach)
        got = play_round(
            x, y, np.ones(5), np.zeros(5, dtype=bool), False, np.zeros(5), x[:, -1], reach, 10.0, 10.0, none, none
        )
        np.testing.assert_allclose(live.x, got, rtol=1e-12, atol=1e-12)


def test_without_a_budget_the_steps_are_those_of_a_budget_far_larger_than_needed() -> None:
    problem = known(hg.Weibull(2.5), rate=[5.0, 10.0, 2.0, 8.0, 1.0])
    for seed in range(5):
        rng = np.random.default_rng(seed)
        reach = np.where(rng.random(5) < problem.activation, problem.law.sample(problem.rate, rng, 5), np.inf)
        unknown, plenty = problem.live(), problem.live(1e4, upper=problem.law.quantile(1.0 - 1e-6, problem.rate))
        assert play(unknown, reach) == play(plenty, reach)


def test_a_budget_that_is_always_the_same_is_a_known_one() -> None:
    problem = known(hg.Weibull(2.5))
    one, several = problem.live(10.0), problem.live([10.0, 10.0, 10.0])
    assert one.next() == several.next()


def test_a_budget_that_may_end_soon_hurries() -> None:
    """A slow sure arm and a quick poor one: who may be stopped at any moment begins with the quick one."""
    x, y = [0.0, 1.0, 5.0, 9.0], [[0.0, 0.0, 0.0, 1.0], [0.0, 0.1, 0.1, 0.1]]
    patient = hg.LiveRound(x, y, budget=[10.0] * 10)
    hurried = hg.LiveRound(x, y, budget=[1.0] * 9 + [10.0])
    assert (patient.next() or (0, 0))[0] == 0
    assert (hurried.next() or (0, 0))[0] == 1


def test_whole_units_are_served_whole() -> None:
    problem = hg.Problem([hg.DiscreteWeibull(1.5), hg.Exponential(), hg.DiscreteWeibull(0.8)], [0.9, 0.8, 0.7], 0.3)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        reach = np.where(rng.random(3) < 0.8, problem.law.sample(problem.rate, rng, 3), np.inf)
        live = problem.live(9.5)
        for step in play(live, reach):
            assert step.arm == 1 or step.amount == np.floor(step.amount)
        assert live.x.sum() <= 9.5
        policy = hg.Thompson(problem.law, 3, 12.0)
        begun = policy.live(9.5)
        play(begun, reach)
        policy.observe(begun)


def test_limits_of_whole_units_are_rounded_to_them() -> None:
    problem = hg.Problem(hg.DiscreteWeibull(1.2), [0.9, 0.8], 0.3)
    live = problem.live(9.0, lower=[1.5, 0.0], upper=[3.5, 2.5])
    steps = play(live, np.full(2, np.inf))
    assert steps[0] == (0, 2.0)
    np.testing.assert_array_equal(live.x, [3.0, 2.0])
    with pytest.raises(hg.errors.BudgetError, match="whole units"):
        problem.live(2.5, lower=[1.5, 0.5])


@pytest.mark.parametrize("seed", range(20))
def test_whole_units_of_two_and_three_arms_are_played_exactly(seed: int) -> None:
    """Units are cells: dynamic programming has no error, and what is earned is the optimum within 4 standard errors."""
    rng = np.random.default_rng(seed)
    arms = 2 + seed % 2
    law = hg.DiscreteWeibull(tuple(np.exp(rng.normal(0.3, 0.5, arms))))
    problem = hg.Problem(
        law, rng.uniform(0.3, 1.0, arms), rng.uniform(0.05, 0.5, arms), value=rng.uniform(0.5, 1.5, arms)
    )
    budget = int(rng.integers(3, 16))
    exact, _ = optimum(problem, float(budget), budget)
    earned = _earned(problem, float(budget), 4000, seed)
    assert abs(earned.mean() - exact) <= 4.0 * earned.std() / np.sqrt(earned.size)


def test_a_cascade_ends_with_the_first_success_and_gives_what_a_plan_would() -> None:
    problem = known(hg.Weibull(2.0))
    live = problem.live(6.0, reward="cascade")
    play(live, np.full(5, np.inf))
    planned = problem.solve(6.0, reward="cascade")
    assert float(problem.expected_reward(live.x, "cascade")) >= 0.998 * float(planned.value)
    assert float(problem.live_bound(6.0, reward="cascade").bound) == float(planned.bound)
    other = problem.live(6.0, reward="cascade")
    step = other.next()
    assert step is not None
    other.report(success=True, spent=0.1)
    assert other.done
    assert other.next() is None


def test_looking_ahead_sees_what_the_index_does_not() -> None:
    """A quick arm, and three that need nearly all there is: whoever begins with the quick one cannot finish another.

    Four arms, so that dynamic programming does not decide; the index prefers the quick arm's rate by far.
    """
    x = [0.0, 1.0, 7.9, 8.0]
    y = [[0.0, 0.2, 0.2, 0.2], *([[0.0, 0.0, 0.0, 0.9]] * 3)]
    plain, ahead = hg.LiveRound(x, y, budget=8.0).next(), hg.LiveRound(x, y, budget=8.0, lookahead=True).next()
    assert plain == (0, 1.0)
    assert ahead is not None
    assert ahead.arm > 0
    assert ahead.amount == 8.0


@pytest.mark.long
def test_looking_ahead_is_no_worse_than_the_index() -> None:
    """Over 200 common worlds of 4 problems with four arms, within 3 standard errors."""
    difference = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        problem = hg.Problem(
            hg.Weibull(tuple(rng.uniform(0.8, 4.0, 4))), rng.uniform(0.3, 1.0, 4), rng.uniform(0.1, 0.5, 4)
        )
        for _ in range(50):
            reach = np.where(rng.random(4) < problem.activation, problem.law.sample(problem.rate, rng, 4), np.inf)
            ahead, plain = problem.live(8.0, lookahead=True), problem.live(8.0)
            play(ahead, reach)
            play(plain, reach)
            difference.append(ahead.earned - plain.earned)
    assert np.mean(difference) >= -3.0 * np.std(difference) / np.sqrt(len(difference))


def test_without_switching_no_arm_is_taken_up_again_and_refunds_are_kept() -> None:
    earned: dict[bool, list[float]] = {True: [], False: []}
    problem = known(hg.Exponential())
    rng = np.random.default_rng(0)
    for _ in range(300):
        reach = np.where(rng.random(5) < problem.activation, problem.law.sample(problem.rate, rng, 5), np.inf)
        for switching in (True, False):
            live = problem.live(6.0, switching=switching)
            arms = [step.arm for step in play(live, reach)]
            assert switching or len(arms) == len(set(arms))
            earned[switching].append(live.earned)
    planned = float(problem.solve(6.0).value)
    assert np.mean(earned[False]) > planned  # the index's own d without a return would lose most of it
    assert np.mean(earned[True]) >= np.mean(earned[False]) - 0.05


# -- the bound ---------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    shapes=st.lists(st.floats(0.5, 6.0), min_size=2, max_size=2),
    p=st.lists(st.floats(0.05, 1.0), min_size=2, max_size=2),
    rate=st.lists(st.floats(0.05, 5.0), min_size=2, max_size=2),
    budget=st.floats(0.5, 20.0),
)
def test_the_bound_is_never_below_the_optimum(
    shapes: list[float], p: list[float], rate: list[float], budget: float
) -> None:
    problem = hg.Problem(hg.Weibull(tuple(shapes)), p, rate)
    low, _ = optimum(problem, budget, 24)
    bound = problem.live_bound(budget)
    assert float(bound.bound) >= low
    assert float(bound.bound) >= float(problem.solve(budget).value) * (1.0 - 1e-9)
    assert float(bound.bound) <= sum(p) * (1.0 + 1e-6)


def test_the_bound_of_one_arm_is_its_curve() -> None:
    problem = hg.Problem(hg.Weibull(3.0), [0.8], [0.2])
    chances = problem.success_probability(np.linspace(0.0, 100.0, 5001)[:, None])[:, 0]
    assert float(problem.live_bound(1000.0).bound) == pytest.approx(0.8, rel=1e-4)
    assert float(problem.live_bound(5.0).bound) >= chances[250]


def test_budgets_beyond_the_end_of_a_bounded_law() -> None:
    problem = hg.Problem(hg.Beta(0.5), [0.9, 0.6], [2.0, 1.0])
    assert float(problem.live_bound(5.0).bound) == pytest.approx(1.5, rel=1e-6)
    live = problem.live(5.0)
    play(live, np.full(2, np.inf))
    np.testing.assert_array_less(live.x, 0.5 + 1e-9)


def test_the_bound_of_whole_units_and_of_points() -> None:
    whole = hg.Problem(hg.DiscreteWeibull(1.0), [0.5, 0.9], [0.3, 0.3])
    assert float(whole.live_bound(4.0).bound) >= _earned(whole, 4.0, 4000, 0).mean() - 0.05
    points = hg.Problem.from_curves([0.0, 1.0, 3.0], [[0.0, 0.1, 0.9], [0.0, 0.3, 0.5]])
    assert float(points.live_bound(3.0).bound) >= float(points.solve(3.0).value)


# -- policies ----------------------------------------------------------------------------------------------------------


def test_evidence_is_that_of_a_planned_round_where_nothing_is_left_over() -> None:
    one, other = (hg.Thompson(hg.Weibull(1.5), 4, 10.0, seed=1) for _ in range(2))
    live = one.live(8.0)
    play(live, np.full(4, np.inf))
    one.observe(live)
    other.allocate(8.0)
    other.observe(live.x, Feedback([False] * 4, [np.nan] * 4))
    np.testing.assert_array_equal(one.evidence.bins, other.evidence.bins)


def test_a_threshold_is_what_an_arm_needed_over_all_its_steps() -> None:
    policy = hg.Thompson(hg.Exponential(), 2, 10.0)
    live = policy.live(10.0)
    play(live, np.array([2.5, 3.5]), cut=0.3)
    policy.observe(live)
    assert live.feedback.success.all()
    np.testing.assert_allclose(live.feedback.threshold, [2.5, 3.5])


@pytest.mark.parametrize("name", sorted(set(POLICIES) - set(LIVE)))
def test_a_policy_without_curves_says_that_it_cannot_play_live(name: str) -> None:
    policy = policy_of(name, hg.Exponential(), 3, 9.0)
    with pytest.raises(hg.errors.UnsupportedError, match="no curves to follow"):
        policy.live(9.0)


@pytest.mark.parametrize("name", LIVE)
def test_policies_learn_from_live_rounds_as_from_planned_ones(name: str) -> None:
    policy, rng = policy_of(name, hg.Exponential(), 3, 9.0), np.random.default_rng(0)
    for _ in range(5):
        live = policy.live(9.0)
        play(live, rng.exponential(2.0, 3))
        planned = hg.load_policy(policy.to_json())
        policy.observe(live)
        planned.observe(live.x, live.feedback)
        assert planned.to_json() == policy.to_json()
    assert policy.round == 5
    again = hg.load_policy(policy.to_json())
    assert again.live(9.0).to_json() == policy.live(9.0).to_json()


@pytest.mark.long
def test_simulated_live_rounds_beat_planned_ones_and_are_reproducible() -> None:
    problem = known(hg.Weibull(2.0))
    options: dict[str, Any] = {"budget": 6.0, "rounds": 400, "runs": 4, "seed": 1}
    players = {"planned": hg.Thompson, "live": hg.Thompson, "known": hg.Oracle}
    result = hg.simulate(problem, players, live={"live", "known"}, **options)
    assert result.reward["live"][:, -1].mean() > 1.05 * result.reward["planned"][:, -1].mean()
    assert result.reward["known"][:, -1].mean() > result.reward["planned"][:, -1].mean()
    again = hg.simulate(problem, {"live": hg.Thompson}, live=True, **options)
    np.testing.assert_array_equal(again.reward["live"], result.reward["live"])
    unknown = hg.simulate(problem, {"known": hg.Oracle}, live=True, hidden=True, **options)
    assert unknown.reward["known"][:, -1].mean() > result.reward["planned"][:, -1].mean()


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_wrong_rounds_are_refused() -> None:
    problem = known(hg.Exponential())
    for options, error in (
        ({"budget": -1.0}, hg.errors.BudgetError),
        ({"budget": np.nan}, hg.errors.BudgetError),
        ({"budget": []}, hg.errors.ShapeError),
        ({"budget": 1.0, "lower": 1.0}, hg.errors.BudgetError),
        ({"budget": 1.0, "value": [1.0, 2.0]}, hg.errors.ShapeError),
        ({"budget": 1.0, "value": 2.0, "reward": "cascade"}, hg.errors.ParameterError),
        ({"budget": 1.0, "reward": "most"}, hg.errors.ParameterError),
        ({"budget": None, "switching": False}, hg.errors.UnsupportedError),
        ({"budget": [1.0, 2.0], "switching": False}, hg.errors.UnsupportedError),
        ({"budget": 9.0, "switching": False, "lower": 1.0}, hg.errors.UnsupportedError),
        ({"budget": 9.0, "switching": False, "lookahead": True}, hg.errors.UnsupportedError),
        ({"budget": 9.0, "lookahead": "yes"}, hg.errors.ParameterError),
        ({"budget": 9.0, "eligible": [True, False]}, hg.errors.InputError),
    ):
        with pytest.raises(error):
            problem.live(**options)
    policy = hg.Thompson(hg.Exponential(), 5, 10.0)
    before = policy.to_json()
    wrongs: tuple[dict[str, Any], ...] = (
        {"budget": 11.0}, {"budget": None, "switching": False}, {"budget": 1.0, "lookahead": 2}, {"budget": []},
    )  # fmt: skip
    for wrong in wrongs:
        with pytest.raises(hg.errors.HeadgateError):
            policy.live(**wrong)
        assert policy.to_json() == before
    shapes: tuple[dict[str, Any], ...] = (
        {"value": [1.0]},
        {"eligible": [True]},
        {"upper": [1.0, 2.0]},
        {"lower": [[0.0] * 5]},
    )
    for wrong in shapes:
        for ask in (problem.live, problem.live_bound):
            with pytest.raises(hg.errors.ShapeError):
                ask(9.0, **wrong)
    for budget in (None, [1.0, 2.0], -1.0, np.nan):
        with pytest.raises(hg.errors.BudgetError):
            problem.live_bound(budget)  # type: ignore[arg-type]
    with pytest.raises(hg.errors.UnsupportedError, match="batch"):
        hg.Problem(hg.Exponential(), [[0.5], [0.5]], 1.0).live(1.0)
    with pytest.raises(hg.errors.UnsupportedError, match="batch"):
        hg.Thompson(hg.Exponential(), 2, 1.0, seed=[1, 2]).live(1.0)
    with pytest.raises(hg.errors.ParameterError, match="begin at"):
        hg.LiveRound([0.0, 1.0], [[0.1, 0.5]], budget=1.0)
    with pytest.raises(hg.errors.ParameterError, match="must not fall"):
        hg.LiveRound([0.0, 1.0, 2.0], [[0.0, 0.5, 0.4]], budget=1.0)


def test_a_round_that_is_not_over_cannot_be_observed() -> None:
    policy = hg.Thompson(hg.Exponential(), 3, 9.0)
    live = policy.live(9.0)
    live.next()
    before = policy.to_json()
    with pytest.raises(hg.errors.FeedbackError, match="when it is over"):
        policy.observe(live)
    assert policy.to_json() == before
    live.stop()
    policy.observe(live)


def test_a_success_may_leave_untold_what_it_took() -> None:
    policy = hg.Thompson(hg.Exponential(), 3, 9.0)
    live = policy.live(9.0)
    step = live.next()
    assert step is not None
    live.report(success=True)
    live = hg.LiveRound.from_json(live.to_json())
    play(live, np.full(3, np.inf))
    assert live.feedback.success[step.arm]
    assert np.isnan(live.feedback.threshold[step.arm])
    policy.observe(live)
    assert policy.evidence.successes.sum() == 1
