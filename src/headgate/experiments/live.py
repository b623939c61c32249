"""The demo's live rounds: a quiz planned and played live, by one who knows it and by one who learns, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

import headgate as hg
from headgate.figures import draw_live
from headgate.laws import Floats

PLANNED, LEARNED, LIVE, LIVE_LEARNED = "best plan", "learned", "live", "live, learned"
_STUDENT = 7  # the number of the student whose round is drawn


class LiveQuiz(NamedTuple):
    """What each way of playing earned."""

    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    """One for each budget: right answers a round for each way, what live rounds gain on the plan, and the bound."""
    picture: Path
    rounds: int
    runs: int

    @property
    def words(self) -> str:
        """What the numbers are."""
        return (
            f"Right answers a student, {self.rounds:,} students, mean of {self.runs} runs; gains are over what the "
            "best plan is worth, with the half-width of their 95% intervals. The learners start from nothing. No way "
            "of playing earns more than the last column in expectation, if the curves are right."
        )


def play_quiz(
    quiz: hg.Problem, budgets: tuple[float, ...], picture: Path, *, drawn: float, rounds: int, runs: int
) -> LiveQuiz:
    """Play a quiz at some budgets, and draw one student's live round."""
    learner = (hg.Thompson, {"law": hg.Weibull(shape="learn")})
    players: dict[str, Any] = {PLANNED: hg.Oracle, LEARNED: learner, LIVE: hg.Oracle, LIVE_LEARNED: learner}
    rows = []
    for budget in budgets:
        result = hg.simulate(
            quiz, players, budget=budget, rounds=rounds, runs=runs, live={LIVE, LIVE_LEARNED}, show_progress=False
        )
        earned = {name: result.reward[name][:, -1].mean() / rounds for name in players}
        best, bound = float(quiz.solve(budget).value), float(quiz.live_bound(budget).bound)
        cells = (f"{value:.3f}" for value in earned.values())
        gain = _with_width(result.reward[LIVE][:, -1] / rounds / best - 1.0)
        rows.append((f"{budget:g} s", *cells, gain, f"{bound:.3f}"))
    rng = np.random.default_rng(_STUDENT)
    knows, needs = rng.random(quiz.arms) < quiz.activation, quiz.law.sample(quiz.rate, rng, quiz.arms)
    draw_live(
        quiz.live(drawn), np.where(knows, needs, np.inf), picture, names=quiz.names, units="seconds",
        title=f"One student, {quiz.arms} questions, {drawn:g} seconds, played live",
    )  # fmt: skip
    return LiveQuiz(("budget", *players, "live gains", "at most"), rows, picture, rounds, runs)


def _with_width(gain: Floats) -> str:
    """The mean of some runs' gains in percent, with the half-width of its 95% interval where there are several."""
    if gain.size < 2:
        return f"{gain.mean():+.1%}"
    return f"{gain.mean():+.1%} ± {100.0 * stats.t.ppf(0.975, gain.size - 1) * stats.sem(gain):.1f}"
