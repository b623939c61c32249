"""Decisions and outcomes over HTTP. Start `headgate serve` first, then: python production.py http://127.0.0.1:8000."""

from __future__ import annotations

import sys

import numpy as np

import headgate as hg


def main(address: str, students: int = 20) -> int:
    """Let simulated students answer six questions; return how many decisions the service knows of."""
    quiz = hg.datasets.ednet_quiz()
    names, rng = list((quiz.names or ())[:6]), np.random.default_rng(0)
    with hg.Client(address) as client:
        client.put_allocator("example", names, hg.Weibull(shape="learn"), max_budget=200.0)
        for student in range(students):
            decision = client.decide("example", budget=150.0, decision_id=f"example-{student}")  # safe to ask again
            times: dict[str, float | None] = {}
            for arm, name in enumerate(names):
                needs = float(quiz.law.of_arm(arm).sample(quiz.rate[arm], rng))
                right = rng.random() < quiz.activation[arm] and needs <= decision.allocation[name]
                times[name] = needs if right else None
            client.report(decision, times)
        decided = sum(1 for _ in client.history("example"))
        print(f"{decided} decisions; estimates: {client.estimates('example')}")
    return decided


if __name__ == "__main__":
    main(*sys.argv[1:2])
