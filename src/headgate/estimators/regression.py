"""Cure regression: how a round's results move what is believed of coefficients.

The predictors of a row are phi = (l, t, s): log median, logit activation and, where the shape is learned, spread,
each linear in the row's columns (1 and its features), with the arm's own deviation added. A round is absorbed by
Fisher's scoring (Newton's method with the expected Hessian) on its likelihood with the posterior so far as prior. The
likelihood is then kept as a quadratic at the mode: its gradient there, and Fisher's information of each row
(`headgate.kernels.regression`, `headgate.evidence.information`). Hessians of single rows are indefinite; made positive
they would add up to knowledge that nobody has, along the ridge on which median and activation trade.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.estimators.coefficients import Coefficients, Posterior
from headgate.evidence.information import Information
from headgate.laws import Floats

_INFORMATION = np.array([[0, 1, 3], [1, 2, 4], [3, 4, 5]])  # where a row's information stands
_STEPS = 25
_MOST = 1e5  # curvature of a row beyond which it counts no more: far in a tail it would rule for ever
_CLOSE = 1e-4  # the search ends where a step can gain less: a seventieth of a standard deviation
_HALVINGS = 12
_FARTHEST = 3.0  # how far a step may move a predictor
_NEAR = 0.1  # how far predictors may move while their information is taken to be the same
FAR = 30.0
"""How far from log max_budget log medians are followed."""


class Rows(NamedTuple):
    """Results of arms that got something, as `row_likelihood` wants them."""

    candidate: Floats
    """Columns of each row's law: (n, 12), or (12,), those of all."""
    maps: Floats
    table: Floats
    kind: NDArray[np.int64]
    amount: Floats
    allocation: Floats
    threshold_share: float
    """The share of successes that tell their threshold."""
    columns: Floats
    """1 and the features: (n, d + 1)."""
    arm: NDArray[np.int64]
    centre: float
    """Of the log medians that are followed: log max_budget."""
    weight: Floats | None = None
    """How often each row counts, (n,); once by default."""

    def _followed(self, phi: Floats) -> Floats:
        """Predictors (n, C) as the kernels want them, (n, 3)."""
        theta = np.zeros((len(phi), 3))
        theta[:, : phi.shape[1]] = phi
        theta[:, 0] = np.clip(theta[:, 0], self.centre - FAR, self.centre + FAR)
        return theta

    def information(self, phi: Floats) -> Floats:
        """Return Fisher's information of each row at its predictors (n, C): (n, C, C)."""
        from headgate.kernels.regression import row_information  # noqa: PLC0415  # loads on first use

        with np.errstate(all="ignore"):  # the kernel counts on infinities, and handles them
            information = row_information(
                self.candidate,
                self.maps,
                self.table,
                self.allocation,
                self.threshold_share,
                self._followed(phi),
                np.empty(6),
            )
        size = phi.shape[1]
        information = self._weighed(_finite(information, 0.0))
        return positive(information[:, _INFORMATION[:size, :size]])

    def likelihood(self, phi: Floats) -> Floats:
        """Return value and gradient of each row at its predictors (n, C): (n, 4)."""
        from headgate.kernels.regression import NUMBERS, row_likelihood  # noqa: PLC0415  # loads on first use

        theta = self._followed(phi)
        with np.errstate(all="ignore"):  # the kernel counts on infinities, and handles them
            likelihood = row_likelihood(
                self.candidate, self.maps, self.table, self.kind, self.amount, theta, np.empty(NUMBERS)
            )
        return self._weighed(_finite(likelihood, -1e30))

    def _weighed(self, values: Floats) -> Floats:
        return np.asarray(values if self.weight is None else values * self.weight[:, None])


def _finite(values: Floats, least: float) -> Floats:
    """Return numbers as they are, but for those that are none."""
    if np.isfinite(values.sum()):  # one pass, where all of them are
        return values
    return np.nan_to_num(values, copy=False, nan=0.0, posinf=1e30, neginf=least)


class Absorbed(NamedTuple):
    """What a round's rows come to at the mode, or so near to it that it makes no difference."""

    bend: Floats
    """Fisher's information of each row: (n, C, C)."""
    slope: Floats
    """bend phi + gradient: what is added to the information's vector, (n, C)."""
    information: Information
    """Their sum, in coefficients of the rows' columns."""
    log_evidence: float
    """The rows' log marginal likelihood, by Laplace's integral."""


