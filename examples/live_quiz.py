"""The quiz played live: what a right answer leaves over goes to the other questions."""

from __future__ import annotations

import numpy as np

import headgate as hg


def play(live: hg.LiveRound, needs: np.ndarray) -> float:
    """Play a round against what each question needs, infinite where the answer is not known; return what it earned."""
    while (step := live.next()) is not None:
        missing = float(needs[step.arm] - live.x[step.arm])
        won = missing <= step.amount
        live.report(success=won, spent=missing if won else step.amount)
    return live.earned


def main(students: int = 150) -> float:
    """Print what live rounds earn beside the best planned split and the bound; return the gain over that split."""
    quiz, budget, rng = hg.datasets.ednet_quiz(), 400.0, np.random.default_rng(0)
    size = (students, quiz.arms)
    needs = np.where(rng.random(size) < quiz.activation, quiz.law.sample(quiz.rate, rng, size), np.inf)
    best = quiz.solve(budget)
    planned = float(np.mean(np.sum(needs <= best.x, axis=-1)))
    live = float(np.mean([play(quiz.live(budget), row) for row in needs]))
    print(f"right answers of {students} simulated students: planned {planned:.2f}, live {live:.2f}")
    print(f"to be expected: planned {best.value:.2f}, live at most {quiz.live_bound(budget).bound:.2f}")
    return live / planned - 1.0


if __name__ == "__main__":
    main()
