"""Visitors who may leave at any moment: a plan for an order that is not gone back on. Their stays are simulated."""

from __future__ import annotations

import numpy as np

import headgate as hg


def main() -> float:
    """Print the plan; return the gap that is proved for it."""
    quiz = hg.Problem(hg.Weibull(1.6), activation=[0.9, 0.7, 0.4, 0.8], rate=[0.05, 0.2, 0.5, 0.1])
    stays = np.random.default_rng(0).gamma(3.0, 8.0, 200)
    plan = quiz.plan(stays)
    for arm in plan.order:
        print(f"arm {arm}: {plan.amounts[arm]:.1f} minutes")
    print(
        f"worth {plan.value:.3f}, at most {plan.bound:.3f}; who leaves after 14 minutes got {plan.given(14.0).round(1)}"
    )
    return float(plan.gap)


if __name__ == "__main__":
    main()
