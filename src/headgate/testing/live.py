"""What every live round must do, one function for each promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from headgate.errors import HeadgateError
from headgate.evidence import Evidence
from headgate.feedback import Feedback
from headgate.laws import Floats
from headgate.live import LiveRound, Step
from headgate.testing.harness import ConformanceError, expect

MakeLive: TypeAlias = Callable[..., LiveRound]
"""Begins a live round of (budget, **options): `problem.live`, or a policy's."""
_BUDGET = 10.0
_ENDLESS = 100_000  # more steps than any round needs


def _thresholds(arms: int, seed: int, budget: float = _BUDGET) -> Floats:
    """Draw a world: what each arm needs, infinite if it is not active."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(arms) < 0.7, rng.exponential(budget / arms, arms), np.inf)


def play(live: LiveRound, reach: Floats, cut: float = 1.0) -> list[Step]:
    """Play a round to its end against thresholds, serving the share `cut` of every step; return the steps."""
    steps: list[Step] = []
    while (step := live.next()) is not None:
        expect(len(steps) < _ENDLESS, "a live round must end")
        steps.append(step)
        whole = live.whole[step.arm]
        had, need = live.x[step.arm], np.ceil(reach[step.arm]) if whole else reach[step.arm]
        amount = step.amount * cut if cut < 1.0 and step.amount > 1e-3 else step.amount
        amount = max(np.floor(amount), 1.0) if whole else amount
        won = bool(need <= had + amount)
        live.report(success=won, spent=float(need - had) if won else amount)
    return steps


def budget_is_kept(make: MakeLive) -> None:
    """Steps are positive, and all that arms get is within the budget, to the last bit."""
    for seed in range(20):
        live = make(_BUDGET)
        steps = play(live, _thresholds(live.arms, seed))
        expect(all(step.amount > 0.0 for step in steps), "a step must serve something")
        expect(bool(live.x.sum() <= _BUDGET), "arms must get at most {}, got {!r}", _BUDGET, live.x.sum())


def success_ends_an_arm(make: MakeLive) -> None:
    """No arm is served after its success, whose threshold is what it had in all."""
    for seed in range(20):
        live = make(_BUDGET)
        reach = _thresholds(live.arms, seed)
        served = [step.arm for step in play(live, reach)]
        won = live.feedback.success
        for arm in np.flatnonzero(won):
            expect(np.isclose(live.x[arm], reach[arm]), "arm {} needed {}, and had {}", arm, reach[arm], live.x[arm])
        expect(set(np.flatnonzero(live.x > 0.0)) <= set(served), "what an arm has had must have come by steps")
        expect(not np.any(~won & (reach <= live.x)), "an arm that has reached its threshold must have succeeded")


def limits_are_kept(make: MakeLive) -> None:
    """Lower limits come first, upper ones are never exceeded, arms that are not eligible get nothing."""
    arms = make(_BUDGET).arms
    lower, upper = np.zeros(arms), np.full(arms, 0.75 * _BUDGET)
    lower[-1], upper[0] = 0.25 * _BUDGET, 0.5
    live = make(_BUDGET, lower=lower, upper=upper)
    step = live.next()
    expect(step == Step(arms - 1, lower[-1]), f"the lower limit of arm {arms - 1} must come first, got {step}")
    play(live, np.full(arms, np.inf))
    expect(bool(np.all((live.x >= lower) & (live.x <= upper * (1.0 + 1e-12)))), "limits must be kept, got {}", live.x)
    able = np.arange(arms) != 0
    live = make(_BUDGET, eligible=able)
    play(live, np.full(arms, np.inf))
    expect(live.x[0] == 0.0, f"an arm that is not eligible must get 0, got {live.x[0]}")


def rounds_go_on_elsewhere(make: MakeLive) -> None:
    """Written after every step and every report, and read again, a round takes the same steps to the bit."""
    for seed in range(4):
        live = make(_BUDGET)
        other = LiveRound.from_json(live.to_json())
        reach = _thresholds(live.arms, seed)
        while (step := live.next()) is not None:
            other = LiveRound.from_json(other.to_json())
            expect(other.next() == step, "a restored round must go on with {}, got {}", step, other.next())
            other = LiveRound.from_json(other.to_json())
            need = reach[step.arm] - live.x[step.arm]
            for one in (live, other):
                one.report(success=bool(need <= step.amount), spent=float(min(need, step.amount)))
        expect(other.next() is None and live.to_json() == other.to_json(), "a restored round must end alike")


def reports_may_come_in_pieces(make: MakeLive) -> None:
    """Where less was delivered than a step says, the rest is handed out again; thresholds are what arms had in all."""
    for seed in range(4):
        live = make(_BUDGET)
        reach = _thresholds(live.arms, seed)
        play(live, reach, cut=0.5)
        expect(bool(live.x.sum() <= _BUDGET), "arms must get at most {}, got {!r}", _BUDGET, live.x.sum())
        won = live.feedback.success
        threshold, need = live.feedback.threshold[won], reach[won]
        expect(np.allclose(threshold, need), "thresholds must add up over steps: {}, {}", threshold, need)


def evidence_is_that_of_a_planned_round(make: MakeLive) -> None:
    """Where nothing is left over, a live round leaves the evidence of a planned one with the same amounts."""
    live = make(_BUDGET)
    winner = None
    while (step := live.next()) is not None:
        winner = step.arm if winner is None else winner
        live.report(success=step.arm == winner, spent=step.amount)  # with the last of its step: nothing is left over
    won = np.arange(live.arms) == winner
    planned = Feedback(won, np.where(won, live.x, np.nan))
    one, other = (Evidence.empty(live.arms, _BUDGET) for _ in range(2))
    one.record(live.x, live.feedback)
    other.record(live.x, planned)
    expect(np.array_equal(one.bins, other.bins), "evidence must be that of {} planned, got {}", live.x, live.feedback)


def wrong_reports_change_nothing(make: MakeLive) -> None:
    """Reports that cannot be are refused, and leave the round as it was."""
    live = make(_BUDGET)
    _refused(live, success=False)  # before any step
    step = live.next()
    if step is None:
        raise ConformanceError("a round with a budget must have a step")
    for spent in (-1.0, np.nan, np.inf, 1.01 * step.amount, "all"):
        _refused(live, success=False, spent=spent)
    _refused(live, success="yes", spent=0.5 * step.amount)
    _refused(live, success=True, spent=0.0)
    live.report(success=True, spent=0.5 * step.amount)
    _refused(live, success=True, spent=0.5 * step.amount)  # twice
    live.next()
    live.stop()
    expect(live.next() is None, "a round that was stopped must have no next step")
    _refused(live, success=False)  # after the end


def _refused(live: LiveRound, **report: Any) -> None:
    before = live.to_json()
    try:
        live.report(**report)
    except HeadgateError:
        expect(live.to_json() == before, f"a refused report must change nothing: {report}")
    else:
        raise ConformanceError(f"a report must be refused: {report}")


LIVE_CHECKS: tuple[Callable[[MakeLive], None], ...] = (
    budget_is_kept,
    success_ends_an_arm,
    limits_are_kept,
    rounds_go_on_elsewhere,
    reports_may_come_in_pieces,
    evidence_is_that_of_a_planned_round,
    wrong_reports_change_nothing,
)


def check_live(make: MakeLive) -> None:
    """Run every check on rounds that `make(budget, **options)` begins, options as in `headgate.Problem.live`.

    The budget is 10; `make` is for arms that are worth serving with it.
    """
    for check in LIVE_CHECKS:
        check(make)
