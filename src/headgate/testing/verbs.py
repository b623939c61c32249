"""What the verbs of every policy must do: `decide` and `absorb` depend on the state and on what they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headgate.errors import HeadgateError
from headgate.feedback import Feedback
from headgate.laws import DiscreteWeibull, Floats, Weibull
from headgate.policies import Policy, State
from headgate.problem import Problem
from headgate.testing.harness import (
    ARMS,
    BUDGET,
    MakePolicy,
    budgets,
    check_feasible,
    expect,
    expect_row,
    known,
    new_policy,
    problem_for,
    run_all,
)


def _play(policy: Policy, state: State, problem: Problem, count: int, seed: int = 0) -> tuple[list[Floats], State]:
    """Play rounds through the verbs; return the allocations, and the state after them."""
    rng, allocations = np.random.default_rng(seed), []
    for budget in budgets(count):
        x, state = policy.decide(state, policy.ask(budget, **known(policy)))
        allocations.append(x)
        state = policy.absorb(state, x, problem.play(x, rng), **known(policy))
    return allocations, state


def verbs_depend_on_state_and_ask_alone(make: MakePolicy) -> None:
    """An object that has played and one that has not decide alike from one state; neither changes by it."""
    worn, fresh, problem = new_policy(make, seed=5), new_policy(make, seed=5), problem_for()
    run_all(worn, problem, budgets(9), seed=3)
    before = worn.to_json(), fresh.to_json()
    first, second = (_play(policy, policy.start(), problem, 24)[0] for policy in (worn, fresh))
    expect(np.array_equal(first, second), "decide must depend on the state and the ask alone, not on the object's past")
    expect((worn.to_json(), fresh.to_json()) == before, "decide and absorb must not touch the object's own state")


def object_goes_through_the_verbs(make: MakePolicy) -> None:
    """`allocate` and `observe` do what `decide` and `absorb` do."""
    policy, problem = new_policy(make, seed=5), problem_for()
    by_verbs, state = _play(policy, policy.start(), problem, 24)
    by_hand = run_all(policy, problem, budgets(24))
    expect(np.array_equal(by_verbs, by_hand), "allocate and observe must do what decide and absorb do")
    expect(policy.state.to_dict() == state.to_dict(), "allocate and observe must leave the state that the verbs leave")


def copies_of_a_state_have_one_future(make: MakePolicy) -> None:
    """A copied state leads where the original does, whatever happens to the other."""
    policy, problem = new_policy(make, seed=1), problem_for()
    _, state = _play(policy, policy.start(), problem, 20)
    twin = state.copy()
    written = twin.to_dict()
    first, _ = _play(policy, state, problem, 12, seed=1)
    expect(twin.to_dict() == written, "a copied state must not change with the original")
    second, _ = _play(policy, twin, problem, 12, seed=1)
    expect(np.array_equal(first, second), "a copied state must lead to the same future")


def absorb_alone_changes_evidence(make: MakePolicy) -> None:
    """Evidence is what was absorbed; and a policy that calls itself additive changes nothing else there."""
    policy, problem, rng = new_policy(make), problem_for(), np.random.default_rng(0)
    state = policy.start()
    for budget in budgets(24):
        bins = state.evidence.bins.copy()
        x, state = policy.decide(state, policy.ask(budget, **known(policy)))
        expect(np.array_equal(state.evidence.bins, bins), "decide must not change evidence")
        others = {key: value for key, value in state.to_dict().items() if key != "evidence"}
        state = policy.absorb(state, x, problem.play(x, rng), **known(policy))
        now = {key: value for key, value in state.to_dict().items() if key != "evidence"}
        expect(not policy.additive or now == others, "absorb of an additive policy must change evidence alone")
        expect(now["round"] == others["round"], "absorb must not begin a round")


def rounds_have_the_number_they_are_given(make: MakePolicy) -> None:
    """A learner that takes turns with others is told the round's number."""
    policy = new_policy(make)
    _, state = policy.decide(policy.start(), policy.ask(BUDGET, round=7, **known(policy)))
    expect(state.round == 8, f"after round 7 the state must stand at 8, got {state.round}")


