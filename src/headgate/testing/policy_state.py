"""What every policy must keep: one future for one past, whole or in parts, early or late, restored or in a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from headgate.errors import HeadgateError, UnsupportedError
from headgate.feedback import Feedback
from headgate.laws import DiscreteWeibull, Exponential
from headgate.testing.harness import (
    ARMS,
    BUDGET,
    ROUNDS,
    MakePolicy,
    budgets,
    check_feasible,
    expect,
    expect_row,
    known,
    new_policy,
    only,
    problem_for,
    restored,
    run,
    run_all,
)

#: What no round may ask for.
ASKS: dict[str, tuple[Any, ...]] = {
    "value": (-1.0, np.nan, np.inf, [1.0, 2.0], "dear", [-1.0, 1.0, 1.0, 1.0]),
    "eligible": ("all", [True], [0.5] * ARMS, [[True] * ARMS] * 2),
    "lower": (-1.0, np.nan, [BUDGET] * ARMS, [1.0], "low"),
    "upper": (-1.0, np.nan, [1.0], "high"),
}


def _forgetting(make: MakePolicy) -> dict[str, float]:
    """A discount, for policies that forget."""
    try:
        new_policy(make, discount=0.99)
    except UnsupportedError:
        return {}
    return {"discount": 0.99}


def seed_determines_everything(make: MakePolicy) -> None:
    """Two policies made alike, seeing the same, do the same."""
    first, second = (run_all(new_policy(make, seed=7), problem_for(), budgets()) for _ in range(2))
    expect(np.array_equal(first, second), "two policies with one seed and one history must allocate alike")


def restores_exactly(make: MakePolicy) -> None:
    """JSON in the middle of a run, with an answer outstanding, continues it to the last bit."""
    for law in (Exponential(), DiscreteWeibull(0.8)):
        problem = problem_for(law)
        for stop in (0, 5, 25):
            policy = new_policy(make, law, seed=3, **_forgetting(make))
            run_all(policy, problem, budgets(stop))
            x = policy.allocate(BUDGET, **known(policy))
            answer = problem.play(x, np.random.default_rng(9))
            twin = restored(policy)
            expect(twin.to_json() == policy.to_json(), "a restored policy must write the JSON it was read from")
            for one in (policy, twin):
                one.observe(x, answer, **known(one))
            futures = [run_all(one, problem, budgets(8), seed=1) for one in (policy, twin)]
            expect(
                np.array_equal(futures[0], futures[1]),
                f"restored after {stop} rounds, the policy allocates differently",
            )


def batch_equals_single_runs(make: MakePolicy) -> None:
    """Row r of a batch is the single run with seed r, to the last bit."""
    seeds, problem, rng = np.array([5, 0, 11]), problem_for(), np.random.default_rng(0)
    together = new_policy(make, seed=seeds)
    alone = [new_policy(make, seed=int(seed)) for seed in seeds]
    for budget in budgets():
        x = together.allocate(budget, **known(together))
        check_feasible(together, x, budget)
        feedback = problem.play(x, rng)
        together.observe(x, feedback, **known(together))
        for row, single in enumerate(alone):
            mine = single.allocate(budget, **known(single))
            expect_row(row, x, mine)
            single.observe(mine, Feedback(feedback.success[row], feedback.threshold[row]), **known(single))
    expect(together.allocate(budgets(3), **known(together)).shape == (3, ARMS), "a batch must take one budget per row")


def late_feedback_is_accepted(make: MakePolicy) -> None:
    """Answers may come many rounds later, in any order, or never."""
    policy, problem, rng = new_policy(make), problem_for(), np.random.default_rng(0)
    waiting: list[tuple[Any, Feedback]] = []
    for t, budget in enumerate(budgets()):
        x = policy.allocate(budget, **known(policy))
        check_feasible(policy, x, budget)
        waiting.append((x, problem.play(x, rng)))
        if t % 7 == 6:
            for late in rng.permutation(len(waiting))[1:]:  # one is lost
                policy.observe(*waiting[late], **known(policy))
            waiting = []
    expect(np.any(policy.evidence.trials > 0.0), "late feedback must be learned from")
    policy.estimate()


def partial_feedback_adds_up(make: MakePolicy) -> None:
    """A round reported arm by arm, in any order, teaches what it teaches reported at once."""
    whole, parts = new_policy(make, seed=1), new_policy(make, seed=1)
    rng = np.random.default_rng(2)
    for x, feedback in run(whole, problem_for(), budgets(), rng):
        parts.allocate(budgets()[whole.round - 1], **known(parts))
        for arm in rng.permutation(ARMS):
            parts.observe(x, only(feedback, np.arange(ARMS) == arm), **known(parts))
        if whole.exact:
            expect(parts.to_json() == whole.to_json(), "a round reported in parts must leave the same state")
        else:
            same = parts.evidence.to_dict() == whole.evidence.to_dict()
            expect(same, "a round reported in parts must leave the same evidence")
    if not whole.exact:
        at_once, in_parts = (policy.estimate().success(0.5 * BUDGET).chance for policy in (whole, parts))
        expect(
            np.allclose(at_once, in_parts, rtol=0.0, atol=0.15),
            f"a round reported in parts must teach what it teaches at once, got chances {at_once} and {in_parts}",
        )


def nothing_reported_changes_nothing(make: MakePolicy) -> None:
    """Feedback in which no arm has reported yet is allowed, and empty."""
    policy = new_policy(make)
    run_all(policy, problem_for(), budgets(9))
    x = policy.allocate(BUDGET, **known(policy))
    before = policy.to_json()
    policy.observe(x, Feedback(np.zeros(ARMS, dtype=bool), np.full(ARMS, np.nan), reported=False), **known(policy))
    expect(policy.to_json() == before, "feedback without a report must change nothing")


def bad_input_is_refused(make: MakePolicy) -> None:
    """Input that makes no sense raises a `headgate.errors` exception and leaves the state as it was."""
    policy = new_policy(make)
    run_all(policy, problem_for(), budgets(20))
    x = policy.allocate(BUDGET, **known(policy))
    good = Feedback([False] * ARMS, [np.nan] * ARMS)
    high = np.full(ARMS, np.nan)
    high[0] = BUDGET + 1.0
    wrong: dict[str, Callable[[], object]] = {
        f"allocate({bad!r})": lambda bad=bad: policy.allocate(bad, **known(policy))  # type: ignore[misc]  # bound as a default
        for bad in (np.nan, -1.0, np.inf, -np.inf, 1.0001 * BUDGET, [1.0, 2.0], "much", None)
    }
    for bad in (x[:-1], np.append(x, 0.0), np.full(ARMS, np.nan), -1.0 - x, np.full(ARMS, 2.0 * BUDGET), "x", [x, x]):
        wrong[f"observe({bad!r}, ...)"] = lambda bad=bad: policy.observe(bad, good, **known(policy))  # type: ignore[misc]  # bound as a default
    wrong["a success of an arm that got nothing"] = lambda: policy.observe(
        np.zeros(ARMS), Feedback([True] + [False] * (ARMS - 1), [1.0] + [np.nan] * (ARMS - 1)), **known(policy)
    )
    for name, bads in ASKS.items():
        for bad in bads:
            wrong[f"allocate(..., {name}={bad!r})"] = lambda name=name, bad=bad: policy.allocate(  # type: ignore[misc]
                BUDGET, **{name: bad}, **known(policy)
            )
    wrong["a success with a threshold above its allocation"] = lambda: policy.observe(
        x, Feedback([True] + [False] * (ARMS - 1), high), **known(policy)
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
    policy = new_policy(make)

    def sizes() -> dict[str, Any]:
        return {f.name: np.shape(getattr(policy.state, f.name)) for f in fields(policy.state)}

    before = sizes()
    run_all(policy, problem_for(), budgets(2 * ROUNDS))
    expect(sizes() == before, f"the state has grown from {before} to {sizes()}")


def arrays_are_the_callers(make: MakePolicy) -> None:
    """What a policy returned or was given may be overwritten; it changes no input either."""
    careful, careless = new_policy(make, seed=2), new_policy(make, seed=2)
    for x, feedback in run(careful, problem_for(), budgets(), np.random.default_rng(4)):
        mine = careless.allocate(budgets()[careful.round - 1], **known(careless))
        expect(np.array_equal(mine, x), "a policy must not depend on arrays that it gave away")
        careless.observe(mine, feedback, **known(careless))
        expect(np.array_equal(mine, x), "observe must not change the allocation it is given")
        mine[:] = -1.0


#: Every check of what a policy keeps.
STATE_CHECKS: tuple[Callable[[MakePolicy], None], ...] = (
    state_does_not_grow,
    seed_determines_everything,
    restores_exactly,
    batch_equals_single_runs,
    late_feedback_is_accepted,
    partial_feedback_adds_up,
    nothing_reported_changes_nothing,
    bad_input_is_refused,
    arrays_are_the_callers,
)
