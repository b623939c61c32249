"""Checks on the quiz, whose laws are S-shaped: what water-filling and pouring lose there."""

from __future__ import annotations

from typing import Any

import numpy as np

from headgate.datasets import ednet_quiz
from headgate.laws import Floats
from headgate.laws.roots import bracketed_root
from headgate.oracle import path
from headgate.problem import Problem

BUDGETS = (694.86, 400.0, 200.0)


def water_filling() -> dict[str, Any]:
    """The optimum against equal marginals on the falling branches, and against pouring by the current marginal."""
    quiz = ednet_quiz()
    rows = []
    for budget in BUDGETS:
        best = quiz.solve(budget)
        equal = float(quiz.expected_reward(_equal_marginals(quiz, budget)))
        rows.append(
            {
                "budget": budget,
                "optimum": float(best.value),
                "gap": float(best.gap),
                "even": float(quiz.expected_reward(np.full(quiz.arms, budget / quiz.arms))),
                "equal_marginals": equal,
                "lost": 1.0 - equal / float(best.value),
                "by_marginal": float(quiz.expected_reward(_by_marginal(quiz, budget, 1.0))),
            }
        )
    concave, shapes = int(np.sum(quiz.law.is_concave(700.0, quiz.rate))), np.asarray(quiz.law.shapes()["shape"])
    wide = ednet_quiz("untrimmed")  # the laws of the published code's solver
    return {
        "rows": rows,
        "concave": concave,
        "arms": quiz.arms,
        "shapes": [float(shapes.min()), float(shapes.max())],
        "untrimmed": [float(wide.solve(budget).value) for budget in BUDGETS],
    }


def _equal_marginals(quiz: Problem, budget: float) -> Floats:
    """KKT without thinking: every arm on the falling branch of its marginal, all marginals equal."""
    peak = quiz.law.inflection(quiz.rate)
    top = quiz.marginal(peak)

    def shares(log_price: float) -> Floats:
        price = np.exp(log_price)
        x_of_price = bracketed_root(
            lambda x: quiz.activation * quiz.law.pdf(x, quiz.rate) - price, peak, np.full(quiz.arms, 1e4)
        )
        return np.where(price < top, np.nan_to_num(x_of_price), 0.0)

    low, high = -30.0, float(np.log(top.max()))
    for _ in range(80):
        middle = (low + high) / 2.0
        low, high = (middle, high) if shares(middle).sum() > budget else (low, middle)
    return shares(high)


def _by_marginal(quiz: Problem, budget: float, step: float) -> Floats:
    """Pour by the marginal where each arm stands; at 0 all of them are 0, and the first arm wins the tie."""
    x = np.zeros(quiz.arms)
    for _ in range(int(budget / step)):
        x[np.argmax(quiz.marginal(x))] += step
    return x


def pouring() -> dict[str, Any]:
    """The largest share that the best growing path loses to the optimum, for S-shaped laws, and where."""
    quiz = ednet_quiz()
    budgets = np.arange(5.0, 701.0, 5.0)
    poured = path(quiz.law, quiz.activation, quiz.rate, budgets).value
    best = quiz.solve(budgets).value
    loss = 1.0 - poured / best
    return {"worst": float(loss.max()), "budget": float(budgets[loss.argmax()]), "typical": float(np.median(loss))}