def arms_that_are_not_eligible_get_nothing(make: MakePolicy) -> None:
    """In a round that cannot serve them, whatever they must get in others; the rest go on."""
    mask = np.array([True, False, True, False])
    for options in (
        {},
        {"lower": np.array([0.0, 1.0, 0.0, 0.0])},
        {"law": Weibull(1.6)},
        {"law": DiscreteWeibull(0.8)},
    ):
        policy, rng = new_policy(make, **options), np.random.default_rng(0)
        problem = problem_for(policy.laws)
        for t, budget in enumerate(budgets(24)):
            able = mask if t % 2 else np.ones(ARMS, dtype=bool)
            x = policy.allocate(budget, eligible=able, **known(policy))
            check_feasible(policy, x, budget, upper=np.where(able, np.inf, 0.0))
            policy.observe(x, problem.play(x, rng), **known(policy))
        expect(
            not policy.allocate(BUDGET, eligible=False, **known(policy)).any(),
            "with no eligible arm there is no allocation",
        )


def limits_of_a_round_are_kept(make: MakePolicy) -> None:
    """They hold together with the policy's own, for that round alone."""
    own: dict[str, Any] = {"lower": [0.5, 0.0, 0.0, 0.0], "upper": [9.0, 9.0, 9.0, 2.0]}
    narrow: dict[str, Any] = {"lower": np.array([0.0, 1.0, 0.0, 0.0]), "upper": np.array([3.0, 9.0, 0.25, 9.0])}
    both = np.maximum(own["lower"], narrow["lower"]), np.minimum(own["upper"], narrow["upper"])
    policy, problem, rng = new_policy(make, **own), problem_for(), np.random.default_rng(0)
    for t, budget in enumerate(budgets(24)):
        x = policy.allocate(budget, **(narrow if t % 2 else {}), **known(policy))
        check_feasible(policy, x, budget, *(both if t % 2 else (own["lower"], own["upper"])))
        policy.observe(x, problem.play(x, rng), **known(policy))


def values_are_taken_for_a_round(make: MakePolicy) -> None:
    """What successes are worth, by the policy or for one round; equal values change nothing, a cascade knows none."""
    value, problem = np.array([0.0, 1.0, 20.0, 1.0]), problem_for()
    plain, equal, by_round, own = (new_policy(make, seed=2, **o) for o in ({}, {"value": 1.0}, {}, {"value": value}))
    rng = np.random.default_rng(0)
    for budget in budgets(24):
        x, y = by_round.allocate(budget, value=value, **known(by_round)), own.allocate(budget, **known(own))
        check_feasible(by_round, x, budget)
        expect(np.array_equal(x, y), "values given for every round must do what the policy's own values do")
        feedback = problem.play(x, rng)
        for policy in (by_round, own):
            policy.observe(x, feedback, **known(policy))
        expect(
            np.array_equal(
                plain.allocate(budget, **known(plain)), equal.allocate(budget, value=np.ones(ARMS), **known(equal))
            ),
            "values of 1 must change nothing",
        )
    try:
        new_policy(make, reward="cascade").allocate(BUDGET, value=value, **known(new_policy(make)))
    except HeadgateError:
        return
    expect(False, "a cascade must refuse values other than 1")


def asks_come_in_batches(make: MakePolicy) -> None:
    """Limits, values and eligibility may differ by batch row, and each row is the single learner's."""
    seeds = np.array([3, 8])
    together, alone = new_policy(make, seed=seeds), [new_policy(make, seed=int(seed)) for seed in seeds]
    asks: dict[str, Any] = {
        "value": np.array([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]]),
        "eligible": np.array([[True, True, False, True], [True, False, True, True]]),
        "upper": np.array([[5.0, 6.0, 7.0, 8.0], [8.0, 7.0, 6.0, 5.0]]),
    }
    problem, rng = problem_for(), np.random.default_rng(0)
    for budget in budgets(24):
        x = together.allocate(budget, **asks, **known(together))
        feedback = problem.play(x, rng)
        together.observe(x, feedback, **known(together))
        for row, single in enumerate(alone):
            mine = single.allocate(budget, **{name: values[row] for name, values in asks.items()}, **known(single))
            expect_row(row, x, mine)
            single.observe(mine, Feedback(feedback.success[row], feedback.threshold[row]), **known(single))


#: Every check of the verbs: a function of `make`.
VERB_CHECKS: tuple[Callable[[MakePolicy], None], ...] = (
    verbs_depend_on_state_and_ask_alone,
    object_goes_through_the_verbs,
    copies_of_a_state_have_one_future,
    absorb_alone_changes_evidence,
    rounds_have_the_number_they_are_given,
    arms_that_are_not_eligible_get_nothing,
    limits_of_a_round_are_kept,
    values_are_taken_for_a_round,
    asks_come_in_batches,
)
