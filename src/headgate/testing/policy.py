"""What every policy must do, one function for each promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headgate.errors import UnsupportedError
from headgate.laws import DiscreteWeibull, Exponential, LogNormal, Weibull, as_law
from headgate.policies import ModelPolicy
from headgate.problem import Problem
from headgate.testing.harness import (
    ARMS,
    BUDGET,
    ROUNDS,
    MakePolicy,
    budgets,
    check_feasible,
    expect,
    known,
    new_policy,
    problem_for,
    run_all,
)
from headgate.testing.policy_state import STATE_CHECKS
from headgate.testing.verbs import VERB_CHECKS


def allocations_are_feasible(make: MakePolicy) -> None:
    """Amounts are finite, >= 0 and within a budget that changes every round."""
    run_all(new_policy(make), problem_for(), budgets())


def s_shaped_laws_work(make: MakePolicy) -> None:
    """So they are where curves are not concave."""
    for law in (Weibull(1.6), LogNormal(0.8), Weibull((0.8, 1.0, 1.5, 2.0))):
        run_all(new_policy(make, law), problem_for(law), budgets(24))


def integer_laws_get_whole_units(make: MakePolicy) -> None:
    """Thresholds that are whole numbers mean whole units, within a budget that need not be whole."""
    mixed = as_law([DiscreteWeibull(0.8), Exponential(), DiscreteWeibull(1.2), Weibull(1.5)])
    for law in (DiscreteWeibull(0.8), DiscreteWeibull(1.5), mixed):
        run_all(new_policy(make, law), problem_for(law), budgets(24))


def limits_on_arms_are_kept(make: MakePolicy) -> None:
    """Every arm gets at least `lower` and at most `upper`."""
    lower, upper = np.array([0.5, 0.0, 0.25, 0.0]), np.array([3.0, 5.0, 0.25, 12.0])
    limits: dict[str, Any] = {"lower": lower, "upper": upper}
    run_all(new_policy(make, **limits), problem_for(), budgets(), **limits)
    whole: dict[str, Any] = {"lower": np.array([1.0, 0.0, 1.0, 0.0]), "upper": np.array([3.0, 5.0, 1.0, 12.0])}
    law = DiscreteWeibull(0.8)
    run_all(new_policy(make, law, **whole), problem_for(law), budgets(24), **whole)


def cascade_works(make: MakePolicy) -> None:
    """The reward may be 1 for at least one success."""
    for law in (Exponential(), Weibull(1.6)):
        try:
            policy = new_policy(make, law, reward="cascade")
        except UnsupportedError:  # it says that it adds up arms
            return
        run_all(policy, problem_for(law), budgets(24))


def discount_works(make: MakePolicy) -> None:
    """Evidence may fade, and then weighs less than all that was seen; or a policy says that it cannot forget."""
    try:
        policy = new_policy(make, discount=0.9)
    except UnsupportedError:
        return
    run_all(policy, problem_for(), budgets())
    expect(policy.evidence.trials.max() <= 10.0 + 1e-9, "with discount 0.9 evidence must weigh 10 rounds at most")


def budget_of_zero_gives_nothing(make: MakePolicy) -> None:
    """With no budget there is no allocation, and life goes on."""
    policy, amounts = new_policy(make), budgets()
    amounts[::3] = 0.0
    allocations = run_all(policy, problem_for(), amounts)
    expect(all(not x.any() for x in allocations[::3]), "a budget of 0 must give nothing")


def hopeless_arm_is_survived(make: MakePolicy) -> None:
    """An arm, or every arm, may never succeed."""
    for activation in ([0.8, 0.0, 0.5, 0.3], [0.0, 0.0, 0.0, 0.0]):
        problem = Problem(Exponential(), activation, 0.5)
        policy = new_policy(make)
        run_all(policy, problem, budgets(2 * ROUNDS))
        estimate = policy.estimate()
        expect(np.isfinite(estimate.rate).all(), f"estimates must stay finite, got rates {estimate.rate}")


def one_arm_is_enough(make: MakePolicy) -> None:
    """There may be a single arm."""
    policy = make(Exponential(), arms=1, max_budget=BUDGET)
    run_all(policy, problem_for(arms=1), budgets())


def pouring_is_feasible(make: MakePolicy) -> None:
    """A model's budget can be poured: amounts > 0 of real arms, at most max_budget in all, then observed."""
    for law in (Exponential(), Weibull(1.6), DiscreteWeibull(0.8)):
        policy, problem, rng = new_policy(make, law), problem_for(law), np.random.default_rng(0)
        if not isinstance(policy, ModelPolicy):
            return
        for t, budget in enumerate(budgets(24)):
            x = np.zeros(ARMS)
            for arm, amount in policy.pour(None if t % 2 else 1.0, **known(policy)):
                expect(0 <= arm < ARMS and amount > 0.0, f"pour gave {amount} to arm {arm}")
                if x.sum() + amount > budget:
                    break
                x[arm] += amount
            expect(policy.round == t + 1, "pour must begin a round")
            check_feasible(policy, x, BUDGET)
            policy.observe(x, problem.play(x, rng), **known(policy))


#: Every check: a function of `make` that raises ConformanceError, or whatever went wrong.
POLICY_CHECKS: tuple[Callable[[MakePolicy], None], ...] = (
    allocations_are_feasible,
    s_shaped_laws_work,
    integer_laws_get_whole_units,
    limits_on_arms_are_kept,
    cascade_works,
    discount_works,
    budget_of_zero_gives_nothing,
    hopeless_arm_is_survived,
    one_arm_is_enough,
    pouring_is_feasible,
    *STATE_CHECKS,
    *VERB_CHECKS,
)


def check_policy(make: MakePolicy) -> None:
    """Put a policy through every check; the first that fails raises, and says which and why."""
    for check in POLICY_CHECKS:
        try:
            check(make)
        except Exception as cause:
            cause.add_note(f"in headgate.testing: {check.__name__}")
            raise
