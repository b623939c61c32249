"""A log of impressions with known truth, and the two ways to fit it: clickers alone, or everybody with their exposures.

A user sees a campaign some times and clicks, if active for it, at the impression that reaches the threshold, if there
are that many. Who needs many impressions rarely gets to click, so among clickers thresholds look small: the
distribution is truncated at the exposures. The cure model counts everybody: p g(X) for a click at impression X,
1 - p G(x) for a user who saw x impressions and did not click.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headgate.calibration.fitting.choose import ArmFit, fit_arms
from headgate.calibration.fitting.points import of_rows
from headgate.calibration.log import Rows
from headgate.experiments.base import LEVEL
from headgate.laws import DiscreteWeibull
from headgate.problem import Problem

CLICKERS, CURE = "clickers", "cure"
BUDGETS = (5.0, 12.0, 40.0)
"""At which the x* of both fits are valued."""
_MEAN, _SIGMA, _MOST = 1.7, 1.2, 400.0  # impressions of a campaign that a user sees: log-normal, rounded up


def draw_log(problem: Problem, pairs: int, rng: np.random.Generator) -> Rows:
    """Draw what `pairs` users saw and did of each campaign, equal rows added up."""
    columns = []
    for arm in range(problem.arms):
        shown = np.ceil(rng.lognormal(np.log(_MEAN) - _SIGMA**2 / 2.0, _SIGMA, pairs)).clip(1.0, _MOST)
        needed = problem.law.of_arm(arm).sample(float(problem.rate[arm]), rng, pairs)
        clicked = (rng.random(pairs) < problem.activation[arm]) & (needed <= shown)
        different, count = np.unique(np.where(clicked, needed, 0.0) + 1000.0 * shown, return_counts=True)
        place = different % 1000.0
        won = place > 0.0
        columns.append((np.full(count.size, arm), different // 1000.0, won, np.where(won, place, np.nan), count))
    arm_, allocation, success, threshold, count_ = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Rows(arm_, allocation, success, threshold, count_)


def fit_clicks(rows: Rows, names: Sequence[str]) -> list[ArmFit]:
    """Fit a discrete Weibull law to each campaign's first clicks as the paper does: given that there was one.

    The activation is the share of users who clicked: a lower bound, since more impressions might have won more.
    """
    points = of_rows(rows, len(names), "successes", whole=True)
    return fit_arms(points, names, law=DiscreteWeibull.name, whole=True, level=LEVEL)


def fit_exposed(rows: Rows, names: Sequence[str]) -> list[ArmFit]:
    """Fit the cure model: every user counts, those without a click censored at the impressions they saw."""
    points = of_rows(rows, len(names), "censored", whole=True)
    return fit_arms(points, names, law=DiscreteWeibull.name, whole=True, level=LEVEL)


def problem_of(fits: Sequence[ArmFit]) -> Problem:
    """Return the problem that fits make."""
    shapes, rates, active, names = zip(*((f.shape, f.rate, f.activation, f.name) for f in fits), strict=True)
    return Problem(DiscreteWeibull(shape=shapes), active, rates, names)


def described(fit: ArmFit) -> dict[str, Any]:
    """A fit as plain data; typical impressions are 1 / rate."""
    low, high = fit.rate_interval
    return {
        "p": fit.activation,
        "p_interval": list(fit.activation_interval),
        "typical": 1.0 / fit.rate,
        "typical_interval": [1.0 / high if np.isfinite(high) else 0.0, 1.0 / low if low > 0.0 else 1e300],
        "shape": fit.shape,
        "rate": fit.rate,
        "distance": fit.ks,
    }


def fit_both(rows: Rows, names: Sequence[str]) -> dict[str, list[ArmFit]]:
    """Fit every campaign in both ways."""
    return {CLICKERS: fit_clicks(rows, names), CURE: fit_exposed(rows, names)}


def compare(problem: Problem, pairs: int, fits: dict[str, list[ArmFit]]) -> dict[str, Any]:
    """Put both fits of a log of `pairs` users a campaign beside its truth, and what the x* of each earns by it."""
    listed = [
        {
            "name": fits[CURE][arm].name,
            "p": float(problem.activation[arm]),
            "typical": 1.0 / float(problem.rate[arm]),
            **{how: described(arm_fits[arm]) for how, arm_fits in fits.items()},
        }
        for arm in range(problem.arms)
    ]
    known = {how: problem_of(arm_fits) for how, arm_fits in fits.items()}
    earned = [
        {
            "budget": budget,
            "best": float(problem.solve(budget).value),
            **{how: float(problem.expected_reward(own.solve(budget).x)) for how, own in known.items()},
        }
        for budget in BUDGETS
    ]
    return {"pairs": pairs, "campaigns": listed, "earned": earned}


def missed(generated: dict[str, Any], how: str) -> tuple[int, int]:
    """Return how many intervals of p and of typical impressions do not hold the truth, and of how many."""
    rows = generated["campaigns"]
    out = [
        not row[how][f"{what}_interval"][0] <= row[what] <= row[how][f"{what}_interval"][1]
        for row in rows
        for what in ("p", "typical")
    ]
    return sum(out), len(out)
