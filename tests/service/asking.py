"""Asking the engine without HTTP: what most tests of the state need."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import headgate as hg
from headgate.service.bodies import DecisionRequest, Outcome
from headgate.service.engine import changes
from headgate.service.engine.queue import Ledger
from headgate.service.engine.requests import Change, Decide, Report
from headgate.service.spec import AllocatorSpec
from tests.service.harness import QUIZ, results


def create(ledger: Ledger, name: str = "quiz", **more: Any) -> None:
    spec = AllocatorSpec.model_validate(QUIZ | more)
    (answer,) = ledger.answer([Change(lambda c: changes.create(c, "a test", name, spec))])
    assert answer is True, answer


def ask(key: str, budget: float | None = 20.0, name: str = "quiz", **more: Any) -> Decide:
    return Decide(name, DecisionRequest(budget=budget, decision_id=key, **more))


def decide(ledger: Ledger, key: str, budget: float | None = 20.0, name: str = "quiz", **more: Any) -> dict[str, Any]:
    (answer,) = ledger.answer([ask(key, budget, name, **more)])
    found: dict[str, Any] = json.loads(answer)
    return found


def tell(key: str, said: dict[str, Any], spent: float | None = None) -> Report:
    return Report(key, Outcome.model_validate({"results": said, "spent": spent}))


def play(ledger: Ledger, rounds: int, seed: int = 0, name: str = "quiz") -> None:
    """Some rounds, each arm winning half of the time."""
    rng = np.random.default_rng(seed)
    for i in range(rounds):
        made = decide(ledger, f"{name}-{seed}-{i}", name=name)["allocation"]
        wins = {arm for arm in made if rng.random() < 0.5}
        ledger.answer([tell(f"{name}-{seed}-{i}", results(made, wins))])


def evidence_of_log(said: dict[str, tuple[dict[str, float], dict[str, Any]]], arms: list[str]) -> hg.Evidence:
    """The evidence of what was accepted, recorded round by round."""
    evidence = hg.Evidence.empty(len(arms), QUIZ["max_budget"])
    for allocation, heard in said.values():
        x = np.array([allocation.get(arm, 0.0) for arm in arms])
        won = np.array([heard.get(arm, {"success": False})["success"] for arm in arms])
        seen = np.array([heard[arm]["threshold"] if w else np.nan for arm, w in zip(arms, won, strict=True)])
        evidence.record(x, hg.Feedback(won, seen, np.array([arm in heard for arm in arms])))
    return evidence
