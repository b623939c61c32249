"""Confidence radii of rate and activation, as the paper's extended pseudocode has them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headgate.laws import Floats, Law, RateRange


class Bounds(NamedTuple):
    """Lower and upper confidence bounds of rate and activation: (..., K) each."""

    rate_low: Floats
    rate_high: Floats
    activation_low: Floats
    activation_high: Floats


class PaperRadii:
    """lambda_hat +- (B / L_mu) r and p_hat +- (L_lambda / L_mu) B (1 + p_hat) / C_hat r, r = sqrt(3 log t / 2n).

    Clipped to [m/B, M/B] and [0, 1]. `scale` multiplies both radii. C_hat = G(x, m/B) at the arm's last allocation;
    where it or n is 0 the radius is infinite, so the interval is the whole range (unless `scale` is 0).
    """

    def __init__(self, law: Law, budget: float, rate_range: RateRange, scale: float) -> None:
        self.law, self.budget, self.rate_range, self.scale = law, budget, rate_range, scale
        self.slope = law.lipschitz_mean(budget, rate_range)  # L_mu
        self.lipschitz = law.lipschitz_rate(budget, rate_range)  # L_lambda

    def __call__(self, rate: Floats, activation: Floats, successes: Floats, last: Floats, clock: int) -> Bounds:
        """Return the bounds at estimation round t = `clock`, given n = `successes` and each arm's last allocation x."""
        low, high = self.rate_range
        with np.errstate(divide="ignore", invalid="ignore"):
            r = self.scale * np.sqrt(3.0 * np.log(max(clock, 1)) / (2.0 * successes))
            rate_radius = self.budget / self.slope * r
            reach = self.law.cdf(last, low)
            p_radius = self.lipschitz / self.slope * self.budget * (1.0 + activation) / reach * r
            # Before the first success, and where C_hat is 0, the whole range, even while log t is 0.
            unknown = np.inf if self.scale > 0.0 else 0.0
            rate_radius, p_radius = (np.where(successes > 0.0, v, unknown) for v in (rate_radius, p_radius))
            p_radius = np.where(reach > 0.0, p_radius, unknown)
        centre = np.nan_to_num(rate, nan=low)
        return Bounds(
            np.clip(centre - rate_radius, low, high),
            np.clip(centre + rate_radius, low, high),
            np.clip(activation - p_radius, 0.0, 1.0),
            np.clip(activation + p_radius, 0.0, 1.0),
        )
