"""The paper's estimator, and its corrected form.

The paper (its sections "Estimation of lambda_i" and "Estimation of p_i") inverts mu(lambda) = E[X | X <= B] at the mean
mu_hat of the thresholds seen, and divides the successes by what the rate lets one expect of active arms:
lambda_hat = mu^-1(mu_hat), p_hat = n / sum_u G(x_u, lambda_hat). On a success the threshold is truncated at the
allocation x_u, not at B, so this converges to the wrong rate unless x_u = B: at p = .5, lambda = .12, x = B/3 to .202
and p = .428. The corrected form solves sum_u X_u = sum_u E[X | X <= x_u] over the successes u, and is consistent
whatever was given.

All of them take evidence of shape (..., K) and return one number for each arm; sums over rounds are sums over its bins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Self

import numpy as np

from headgate.evidence import Evidence
from headgate.laws import Floats, Law, ScaleLaw
from headgate.laws.roots import bracketed_root

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

_REACH = 12.0  # the table holds log(rate * upper) from -12 to 12: evidence tells no smaller thresholds apart
_FINEST = 256  # points to the unit of log rate
_GOAL = 1e-12  # the relative error of the mean between the table's points
_NEWTON = 4


@dataclass(frozen=True, slots=True, eq=False)
class MeanTable:
    """log E[X | X <= upper] against log rate for one arm's law, to be read backwards: the paper's mu^-1."""

    log_rates: Floats
    log_means: Floats
    curve: BSpline
    slope: BSpline

    @classmethod
    def of(cls, law: Law, upper: float) -> Self:
        """Tabulate, as finely as it takes for a quintic through the points to be right between them."""
        from scipy.interpolate import make_interp_spline  # noqa: PLC0415  # a quarter of a second that few need

        size, fineness = np.log(upper), 16
        while True:
            log_rates = np.linspace(-_REACH - size, _REACH - size, 2 * int(_REACH) * fineness + 1)
            log_means = np.log(law.truncated_mean(np.exp(log_rates), upper))
            curve = make_interp_spline(log_rates, log_means, k=5)
            between = log_rates[8:-8:fineness] + 0.5 / fineness
            error = np.abs(curve(between) - np.log(law.truncated_mean(np.exp(between), upper)))
            if np.max(error) <= _GOAL or fineness >= _FINEST:
                return cls(log_rates, log_means, curve, curve.derivative())
            fineness *= 2

    def rate(self, mean: Floats) -> Floats:
        """Return the rate with this mean, or the end of the table where it lies beyond."""
        goal = np.log(np.maximum(mean, np.finfo(np.float64).tiny))
        at = np.interp(goal, self.log_means[::-1], self.log_rates[::-1])
        for _ in range(_NEWTON):
            steep = np.minimum(self.slope(at), -1e-12)  # the mean falls as the rate grows
            step = np.clip((self.curve(at) - goal) / -steep, -1.0, 1.0)
            at = np.clip(at + step, self.log_rates[0], self.log_rates[-1])
        return np.exp(at)


@lru_cache(maxsize=1024)
def mean_table(law: Law, upper: float) -> MeanTable:
    """The table of one arm's law, made once."""
    return MeanTable.of(law, upper)


def rate_of_mean(law: Law, mean: Floats, upper: float) -> Floats:
    """mu^-1(mean) of E[X | X <= upper], from tables: 1e-10 accurate, within e^-12 and e^12 over `upper`."""
    if law.arm_axis() == ():
        if isinstance(law, ScaleLaw):  # one table for every `upper`
            return mean_table(law, 1.0).rate(mean / upper) / upper
        return mean_table(law, upper).rate(mean)
    each = [rate_of_mean(law.of_arm(i), mean[..., i], upper) for i in range(mean.shape[-1])]
    return np.stack(each, axis=-1)


def seen_mean(evidence: Evidence) -> Floats:
    """mu_hat = sum_u X_u / n, the mean of the n thresholds seen, in units of the budget: (..., K); NaN if n = 0."""
    counts = evidence.counts("seen")
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sum(counts * evidence.means("seen"), axis=-1) / np.sum(counts, axis=-1))


