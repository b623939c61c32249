"""A real quiz (EdNet's fitted laws): the best split at three budgets, and a learner that starts from nothing."""

from __future__ import annotations

import numpy as np

import headgate as hg


def main(students: int = 200) -> float:
    """Print what splits are worth; return what share of the best the learner's last split earns."""
    quiz = hg.datasets.ednet_quiz()
    for budget in (200.0, 400.0, 694.86):
        best = quiz.solve(budget)
        even = float(quiz.expected_reward(np.full(quiz.arms, budget / quiz.arms)))
        tried = np.count_nonzero(best.x)
        print(f"{budget:g} s: best {best.value:.3f}, even {even:.3f}, {tried} questions, gap {best.gap:.1e}")

    budget, rng = 400.0, np.random.default_rng(0)
    policy = hg.Thompson(hg.Weibull(shape="learn"), arms=quiz.arms, max_budget=budget, seed=0)
    for _ in range(students):
        x = policy.allocate(budget)
        policy.observe(x, quiz.play(x, rng))
    share = float(quiz.expected_reward(policy.allocate(budget)) / quiz.solve(budget).value)
    print(f"after {students} students the learner earns {share:.1%} of the best split")
    return share


if __name__ == "__main__":
    main()
