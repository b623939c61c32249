"""The maximum of the cure model's likelihood times a prior, and the curvature there.

An arm's theta = (log lambda, logit p) has the log likelihood of the mixture cure model (Berkson and Gage 1952; Farewell
1982), with the allocation in the place of the censoring time:

    l(theta) = sum over successes u of [log p + log g(X_u, lambda)] + sum over failures u of log(1 - p G(x_u, lambda)),

where evidence gives each bin's count and mean for the single X_u and x_u. The prior is normal with independent
coordinates. What is called its precision is 1 / variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.evidence import Evidence
from headgate.laws import Floats
from headgate.laws.standard import Standard

_WEAK = 0.04  # a prior precision: standard deviation 5 in log rate and in logit activation
_STEPS = 60


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The maximum theta = (log rate, logit activation), (..., K, 2), and the curvature there."""

    theta: Floats
    hessian: Floats
    """Second derivatives of the log posterior: 11, 12, 22, (..., K, 3)."""
    value: Floats
    """The log posterior there, with densities per unit of log phi(X) and the prior without its constant."""

    @property
    def covariance(self) -> Floats:
        """The inverse of the curvature, 11, 12, 22; where that is not positive, of its positive part."""
        c11, c12, c22 = (-self.hessian[..., i] for i in range(3))
        mean, half = (c11 + c22) / 2.0, (c11 - c22) / 2.0
        lowest = mean - np.hypot(half, c12)
        lift = np.maximum(1e-12 * np.abs(mean) + 1e-12 - lowest, 0.0)
        c11, c22 = c11 + lift, c22 + lift
        det = c11 * c22 - c12**2
        return np.stack([c22 / det, -c12 / det, c11 / det], axis=-1)


def weak_prior(evidence: Evidence, form: Standard | None = None) -> Floats:
    """A prior of almost no weight, (..., K, 4): means and precisions of log rate and logit activation.

    The rate is centred where a typical allocation of the arm reaches its threshold; `form` is needed only for laws
    on [0, cap], whose axis is not x itself.
    """
    played = evidence.counts("played")
    total = np.sum(played, axis=-1)
    spent = np.sum(played * evidence.means("played"), axis=-1)
    typical = np.where(total > 0.0, spent / np.maximum(total, 1e-300), evidence.max_budget / evidence.arms)
    if form is not None:
        share = np.minimum(typical / form.cap, 1.0 - 1e-16)  # phi(x) = -log(1 - x / cap)
        typical = np.where(form.cap < np.inf, -np.log1p(-share), typical)
    prior = np.zeros((*total.shape, 4))
    prior[..., 0] = -np.log(np.maximum(typical, 1e-12 * evidence.max_budget))
    prior[..., 2:] = _WEAK
    return prior


def maximum(
    form: Standard,
    integer: NDArray[np.bool_],
    evidence: Evidence,
    prior: Floats,
    start: Floats | None = None,
    steps: int = _STEPS,
) -> Fit:
    """Maximise l(theta) - sum_c precision_c (theta_c - mean_c)^2 / 2 for every arm, by Newton's method.

    Parameters
    ----------
    form, integer
        The law in standard form, and which arms count in whole units: (K,) or (..., K).
    evidence
        What has been seen, (..., K).
    prior
        Means and precisions of (log rate, logit activation): (..., K, 4).
    start
        Where to begin, (..., K, 2); by default at the prior's mean.
    steps
        The most Newton steps; it stops earlier where none is left to make.
    """
    from headgate.kernels.fit import fit  # noqa: PLC0415  # machine code loads on first use

    begin = prior[..., :2] if start is None else start
    theta, shape = fit(
        form.base, form.a, form.b, form.shift, form.cap, form.table, integer,
        evidence.bins, evidence.edges, prior, begin, steps,
    )  # fmt: skip
    return Fit(theta, shape[..., :3], shape[..., 3])
