"""The cure model's maximum likelihood: every failure and every success of every round counts.

The likelihood is that of `headgate.estimators.maximum`. Intervals: normal with the observed Fisher information, or by
Wilks' theorem, {theta_c: 2 (l(theta_hat) - max over the rest of l) <= chi^2_1(level)}.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate import checks
from headgate.errors import ParameterError, ShapeError
from headgate.estimators.estimate import Estimate, Source
from headgate.estimators.fit import Fit, maximum, weak_prior
from headgate.estimators.shapes import ShapeFit, learn_shapes
from headgate.evidence import Evidence
from headgate.laws import Floats, Law, as_law
from headgate.laws.learned import open_form
from headgate.laws.standard import Standard
from headgate.oracle import standard_form

INTERVALS = ("fisher", "likelihood-ratio")
_KNOWN = 0.4  # a logarithm counts as known below this standard deviation: 2.5 of them away from nothing


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
        1, allocations that hardly tell activation from rate); an end that nothing bounds is 0, 1 or infinite. Where
        a shape is learned the intervals are normal whichever is asked for, and wide enough for not knowing the shape.
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
    >>> estimate = likelihood(Exponential(), rows)
    >>> estimate.rate.round(2), estimate.activation.round(2)
    (array([1.02]), array([0.63]))
    """
    law = as_law(law)
    checks.choice("interval", interval, INTERVALS)
    if not 0.0 < level < 1.0:
        raise ParameterError(f"level must be within (0, 1), got {level!r}")
    if law.arm_axis() not in ((), (evidence.arms,)):
        raise ShapeError(f"{law} does not fit {evidence.arms} arms")
    peak = most_likely(law, evidence, prior, form)
    fit, shapes = peak.fit, peak.shapes
    cov = fit.covariance if shapes is None else _with_shapes(fit.covariance, shapes)
    z = float(special.ndtri(0.5 + level / 2.0))
    if interval == "fisher" or shapes is not None:
        spread = z * np.sqrt(cov[..., [0, 2]])
        low, high = fit.theta - spread, fit.theta + spread
    else:
        low, high = _likelihood_ratio(peak.form, peak.whole, evidence, prior, fit, z * z)
    p = special.expit(fit.theta[..., 1])
    # The delta method on log p + log rate.
    product = cov[..., 0] + 2.0 * (1.0 - p) * cov[..., 1] + (1.0 - p) ** 2 * cov[..., 2]
    has_success = evidence.successes > 0.0
    known = has_success & (cov[..., 0] < _KNOWN**2) & (cov[..., 2] * (1.0 - p) ** 2 < _KNOWN**2)
    return Estimate(
        activation=p,
        rate=np.exp(fit.theta[..., 0]),
        activation_interval=special.expit(np.stack([low[..., 1], high[..., 1]], axis=-1)),
        rate_interval=np.exp(np.stack([low[..., 0], high[..., 0]], axis=-1)),
        identified=known,
        product_identified=known | (has_success & (product < _KNOWN**2)),
        source=Source(law, evidence.copy(), level, peak.form, peak.whole),
        shape=None if shapes is None else np.exp(shapes.log_shape),
        shape_interval=None if shapes is None else np.exp(_around(shapes.log_shape, z * np.sqrt(shapes.variance))),
    )


class Peak(NamedTuple):
    """The maximum of the likelihood, and what it is the maximum of."""

    fit: Fit
    """In (log rate, logit activation), at the learned shapes if there are any."""
    prior: Floats
    """Means and precisions of (log rate, logit activation): (..., K, 4)."""
    form: Standard
    whole: NDArray[np.bool_]
    """Arms that count in whole units."""
    shapes: ShapeFit | None


def most_likely(law: Law, evidence: Evidence, prior: Floats | None = None, form: Standard | None = None) -> Peak:
    """Maximise the likelihood of every arm; `prior` and `form` are those of `likelihood`."""
    whole, shapes = law.whole_arms(evidence.arms), None
    if form is None and (learned := open_form(law, evidence.arms)) is not None:
        shapes = learn_shapes(learned, evidence, weak_prior(evidence) if prior is None else prior, whole)
        form = shapes.form
    form = form or standard_form(law, evidence.arms)
    prior = weak_prior(evidence, form) if prior is None else prior
    return Peak(maximum(form, whole, evidence, prior), prior, form, whole, shapes)


def _around(centre: Floats, spread: Floats) -> Floats:
    return np.stack([centre - spread, centre + spread], axis=-1)


def _with_shapes(covariance: Floats, shapes: ShapeFit) -> Floats:
    """Add to the covariance at the shape what not knowing the shape adds: slope slope' variance."""
    first, second = shapes.slope[..., 0], shapes.slope[..., 1]
    outer = np.stack([first * first, first * second, second * second], axis=-1)
    return np.asarray(covariance + outer * shapes.variance[..., None])


def _likelihood_ratio(
    form: Standard, integer: NDArray[np.bool_], evidence: Evidence, prior: Floats | None, fit: Fit, cut: float
) -> tuple[Floats, Floats]:
    """Where twice the drop of the profile likelihood reaches `cut`, on both sides of both coordinates."""
    from headgate.kernels.profile import profile_ends  # noqa: PLC0415  # machine code loads on first use

    if prior is None:  # the likelihood alone, from its own maximum
        prior = np.zeros((*fit.theta.shape[:-1], 4))
        fit = maximum(form, integer, evidence, prior, fit.theta)
    low, high = profile_ends(
        form.base, form.a, form.b, form.shift, form.cap, form.table, integer,
        evidence.bins, evidence.edges, prior, fit.theta, fit.covariance[..., [0, 2]], fit.value, cut,
    )  # fmt: skip
    return low, high
