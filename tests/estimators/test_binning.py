"""What the bins cost: less than one part in a thousand in the estimates, against the whole history."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from headgate.estimators import likelihood
from headgate.laws import Exponential, Gamma, Law, LogNormal, Weibull

from .references import maximum, play

ROUNDS = 40_000


@pytest.mark.parametrize(
    ("law", "rate"),
    [
        (Exponential(), 0.17),
        (Weibull(shape=1.6), 0.17),
        (LogNormal(sigma=0.8), 0.17),
        (Gamma(shape=2.0), 0.4),
    ],
    ids=lambda value: str(value) if isinstance(value, Law) else "",
)
def test_bins_cost_less_than_a_thousandth_at_40_000_rounds(law: Law, rate: float) -> None:
    """Measured: 0.03% exponential, 0.02% Weibull 1.6, 0.06% log-normal; it falls with the square of the bin."""
    rng = np.random.default_rng(11)
    x = rng.gamma(3.0, 2.5, ROUNDS).clip(1e-3, 40.0)  # varied: from almost nothing to most of the budget
    history = play(law, 0.55, rate, x, rng)
    whole = maximum(law, history, np.array([np.log(rate), 0.2]))
    binned = likelihood(law, history.evidence(40.0))
    assert binned.rate[0] == pytest.approx(np.exp(whole[0]), rel=1e-3)
    assert binned.activation[0] == pytest.approx(special.expit(whole[1]), rel=1e-3)


def test_where_activation_and_rate_hardly_part_bins_cost_little_beside_what_is_unknown() -> None:
    """One threshold in eight is ever reached: bins cost 0.8% of p, which is known to 4%."""
    rng = np.random.default_rng(11)
    law = Gamma(shape=4.0)
    history = play(law, 0.55, 0.17, rng.gamma(3.0, 2.5, ROUNDS).clip(1e-3, 40.0), rng)
    whole = maximum(law, history, np.array([np.log(0.17), 0.2]))
    binned = likelihood(law, history.evidence(40.0))
    off = abs(special.logit(binned.activation[0]) - whole[1])
    assert off < 0.25 * np.ptp(special.logit(binned.activation_interval[0])) / 2.0
