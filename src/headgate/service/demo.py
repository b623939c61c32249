"""A simulated classroom: students take the EdNet quiz through the service, so that a newcomer sees it learn at once.

They are as unreliable as real ones: some answers come late, in parts, twice, otherwise than before, or never. Beside
them 15 campaigns share the impressions of users whose number differs from one to the next.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headgate.datasets import campaigns, ednet_quiz
from headgate.problem import Problem
from headgate.service.bodies import DecisionRequest, Outcome
from headgate.service.engine import changes
from headgate.service.engine.requests import Decide, Report
from headgate.service.faults import ConflictError, ServiceError, UnavailableError
from headgate.service.service import Service
from headgate.service.spec import AllocatorSpec

_DEADLINE = 20.0
_OFTEN = ((60, 0.1), (600, 0.05), (6_000, 0.25), (float("inf"), 1.0))  # seconds between students, up to so many of them
_log = logging.getLogger("headgate.service")


@dataclass(frozen=True, slots=True)
class World:
    """A problem that is played, and the budgets that come."""

    name: str
    problem: Problem
    max_budget: float
    budget: Callable[[np.random.Generator], float]

    def spec(self) -> AllocatorSpec:
        """Return the allocator that is to learn it."""
        return AllocatorSpec.model_validate(
            {
                "arms": list(self.problem.names),
                "law": self.problem.law.to_dict(),
                "max_budget": self.max_budget,
                "feedback_deadline": _DEADLINE,
                "units": self.problem.units,
                "baseline": "even",
                "holdout": 0.1,
            }
        )


def worlds() -> list[World]:
    """Return what the demo plays.

    Five minutes are too few for 20 questions: those who choose well solve half as many again as those who do not.
    """
    return [
        World("classroom", ednet_quiz(), 360.0, lambda rng: float(rng.choice([240.0, 300.0, 360.0]))),
        World("campaigns", campaigns(), 40.0, lambda rng: float(min(rng.geometric(1.0 / 12.0), 40))),
    ]


async def classroom(service: Service) -> None:
    """Play every world until cancelled."""
    async with asyncio.TaskGroup() as group:
        for seed, world in enumerate(worlds()):
            group.create_task(play(service, world, np.random.default_rng(seed)))


async def play(service: Service, world: World, rng: np.random.Generator, rounds: float = float("inf")) -> None:
    """Let students come, first many, then a few a second; every one is a task of its own."""
    if not await _created(service, world):
        return
    async with asyncio.TaskGroup() as students:
        number = 0
        while number < rounds:
            students.create_task(student(service, world, rng))
            number += 1
            await asyncio.sleep(next(seconds for most, seconds in _OFTEN if number <= most))


async def _created(service: Service, world: World) -> bool:
    while True:
        try:
            await service.change(changes.create, "the demo", world.name, world.spec())
        except ConflictError as error:
            _log.warning("the demo leaves %s alone: %s", world.name, error)
            return False
        except UnavailableError:
            await asyncio.sleep(1.0)
        else:
            return True


async def student(service: Service, world: World, rng: np.random.Generator, hurry: float = 1.0) -> None:
    """Get an allocation, try it, and report what came of it, more or less."""
    try:
        request = DecisionRequest(budget=world.budget(rng))
        decision = json.loads(await service.queue.ask(Decide(world.name, request)))
        results = _results(world.problem, decision["allocation"], rng)
        fate, delay = rng.random(), rng.exponential(0.8)
        if fate < 0.02:
            return  # went home
        if fate < 0.04:
            delay = _DEADLINE + rng.exponential(10.0)  # handed it in the next day
        await asyncio.sleep(hurry * delay)
        await _report(service, decision["decision_id"], results, fate, hurry)
    except ServiceError as error:
        _log.info("a student of the demo gave up: %s", error)
    except Exception:  # noqa: BLE001  # the others go on
        _log.exception("a student of the demo failed")


async def _report(service: Service, key: str, results: dict[str, dict[str, object]], fate: float, hurry: float) -> None:
    def part(of: dict[str, dict[str, object]]) -> Report:
        return Report(key, Outcome.model_validate({"results": of}))

    if 0.04 <= fate < 0.14 and len(results) > 1:  # in two parts
        arms = list(results)
        first = {arm: results[arm] for arm in arms[: len(arms) // 2]}
        await service.queue.ask(part(first))
        await asyncio.sleep(hurry)
    await service.queue.ask(part(results))
    if 0.14 <= fate < 0.18:  # a client that tries again, having missed the answer
        await service.queue.ask(part(results))
    if 0.18 <= fate < 0.185:  # and one that changed its mind, which the first word outlasts
        failed: dict[str, dict[str, object]] = {arm: {"success": False} for arm in results}
        await service.queue.ask(part(failed))


def _results(problem: Problem, allocation: dict[str, float], rng: np.random.Generator) -> dict[str, dict[str, object]]:
    """Return what comes of an allocation, of the arms that got something."""
    x = np.array([allocation.get(name, 0.0) for name in problem.names])  # a visitor may retire an arm
    feedback = problem.play(x, rng)
    return {
        name: {"success": True, "threshold": float(feedback.threshold[i])}
        if feedback.success[i]
        else {"success": False}
        for i, name in enumerate(problem.names)
        if x[i] > 0.0
    }
