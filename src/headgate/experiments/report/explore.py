"""Checks of two remarks: how the regret of exploring first grows with the horizon, and how curved the objective is."""

from __future__ import annotations

from typing import Any

import numpy as np

import headgate as hg
from headgate import theory
from headgate.experiments.lineup import ETC, PER_ARM, entrants
from headgate.experiments.synthetic.exponential import BUDGET, RATES, draw_problem

_HORIZONS = (4000, 32_000)  # beyond K^3 = 1,000, below which T^(2/3) rounds for each arm are all rounds
_LEAST_ACTIVATION = 0.1


def explore_rates(problems: int) -> dict[str, Any]:
    """RA-ETC's regret at two horizons, a policy of its own for each, with T^(2/3) rounds in all and for each arm."""
    paid: dict[str, Any] = {ETC: [], PER_ARM: []}
    for rounds in _HORIZONS:
        size: dict[str, Any] = {"budget": BUDGET, "rounds": rounds, "runs": problems, "checkpoints": [rounds]}
        result = hg.simulate(draw_problem, entrants(ETC, PER_ARM), seed=0, show_progress=False, **size)
        for policy, regret in result.regret.items():
            paid[policy].append({"rounds": rounds, "regret": regret[:, -1].tolist()})
    return paid


def curvature(instances: int) -> dict[str, Any]:
    """The curvature p |dg~/dx| at random points, over its bounds p_min mu_G and L_G: at least 1, and at most 1."""
    rng = np.random.default_rng(11)
    constants = theory.surrogate_constants(hg.Exponential(), BUDGET, RATES)
    p = rng.uniform(_LEAST_ACTIVATION, 1.0, instances)
    (rate, boosted), x = rng.uniform(*RATES, (2, instances)), BUDGET * rng.random(instances)
    ends = np.array(np.meshgrid((_LEAST_ACTIVATION, 1.0), RATES, RATES, (0.0, BUDGET))).reshape(
        4, -1
    )  # and all corners
    p, rate, boosted, x = (np.r_[a, b] for a, b in zip((p, rate, boosted, x), ends, strict=True))
    bent = p * boosted * rate * np.exp(-rate * x)  # g~ = s g = lambda' e^(-lambda x)
    return {
        "instances": int(p.size),
        "least": float(bent.min() / (_LEAST_ACTIVATION * constants.mu_G)),
        "most": float(bent.max() / constants.L_G),
        "constants": {name: float(value) for name, value in constants._asdict().items()},
    }
