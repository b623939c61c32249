"""The cure model's maximum likelihood: every failure and every success of every round counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate import checks
from headgate.errors import ParameterError, ShapeError
from headgate.estimators.estimate import Estimate
from headgate.evidence import Evidence
from headgate.laws import Floats, Law, PerArm, as_law
from headgate.laws.standard import Standard
from headgate.oracle import standard_form

INTERVALS = ("fisher", "likelihood-ratio")
_WEAK = 0.04  # a prior precision: standard deviation 5 in log rate and in logit activation
_KNOWN = 0.4  # a logarithm counts as known below this standard deviation: 2.5 of them away from nothing
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


def whole_arms(law: Law, arms: int) -> NDArray[np.bool_]:
    """Which arms have whole-number thresholds."""
    return law.integer_arms() if isinstance(law, PerArm) else np.full(arms, law.integer)


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
    """Maximise likelihood times prior, from `start` or from the prior's mean."""
    from headgate.kernels.cure import fit  # noqa: PLC0415  # machine code loads on first use

    begin = prior[..., :2] if start is None else start
    theta, shape = fit(
        form.base, form.a, form.b, form.shift, form.cap, form.table, integer,
        evidence.bins, evidence.edges, prior, begin, steps,
    )  # fmt: skip
    return Fit(theta, shape[..., :3], shape[..., 3])


def likelihood(
    law: Law | Sequence[Law],
    evidence: Evidence,
    *,
    level: float = 0.9,
    interval: Literal["fisher", "likelihood-ratio"] = "likelihood-ratio",
    prior: Floats | None = None,
    form: Standard | None = None,
) -> Estimate:
    """Estimate activation and rate of every arm by maximum likelihood, with intervals.

    Parameters
    ----------
    law
        The law of the thresholds, or one per arm.
    evidence
        What has been seen.
    level
        The intervals' nominal coverage.
    interval
        "fisher" is normal in (log rate, logit activation) with the observed curvature. "likelihood-ratio" inverts
        the likelihood-ratio test: slower, and right for lopsided likelihoods too (few successes, an activation near
        1, allocations that hardly tell activation from rate); an end that nothing bounds is 0, 1 or infinite.
    prior
        Means and precisions of (log rate, logit activation), (..., K, 4). Without one a very weak prior makes the
        maximum exist where the evidence says nothing; it takes no part in likelihood-ratio intervals.
    form
        The law's standard form if the caller has a better one: learned shapes, one per arm and batch row.

    Examples
    --------
    >>> from headgate.laws import Exponential
    >>> thresholds = np.array([0.3, 0.8, 1.1, 2.0, 0.5, np.nan, np.nan, np.nan])
    >>> rows = Evidence.of_rows(np.zeros(8, int), np.full(8, 5.0), thresholds > 0.0, thresholds)
    >>> found = likelihood(Exponential(), rows)
    >>> found.rate.round(2), found.activation.round(2)
    (array([1.02]), array([0.63]))
    """
    law = as_law(law)
    checks.choice("interval", interval, INTERVALS)
    if not 0.0 < level < 1.0:
        raise ParameterError(f"level must be within (0, 1), got {level!r}")
    if law.arm_axis() not in ((), (evidence.arms,)):
        raise ShapeError(f"{law} does not fit {evidence.arms} arms")
    form = form or standard_form(law, evidence.arms)
    integer = whole_arms(law, evidence.arms)
    found = maximum(form, integer, evidence, weak_prior(evidence, form) if prior is None else prior)
    cov = found.covariance
    z = float(special.ndtri(0.5 + level / 2.0))
    if interval == "fisher":
        spread = z * np.sqrt(cov[..., [0, 2]])
        low, high = found.theta - spread, found.theta + spread
    else:
        low, high = _likelihood_ratio(form, integer, evidence, prior, found, z * z)
    p = special.expit(found.theta[..., 1])
    # The delta method on log p + log rate.
    product = cov[..., 0] + 2.0 * (1.0 - p) * cov[..., 1] + (1.0 - p) ** 2 * cov[..., 2]
    seen = evidence.successes > 0.0
    known = seen & (cov[..., 0] < _KNOWN**2) & (cov[..., 2] * (1.0 - p) ** 2 < _KNOWN**2)
    return Estimate(
        activation=p,
        rate=np.exp(found.theta[..., 0]),
        activation_interval=special.expit(np.stack([low[..., 1], high[..., 1]], axis=-1)),
        rate_interval=np.exp(np.stack([low[..., 0], high[..., 0]], axis=-1)),
        identified=known,
        product_identified=known | (seen & (product < _KNOWN**2)),
    )


def _likelihood_ratio(
    form: Standard, integer: NDArray[np.bool_], evidence: Evidence, prior: Floats | None, found: Fit, cut: float
) -> tuple[Floats, Floats]:
    """Where twice the drop of the profile likelihood reaches `cut`, on both sides of both coordinates."""
    from headgate.kernels.profile import profile_ends  # noqa: PLC0415  # as above

    if prior is None:  # the likelihood alone, from its own maximum
        prior = np.zeros((*found.theta.shape[:-1], 4))
        found = maximum(form, integer, evidence, prior, found.theta)
    low, high = profile_ends(
        form.base, form.a, form.b, form.shift, form.cap, form.table, integer,
        evidence.bins, evidence.edges, prior, found.theta, found.covariance[..., [0, 2]], found.value, cut,
    )  # fmt: skip
    return low, high
