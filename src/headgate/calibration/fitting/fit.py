"""One law fitted to every arm by maximum likelihood, its shape included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate.calibration.fitting.climb import Likelihood, climb, log_likelihood, polish, without
from headgate.calibration.fitting.family import Family
from headgate.calibration.fitting.points import Points
from headgate.laws import Floats, Law

KNOWN = 0.4  # as in the estimators: a logarithm counts as known below this standard deviation
_SURE = 0.95  # the activation from which the second climb of a cure model starts


@dataclass(frozen=True, slots=True, eq=False)
class LawFit:
    """A law's maximum for each of A arms, with the curvature there."""

    family: Family
    theta: Floats
    hessian: Floats
    """Of the log likelihood at coarse points, (A, d, d)."""
    log_likelihood: Floats
    activation: Floats
    successes: Floats
    trials: Floats

    @property
    def name(self) -> str:
        """The law's name."""
        return self.family.name

    @property
    def law(self) -> Law:
        """The law with its shapes, one per arm."""
        return self.family.law(self.theta)

    @property
    def rate(self) -> Floats:
        """The rates."""
        return np.exp(self.theta[:, 0])

    @property
    def parameters(self) -> int:
        """How many numbers were fitted to each arm: rate, activation and perhaps a shape."""
        return 2 + self.family.shaped

    def only(self, arms: Sequence[int] | NDArray[np.int64]) -> Self:
        """Return the fits of some of the arms."""
        names = ("theta", "hessian", "log_likelihood", "activation", "successes", "trials")
        return replace(self, family=self.family.only(arms), **{name: getattr(self, name)[arms] for name in names})

    @property
    def aic(self) -> Floats:
        """Akaike's criterion, 2 k - 2 log L: the smaller the better."""
        return np.asarray(2.0 * self.parameters - 2.0 * self.log_likelihood)

    @property
    def at_boundary(self) -> NDArray[np.bool_]:
        """Whether the shape stopped at an end of its range: then this is not a maximum."""
        return self.family.at_boundary(self.theta)

    @property
    def covariance(self) -> Floats:
        """Inverse of the curvature in theta, (A, d, d), what is on a bound taken as known."""
        held = (self.theta <= self.family.lower + 1e-6) | (self.theta >= self.family.upper - 1e-6)
        curve = without(np.where(np.isfinite(self.hessian), -self.hessian, 0.0), held)
        values, vectors = np.linalg.eigh(curve)
        inverse = np.einsum("...ik,...k,...jk->...ij", vectors, 1.0 / np.maximum(values, 1e-9), vectors)
        return np.asarray(inverse * (~held[..., :, None] & ~held[..., None, :]))

    def intervals(self, level: float) -> dict[str, Floats]:
        """Intervals of rate, shape and activation, (A, 2) each.

        Normal in the logarithms; an activation that is a share has Jeffreys' interval, which reaches 0 or 1
        where the share does. That of a cure model is by `profile.profile_ends` instead.
        """
        z = float(special.ndtri(0.5 + level / 2.0))
        spread = z * np.sqrt(np.einsum("...ii->...i", self.covariance))
        ends = np.stack([self.theta - spread, self.theta + spread], axis=-1)
        with np.errstate(over="ignore"):  # rows that say nothing leave an interval without an end
            intervals = {"rate": np.exp(ends[:, 0])}
            if self.family.shaped:
                low, high = (self.family.shape(np.moveaxis(ends, -1, 0)[side]) for side in (0, 1))
                intervals["shape"] = np.stack([np.asarray(low), np.asarray(high)], axis=-1)
        if self.family.cure:
            intervals["activation"] = special.expit(ends[:, -1])
        else:
            tails = np.array([0.5 - level / 2.0, 0.5 + level / 2.0])
            won, lost = self.successes[:, None] + 0.5, (self.trials - self.successes)[:, None] + 0.5
            ends = special.betaincinv(won, lost, tails)
            ends[:, 0] = np.where(self.successes <= 0.0, 0.0, ends[:, 0])
            ends[:, 1] = np.where(self.successes >= self.trials, 1.0, ends[:, 1])
            intervals["activation"] = ends
        return intervals

    @property
    def rate_known(self) -> NDArray[np.bool_]:
        """Whether the rows tell the rate, in proportion to how wide the law is."""
        # In units of an exponential's width, log(q75 / q25) = 1.57.
        wide = np.log(np.divide(*(self.law.quantile(level, self.rate) for level in (0.75, 0.25)))) / 1.57
        known = np.sqrt(self.covariance[:, 0, 0]) < KNOWN * np.maximum(wide, 1.0)
        return np.asarray(known & (self.successes > 0.0))


def fit_law(name: str, points: Points, *, coarse: Points | None = None, exact: bool = True) -> LawFit:
    """Fit the law of that name to every arm.

    Newton's method climbs on coarse points; then the maximum is walked to on the points themselves, unless not
    `exact`: then only the likelihood is taken there, which is as good for comparing laws.
    """
    rough = points.coarse() if coarse is None else coarse
    family = Family.of(name, points)
    at_rough = Likelihood(family, rough)
    has_threshold = np.sum(points.threshold_weight, axis=0) > 0.0
    theta, value, bend = climb(at_rough, family.start(rough), family.lower, family.upper, has_threshold)
    if points.cure:  # two ways to explain the failures: inactive, or too little
        other, level, bend2 = climb(at_rough, family.start(rough, _SURE), family.lower, family.upper, has_threshold)
        better = level > value
        theta, bend = np.where(better[:, None], other, theta), np.where(better[:, None, None], bend2, bend)
    if exact and points.thresholds.shape != rough.thresholds.shape:
        theta = polish(Likelihood(family, points), theta, bend, family.lower, family.upper)
    share = points.successes / np.maximum(points.trials, 1.0)
    return LawFit(
        family=family,
        theta=theta,
        hessian=bend,
        log_likelihood=log_likelihood(family, points, theta),
        activation=special.expit(theta[:, -1]) if points.cure else share,
        successes=points.successes,
        trials=points.trials,
    )