def paper_rate(law: Law, evidence: Evidence) -> Floats:
    """lambda_hat = mu^-1(mu_hat), mu(lambda) = E[X | X <= B] at the largest budget B: (..., K), per unit of the budget.

    NaN before the first threshold; successes that do not tell theirs say nothing here. The paper's; biased where less
    than B was given, see the head of this file.
    """
    mean = seen_mean(evidence)
    rate = rate_of_mean(law, np.where(np.isnan(mean), 1.0, mean), evidence.max_budget)
    return np.where(np.isnan(mean), np.nan, rate)


def corrected_rate(law: Law, evidence: Evidence) -> Floats:
    """The lambda that solves sum_u X_u = sum_u E[X | X <= x_u, lambda] over the thresholds seen: (..., K); NaN if none.

    Where the right side falls as lambda grows there is one root; where even the smallest lambda searched expects less
    than was seen, that one. Ours: what the paper's equation becomes when thresholds are truncated where they are.
    """
    amounts = {kind: evidence.counts(kind) * evidence.means(kind) for kind in ("played", "failed", "reached")}
    won = np.maximum(evidence.counts("played") - evidence.counts("failed") - evidence.counts("reached"), 0.0)
    spent = amounts["played"] - amounts["failed"] - amounts["reached"]
    upper = _playable(law, np.where(won > 0.0, spent / np.maximum(won, 1e-300), evidence.max_budget))
    total = np.sum(evidence.counts("seen") * evidence.means("seen"), axis=-1)
    # Only the bins that anyone won in, and to the front, so that the last axis stays arms.
    used = np.flatnonzero(np.any(won > 0.0, axis=tuple(range(won.ndim - 1))))
    won, upper = (np.moveaxis(v[..., used], -1, 0) for v in (won, upper))

    def excess(log_rate: Floats) -> Floats:
        means = law.truncated_mean(np.exp(log_rate), upper)
        expected = _sum_of_bins(np.where(won > 0.0, won * means, 0.0))
        return np.asarray(np.log(np.maximum(expected, 1e-300)) - np.log(np.maximum(total, 1e-300)))

    size = -np.log(evidence.max_budget)
    rate = np.exp(bracketed_root(excess, np.full(total.shape, size - 16.0), np.full(total.shape, size + 24.0)))
    # Thresholds larger than any rate explains: the smallest rate searched.
    rate = np.where(np.isnan(rate), np.exp(size - 16.0), rate)
    return np.where(evidence.counts("seen").any(axis=-1), rate, np.nan)


def _playable(law: Law, amounts: Floats) -> Floats:
    """Undo a bin's rounding for arms that count in whole numbers: just below 13 is 13. The last axis is bins."""
    return np.where(law.whole_arms(amounts.shape[-2])[:, None], np.rint(amounts), amounts)


def _sum_of_bins(values: Floats) -> Floats:
    """Sum over the first axis, each row in the same order however many there are: a batch equals a single run."""
    return np.asarray(np.cumsum(values, axis=0)[-1]) if len(values) else np.zeros(values.shape[1:])


def paper_activation(law: Law, evidence: Evidence, rate: Floats) -> Floats:
    """p_hat = n / sum_u G(x_u, lambda_hat) over all rounds u that gave the arm anything, at most 1: (..., K).

    The paper's: n successes, of as many as an arm that is always active would have had. 0 before the first success.
    """
    finite_rate = np.where(np.isnan(rate), 1.0 / evidence.max_budget, rate)
    reach = law.cdf(np.moveaxis(_playable(law, evidence.means("played")), -1, 0), finite_rate)
    expected = _sum_of_bins(np.moveaxis(evidence.counts("played"), -1, 0) * reach)
    share = evidence.successes / np.maximum(expected, 1e-300)
    return np.where(evidence.successes > 0.0, np.minimum(share, 1.0), 0.0)
