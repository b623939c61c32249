"""What every policy must do, one function for each promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from headgate.errors import HeadgateError, UnsupportedError
from headgate.feedback import Feedback
from headgate.laws import DiscreteWeibull, Exponential, Law, LogNormal, Weibull, as_law
from headgate.policies import ModelPolicy, Policy
from headgate.problem import Problem
from headgate.testing.harness import (
    ARMS,
    BUDGET,
    ROUNDS,
    MakePolicy,
    budgets,
    check_feasible,
    expect,
    only,
    problem_for,
    restored,
    run,
    run_all,
)
from headgate.testing.verbs import VERB_CHECKS

#: What no round may ask for.
ASKS: dict[str, tuple[Any, ...]] = {
    "value": (-1.0, np.nan, np.inf, [1.0, 2.0], "dear", [-1.0, 1.0, 1.0, 1.0]),
    "eligible": ("all", [True], [0.5] * ARMS, [[True] * ARMS] * 2),
    "lower": (-1.0, np.nan, [BUDGET] * ARMS, [1.0], "low"),
    "upper": (-1.0, np.nan, [1.0], "high"),
}


def _new(make: MakePolicy, law: Law | None = None, **common: Any) -> Policy:
    return make(law or Exponential(), arms=ARMS, max_budget=BUDGET, **common)


def _forgetting(make: MakePolicy) -> dict[str, float]:
    """A discount, for policies that forget."""
    try:
        _new(make, discount=0.99)
    except UnsupportedError:
        return {}
    return {"discount": 0.99}


def allocations_are_feasible(make: MakePolicy) -> None:
    """Amounts are finite, >= 0 and within a budget that changes every round."""
    run_all(_new(make), problem_for(), budgets())


def s_shaped_laws_work(make: MakePolicy) -> None:
    """So they are where curves are not concave."""
    for law in (Weibull(1.6), LogNormal(0.8), Weibull((0.8, 1.0, 1.5, 2.0))):
        run_all(_new(make, law), problem_for(law), budgets(24))


def integer_laws_get_whole_units(make: MakePolicy) -> None:
    """Thresholds that are whole numbers mean whole units, within a budget that need not be whole."""
    mixed = as_law([DiscreteWeibull(0.8), Exponential(), DiscreteWeibull(1.2), Weibull(1.5)])
    for law in (DiscreteWeibull(0.8), DiscreteWeibull(1.5), mixed):
        run_all(_new(make, law), problem_for(law), budgets(24))


def limits_on_arms_are_kept(make: MakePolicy) -> None:
    """Every arm gets at least `lower` and at most `upper`."""
    lower, upper = np.array([0.5, 0.0, 0.25, 0.0]), np.array([3.0, 5.0, 0.25, 12.0])
    limits: dict[str, Any] = {"lower": lower, "upper": upper}
    run_all(_new(make, **limits), problem_for(), budgets(), **limits)
    whole: dict[str, Any] = {"lower": np.array([1.0, 0.0, 1.0, 0.0]), "upper": np.array([3.0, 5.0, 1.0, 12.0])}
    law = DiscreteWeibull(0.8)
    run_all(_new(make, law, **whole), problem_for(law), budgets(24), **whole)


def cascade_works(make: MakePolicy) -> None:
    """The reward may be 1 for at least one success."""
    for law in (Exponential(), Weibull(1.6)):
        try:
            policy = _new(make, law, reward="cascade")
        except UnsupportedError:  # it says that it adds up arms
            return
        run_all(policy, problem_for(law), budgets(24))


def discount_works(make: MakePolicy) -> None:
    """Evidence may fade, and then weighs less than all that was seen; or a policy says that it cannot forget."""
    try:
        policy = _new(make, discount=0.9)
    except UnsupportedError:
        return
    run_all(policy, problem_for(), budgets())
    expect(policy.evidence.trials.max() <= 10.0 + 1e-9, "with discount 0.9 evidence must weigh 10 rounds at most")


def seed_determines_everything(make: MakePolicy) -> None:
    """Two policies made alike, seeing the same, do the same."""
    first, second = (run_all(_new(make, seed=7), problem_for(), budgets()) for _ in range(2))
    expect(np.array_equal(first, second), "two policies with one seed and one history must allocate alike")


def restores_exactly(make: MakePolicy) -> None:
    """JSON in the middle of a run, with an answer outstanding, continues it to the last bit."""
    for law in (Exponential(), DiscreteWeibull(0.8)):
        problem = problem_for(law)
        for stop in (0, 5, 25):
            policy = _new(make, law, seed=3, **_forgetting(make))
            run_all(policy, problem, budgets(stop))
            x = policy.allocate(BUDGET)
            answer = problem.play(x, np.random.default_rng(9))
            twin = restored(policy)
            expect(twin.to_json() == policy.to_json(), "a restored policy must write the JSON it was read from")
            for one in (policy, twin):
                one.observe(x, answer)
            futures = [run_all(one, problem, budgets(8), seed=1) for one in (policy, twin)]
            expect(
                np.array_equal(futures[0], futures[1]),
                f"restored after {stop} rounds, the policy allocates differently",
            )


def batch_equals_single_runs(make: MakePolicy) -> None:
    """Row r of a batch is the single run with seed r, to the last bit."""
    seeds, problem, rng = np.array([5, 0, 11]), problem_for(), np.random.default_rng(0)
    together = _new(make, seed=seeds)
    alone = [_new(make, seed=int(seed)) for seed in seeds]
    for budget in budgets():
        x = together.allocate(budget)
        check_feasible(together, x, budget)
        feedback = problem.play(x, rng)
        together.observe(x, feedback)
        for row, single in enumerate(alone):
            mine = single.allocate(budget)
            expect(np.array_equal(mine, x[row]), f"row {row} of the batch gives {x[row]}, the single run {mine}")
            single.observe(mine, Feedback(feedback.success[row], feedback.threshold[row]))
    expect(together.allocate(budgets(3)).shape == (3, ARMS), "a batch must take one budget per row")


def late_feedback_is_accepted(make: MakePolicy) -> None:
    """Answers may come many rounds later, in any order, or never."""
    policy, problem, rng = _new(make), problem_for(), np.random.default_rng(0)
    waiting: list[tuple[Any, Feedback]] = []
    for t, budget in enumerate(budgets()):
        x = policy.allocate(budget)
        check_feasible(policy, x, budget)
        waiting.append((x, problem.play(x, rng)))
        if t % 7 == 6:
            for late in rng.permutation(len(waiting))[1:]:  # one is lost
                policy.observe(*waiting[late])
            waiting = []
    expect(np.any(policy.evidence.trials > 0.0), "late feedback must be learned from")
    policy.estimate()


def partial_feedback_adds_up(make: MakePolicy) -> None:
    """A round reported arm by arm, in any order, teaches what it teaches reported at once."""
    whole, parts = _new(make, seed=1), _new(make, seed=1)
    rng = np.random.default_rng(2)
    for x, feedback in run(whole, problem_for(), budgets(), rng):
        parts.allocate(budgets()[whole.round - 1])
        for arm in rng.permutation(ARMS):
            parts.observe(x, only(feedback, np.arange(ARMS) == arm))
        expect(parts.to_json() == whole.to_json(), "a round reported in parts must leave the same state")


def nothing_reported_changes_nothing(make: MakePolicy) -> None:
    """Feedback in which no arm has reported yet is allowed, and empty."""
    policy = _new(make)
    run_all(policy, problem_for(), budgets(9))
    x = policy.allocate(BUDGET)
    before = policy.to_json()
    policy.observe(x, Feedback(np.zeros(ARMS, dtype=bool), np.full(ARMS, np.nan), reported=False))
    expect(policy.to_json() == before, "feedback without a report must change nothing")


def budget_of_zero_gives_nothing(make: MakePolicy) -> None:
    """With no budget there is no allocation, and life goes on."""
    policy, amounts = _new(make), budgets()
    amounts[::3] = 0.0
    given = run_all(policy, problem_for(), amounts)
    expect(all(not x.any() for x in given[::3]), "a budget of 0 must give nothing")


def hopeless_arm_is_survived(make: MakePolicy) -> None:
    """An arm, or every arm, may never succeed."""
    for activation in ([0.8, 0.0, 0.5, 0.3], [0.0, 0.0, 0.0, 0.0]):
        problem = Problem(Exponential(), activation, 0.5)
        policy = _new(make)
        run_all(policy, problem, budgets(2 * ROUNDS))
        found = policy.estimate()
        expect(np.isfinite(found.rate).all(), f"estimates must stay finite, got rates {found.rate}")


def one_arm_is_enough(make: MakePolicy) -> None:
    """There may be a single arm."""
    policy = make(Exponential(), arms=1, max_budget=BUDGET)
    run_all(policy, problem_for(arms=1), budgets())


def bad_input_is_refused(make: MakePolicy) -> None:
    """Input that makes no sense raises a `headgate.errors` exception and leaves the state as it was."""
    policy = _new(make)
    run_all(policy, problem_for(), budgets(20))
    x = policy.allocate(BUDGET)
    good = Feedback([False] * ARMS, [np.nan] * ARMS)
    high = np.full(ARMS, np.nan)
    high[0] = BUDGET + 1.0
    wrong: dict[str, Callable[[], object]] = {
        f"allocate({bad!r})": lambda bad=bad: policy.allocate(bad)  # type: ignore[misc]  # bound as a default
        for bad in (np.nan, -1.0, np.inf, -np.inf, 1.0001 * BUDGET, [1.0, 2.0], "much", None)
    }
    for bad in (x[:-1], np.append(x, 0.0), np.full(ARMS, np.nan), -1.0 - x, np.full(ARMS, 2.0 * BUDGET), "x", [x, x]):
        wrong[f"observe({bad!r}, ...)"] = lambda bad=bad: policy.observe(bad, good)  # type: ignore[misc]  # as above
    wrong["a success of an arm that got nothing"] = lambda: policy.observe(
        np.zeros(ARMS), Feedback([True] + [False] * (ARMS - 1), [1.0] + [np.nan] * (ARMS - 1))
    )
    for name, bads in ASKS.items():
        for bad in bads:
            wrong[f"allocate(..., {name}={bad!r})"] = lambda name=name, bad=bad: policy.allocate(  # type: ignore[misc]
                BUDGET, **{name: bad}
            )
    wrong["a success with a threshold above its allocation"] = lambda: policy.observe(
        x, Feedback([True] + [False] * (ARMS - 1), high)
    )
    before = policy.to_json()
    for what, call in wrong.items():
        try:
            call()
        except HeadgateError:
            pass
        else:
            expect(False, f"{what} must be refused")
        expect(policy.to_json() == before, f"{what} was refused but changed the state")


def state_does_not_grow(make: MakePolicy) -> None:
    """What a policy keeps has one size, however many rounds it has played."""
    policy = _new(make)

    def sizes() -> dict[str, Any]:
        return {f.name: np.shape(getattr(policy.state, f.name)) for f in fields(policy.state)}

    before = sizes()
    run_all(policy, problem_for(), budgets(2 * ROUNDS))
    expect(sizes() == before, f"the state has grown from {before} to {sizes()}")


def arrays_are_the_callers(make: MakePolicy) -> None:
    """What a policy returned or was given may be overwritten; it changes no input either."""
    careful, careless = _new(make, seed=2), _new(make, seed=2)
    for x, feedback in run(careful, problem_for(), budgets(), np.random.default_rng(4)):
        mine = careless.allocate(budgets()[careful.round - 1])
        expect(np.array_equal(mine, x), "a policy must not depend on arrays that it gave away")
        careless.observe(mine, feedback)
        expect(np.array_equal(mine, x), "observe must not change the allocation it is given")
        mine[:] = -1.0


def pouring_is_feasible(make: MakePolicy) -> None:
    """A model's budget can be poured: amounts > 0 of real arms, at most max_budget in all, then observed."""
    for law in (Exponential(), Weibull(1.6), DiscreteWeibull(0.8)):
        policy, problem, rng = _new(make, law), problem_for(law), np.random.default_rng(0)
        if not isinstance(policy, ModelPolicy):
            return
        for t, budget in enumerate(budgets(24)):
            x = np.zeros(ARMS)
            for arm, amount in policy.pour(None if t % 2 else 1.0):
                expect(0 <= arm < ARMS and amount > 0.0, f"pour gave {amount} to arm {arm}")
                if x.sum() + amount > budget:
                    break
                x[arm] += amount
            expect(policy.round == t + 1, "pour must begin a round")
            check_feasible(policy, x, BUDGET)
            policy.observe(x, problem.play(x, rng))


#: Every check: a function of `make` that raises ConformanceError, or whatever went wrong.
POLICY_CHECKS: tuple[Callable[[MakePolicy], None], ...] = (
    allocations_are_feasible,
    s_shaped_laws_work,
    integer_laws_get_whole_units,
    limits_on_arms_are_kept,
    cascade_works,
    discount_works,
    state_does_not_grow,
    seed_determines_everything,
    restores_exactly,
    batch_equals_single_runs,
    late_feedback_is_accepted,
    partial_feedback_adds_up,
    nothing_reported_changes_nothing,
    budget_of_zero_gives_nothing,
    hopeless_arm_is_survived,
    one_arm_is_enough,
    bad_input_is_refused,
    arrays_are_the_callers,
    pouring_is_feasible,
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
