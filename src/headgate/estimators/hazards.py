"""What was seen of each arm against what a curve expects, by half octaves of the amount.

An arm that has had x without success is at the risk of its hazard: H(x) = -log(1 - p G(x)) is the cumulative one. A
round ends at its threshold, or at its allocation if it failed. Of all rounds, a region of amounts sees as many
successes as ended there, and expects the sum of H over what each round passed through of it. Seen less expected is a
martingale, whatever the allocations depended on, with the expected number as its variance (Aalen, 1978). Successes that
did not tell their threshold are spread as the curve has it.

Let the hazard of every region be multiplied by a ratio of its own, with the prior Gamma(alpha, alpha). That multiplies
the marginal likelihood, d successes seen and E expected, by

    prod over regions of  Gamma(alpha + d) / Gamma(alpha) * alpha^alpha / (alpha + E)^(alpha + d) * exp(E).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.evidence import Evidence
from headgate.kernels.bins import BINS, REGION
from headgate.laws import Floats
from headgate.laws.standard import Standard

STARTS = np.concatenate([[0], np.arange(1, BINS, REGION)])
"""The first bin of each region."""
ALPHAS = np.array([1.0, 3.0, 10.0, 30.0, 100.0])
"""How closely the ratios of an arm may be held to 1."""


class Hazards(NamedTuple):
    """Of each arm its evidence beside its curve."""

    activation: Floats
    """Of the curve, (..., K)."""
    observed: Floats
    """Successes by region of their thresholds, (..., K, 33)."""
    expected: Floats
    """How many the hazard lets expect there."""
    expected_by_allocation: Floats
    """Successes expected by region of the allocations: the sum of p G(x)."""
    cumulative: Floats
    """H at the bins' edges, (..., K, 130)."""
    gain: Floats
    """By how much ratios of the hazard raise the log marginal likelihood: one for each of ALPHAS, (..., K, 5)."""


def hazards(
    form: Standard, whole: NDArray[np.bool_], rate: Floats, activation: Floats | float, evidence: Evidence
) -> Hazards:
    """Compare evidence with the curves `activation` times G(., rate), (..., K); NaN is the likeliest activation."""
    from headgate.kernels.hazards import compare  # noqa: PLC0415  # machine code loads on first use

    return Hazards(
        *compare(
            form.base, form.a, form.b, form.shift, form.cap, form.table, whole, rate, activation, evidence.bins,
            evidence.edges, evidence.max_budget, np.empty(STARTS.size), np.empty(BINS + 1), ALPHAS,
        )
    )  # fmt: skip