def absorbed(prior: Posterior, rows: Rows, start: Coefficients | None = None) -> Absorbed:
    """Find the mode of the posterior after some rows, by Fisher's scoring with halved steps, and expand there.

    The search begins at `start`, by default at the prior's mean.
    """
    at = prior.mean if start is None else start
    phi = at.predictors(rows.columns, rows.arm)
    likelihood = rows.likelihood(phi)
    before = prior.loss(prior.mean)
    height = likelihood[:, 0].sum() - prior.loss(at)
    expansion, place, gain = _Expansion.at(prior, rows, phi, likelihood), phi, 0.0
    for _ in range(_STEPS):
        target = expansion.after.mean
        if expansion.after.loss(at) - expansion.after.loss(target) < _CLOSE:  # as the quadratic has it
            break
        way = target.predictors(rows.columns, rows.arm) - phi
        share = min(1.0, _FARTHEST / max(np.abs(way).max(), _FARTHEST))
        for _ in range(_HALVINGS):
            trial, phi_trial = at.towards(target, share), phi + share * way
            likelihood_trial = rows.likelihood(phi_trial)
            height_trial = likelihood_trial[:, 0].sum() - prior.loss(trial)
            if height_trial >= height:
                break
            share *= 0.5
        else:
            break
        before_gain, gain = gain, height_trial - height
        at, phi, likelihood, height = trial, phi_trial, likelihood_trial, height_trial
        if share < 1.0 or gain > 0.25 * before_gain > 0.0:
            expansion, place = _Expansion.at(prior, rows, phi, likelihood), phi
        else:  # information costs most: it is kept while steps with it get on
            expansion = expansion.moved(prior, rows, phi, likelihood)
        if gain < _CLOSE:
            break
    if np.abs(phi - place).max() > _NEAR:
        expansion = _Expansion.at(prior, rows, phi, likelihood)
    log_evidence = height + before - 0.5 * (expansion.after.log_determinant() - prior.log_determinant())
    return Absorbed(expansion.bend, expansion.slope, expansion.sum, log_evidence)


class _Expansion(NamedTuple):
    """The rows' log likelihood as a quadratic around some predictors."""

    bend: Floats
    less: Floats
    """How much less rows count that are too steep: (n,)."""
    slope: Floats
    sum: Information
    after: Posterior
    """With the prior."""

    @classmethod
    def at(cls, prior: Posterior, rows: Rows, phi: Floats, likelihood: Floats) -> _Expansion:
        """Expand at predictors phi (n, C), with the rows' `likelihood` and its slopes there."""
        bend, gradient = rows.information(phi), likelihood[:, 1 : 1 + phi.shape[1]]
        steep = np.maximum(np.trace(bend, axis1=1, axis2=2), np.abs(gradient).max(axis=1))
        less = _MOST / np.maximum(steep, _MOST)  # in both alike, so that they point to where they did
        if less.min() < 1.0:
            bend = bend * less[:, None, None]
        slope = np.einsum("nce,ne->nc", bend, phi) + gradient * less[:, None]
        info = prior.information
        total = Information.empty(info.vector.size, len(info.own), info.own.shape[-1])
        total.add(rows.columns, rows.arm, bend, slope)
        return cls(bend, less, slope, total, Posterior(info.plus(total)))

    def moved(self, prior: Posterior, rows: Rows, phi: Floats, likelihood: Floats) -> _Expansion:
        """Take the gradients at other predictors, and the information as it is."""
        slope = np.einsum("nce,ne->nc", self.bend, phi) + likelihood[:, 1 : 1 + phi.shape[1]] * self.less[:, None]
        vector, own_vector = np.zeros_like(self.sum.vector), np.zeros_like(self.sum.own_vector)
        total = replace(self.sum, vector=vector, own_vector=own_vector)
        total.add_slopes(rows.columns, rows.arm, slope)
        info = prior.information
        after = self.after.with_vectors(info.vector + total.vector, info.own_vector + total.own_vector)
        return self._replace(slope=slope, sum=total, after=after)


def positive(matrices: Floats) -> Floats:
    """Return symmetric matrices (n, C, C) with their negative eigenvalues set to 0."""
    if matrices.shape[-1] == 2:  # in closed form: middle + radius and middle - radius
        middle = 0.5 * (matrices[:, 0, 0] + matrices[:, 1, 1])
        radius = np.hypot(0.5 * (matrices[:, 0, 0] - matrices[:, 1, 1]), matrices[:, 0, 1])
        high, low = np.maximum(middle + radius, 0.0), np.maximum(middle - radius, 0.0)
        share = (high - low) / np.maximum(2.0 * radius, 1e-300)
        identity = np.eye(2)
        rest = matrices - (middle - radius)[:, None, None] * identity
        return np.asarray(low[:, None, None] * identity + share[:, None, None] * rest)
    values, vectors = np.linalg.eigh(matrices)
    return np.asarray((vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1))
