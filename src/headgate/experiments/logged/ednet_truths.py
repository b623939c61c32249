"""EdNet's three ground truths: how well the laws fit, and what the best split for each earns on the real answers.

Regret is measured against the x* of laws that somebody has fitted. The paper trims its times at the 2.5% and 97.5%
quantiles; other ways of fitting have another x*, and the real rows say which of them earns the most.
"""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from headgate.calibration.reading.ednet_pseudo import Answers
from headgate.datasets import ednet_quiz
from headgate.datasets.ednet import Fit
from headgate.experiments.report.judge import mean_of
from headgate.laws import Floats
from headgate.problem import Problem

PAPER: Fit = "trimmed"
EVEN = "even"
WORDS = {
    PAPER: "trimmed times (the paper's)",
    "untrimmed": "all times",
    "correct": "correct answers only",
    EVEN: "an even split",
}


def truths(budget: float, answers: Answers | None) -> list[dict[str, Any]]:
    """Return a row for each fit and one for an even split: shapes, worth of x* by the laws, and, of real answers, more.

    "earned" is right answers a student; "more" its difference to what the paper's x* earns on the same students, with
    the ends of its interval; "distance" the largest over questions between the distribution
    functions of the law and of the times that it was fitted to.
    """
    rows: list[dict[str, Any]] = []
    won: list[Floats] = []
    for fit in get_args(Fit):
        quiz = ednet_quiz(fit)
        shapes, best = np.asarray(quiz.law.shapes()["shape"]), quiz.solve(budget)
        row = {"fit": fit, "least_shape": float(shapes.min()), "largest_shape": float(shapes.max())}
        row |= {"worth": float(best.value)}
        if answers is not None:
            row["distance"] = max(_distance(quiz, arm, fit, answers) for arm in range(quiz.arms))
            won.append(_won(answers, best.x))
        rows.append(row)
    quiz = ednet_quiz(PAPER)
    even = np.full(quiz.arms, budget / quiz.arms)
    rows.append({"fit": EVEN, "worth": float(quiz.expected_reward(even))})
    if answers is not None:
        won.append(_won(answers, even))
        for row, own in zip(rows, won, strict=True):
            row |= {"earned": float(own.mean()), "more": list(mean_of(own - won[0]))}
    return rows


def _won(answers: Answers, x: Floats) -> Floats:
    """Right answers of each student who gets x."""
    return np.asarray(((answers.seconds <= x) & answers.right).sum(axis=1), dtype=np.float64)


def _distance(quiz: Problem, arm: int, fit: Fit, answers: Answers) -> float:
    """Kolmogorov and Smirnov: the law against the times that this fit is about, truncated where they are."""
    times = answers.seconds[:, arm]
    law, rate = quiz.law.of_arm(arm), float(quiz.rate[arm])
    low, high = 0.0, np.inf
    if fit == "trimmed":
        low, high = np.quantile(times, (0.025, 0.975))
    kept = np.sort(times[answers.right[:, arm]] if fit == "correct" else times[(times >= low) & (times <= high)])
    if not kept.size:
        return 1.0
    ends = law.cdf(np.array([low, min(high, 1e12)]), rate)
    F = (law.cdf(kept, rate) - ends[0]) / (ends[1] - ends[0])
    steps = np.arange(kept.size + 1) / kept.size
    return float(max(np.max(F - steps[:-1]), np.max(steps[1:] - F)))
