"""What the checks are made of: small problems, runs of a policy, and complaints."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from headgate.errors import HeadgateError
from headgate.feedback import Feedback
from headgate.laws import Exponential, Floats, Law
from headgate.policies import Contextual, Policy
from headgate.problem import Problem

ARMS = 4
BUDGET = 12.0
ROUNDS = 24

MakePolicy: TypeAlias = Callable[..., Policy]
"""Makes a fresh policy: the class itself, or a `functools.partial` of it with its own options.

It is called with a law, `arms`, `max_budget` and the options that all policies take.
"""


class ConformanceError(HeadgateError, AssertionError):
    """A policy or a law does not keep a promise that every one of them makes."""


def expect(condition: object, complaint: str, *values: object) -> None:
    """Raise unless the condition holds; `values` are put into the complaint only then, as arrays take long to print."""
    if not condition:
        raise ConformanceError(complaint.format(*values) if values else complaint)


def expect_row(row: int, x: Floats, mine: Floats) -> None:
    """Raise unless that row of a batch's allocation is what the single run gives, to the bit."""
    expect(np.array_equal(mine, x[row]), "row {} of the batch gives {}, the single run {}", row, x[row], mine)


def new_policy(make: MakePolicy, law: Law | None = None, **options: Any) -> Policy:
    """A fresh policy of the suite's size."""
    return make(law or Exponential(), arms=ARMS, max_budget=BUDGET, **options)


def problem_for(law: Law | None = None, arms: int = ARMS) -> Problem:
    """A problem in which half of the budget goes a long way, with one arm that is hardly ever active."""
    activation = np.array([0.9, 0.6, 0.4, 0.05])[:arms]
    return Problem(law or Exponential(), activation, np.array([0.5, 0.3, 1.0, 0.4])[:arms])


def budgets(count: int = ROUNDS, most: float = BUDGET) -> Floats:
    """A budget for each round, never twice the same in a row."""
    return most * (0.3 + 0.7 * np.modf(0.618 * np.arange(1.0, count + 1.0))[0])


def known(policy: Policy, arms: int | None = None) -> dict[str, Any]:
    """What rounds of a policy are given beside a budget: features, for one that takes them, the same in every round."""
    width = policy.width if isinstance(policy, Contextual) else 0
    if not width:
        return {}
    count = policy.arms if arms is None else arms
    return {"features": np.modf(0.754 * np.arange(1.0, count * width + 1.0).reshape(count, width))[0] - 0.5}


def check_feasible(
    policy: Policy, x: Floats, budget: ArrayLike, lower: ArrayLike = 0.0, upper: ArrayLike = np.inf
) -> None:
    """Amounts are finite, within the limits, whole where they must be, and add up to the budget at most."""
    shape = (*policy.batch, policy.arms)
    expect(np.shape(x) == shape, "an allocation must be of shape {}, got {!r}", shape, x)
    expect(np.isfinite(x).all() and (x >= 0.0).all(), "an allocation must be finite and >= 0, got {}", x)
    expect(np.all(x.sum(axis=-1) <= np.asarray(budget) * (1.0 + 1e-9) + 1e-12), "{} spends more than {!r}", x, budget)
    expect(np.all(x >= np.asarray(lower) - 1e-9), "{} is below the lower limits {!r}", x, lower)
    expect(np.all(x <= np.asarray(upper) + 1e-9), "{} is above the upper limits {!r}", x, upper)
    parts = x[..., policy.whole]
    expect(np.array_equal(parts, np.floor(parts)), "arms that count in whole units must get whole units, got {}", x)


def run(
    policy: Policy, problem: Problem, amounts: Iterable[float], rng: np.random.Generator, **limits: ArrayLike
) -> Iterator[tuple[Floats, Feedback]]:
    """Allocate, check, play and observe, round by round."""
    for budget in amounts:
        x = policy.allocate(budget, **known(policy))
        check_feasible(policy, x, budget, **limits)
        feedback = problem.play(x, rng)
        policy.observe(x, feedback, **known(policy))
        yield x, feedback


def run_all(
    policy: Policy, problem: Problem, amounts: Iterable[float], seed: int = 0, **limits: ArrayLike
) -> list[Floats]:
    """Run to the end; return the allocations."""
    return [x for x, _ in run(policy, problem, amounts, np.random.default_rng(seed), **limits)]


def restored(policy: Policy) -> Policy:
    """Write the policy as JSON and read it back, as a new process would."""
    text = policy.to_json()
    expect(isinstance(text, str), f"to_json must return text, got {type(text).__name__}")

    def refuse(word: str) -> None:
        raise ConformanceError(f"to_json must write plain JSON, which has no {word}")

    return type(policy).from_data(json.loads(text, parse_constant=refuse))


def only(feedback: Feedback, arms: Any) -> Feedback:
    """The same feedback with some arms not reported yet."""
    shown = feedback.reported & arms
    won = feedback.success & shown
    return Feedback(won, np.where(won, feedback.threshold, np.nan), shown)
