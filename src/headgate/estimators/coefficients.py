"""What is believed of a regression's coefficients: a normal law, shared coefficients and each arm's own.

Its precision is an arrow (`headgate.evidence.information`): what is the arms' own is integrated out arm by arm, and the
rest is one Cholesky factor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from headgate.evidence.information import ROWS, Information
from headgate.laws import Floats

_RIDGE = 1e-11  # a share of the scaled precision's diagonal that is added to it: what rounding may have cost


class Coefficients(NamedTuple):
    """Shared coefficients (D,) and what is each arm's own, (K, o)."""

    shared: Floats
    own: Floats

    def predictors(self, columns: Floats, arm: NDArray[np.int64]) -> Floats:
        """Return the predictors of rows: (n, C)."""
        width = columns.shape[1]
        phi = columns @ self.shared.reshape(-1, width).T
        if len(self.own):
            mine = self.own[arm].reshape(len(arm), phi.shape[1], -1)
            phi = phi + np.einsum("ncq,nq->nc", mine, columns[:, : mine.shape[2]])
        return phi

    def towards(self, other: Coefficients, share: float) -> Coefficients:
        """Return a point on the way to another."""
        return Coefficients(
            self.shared + share * (other.shared - self.shared), self.own + share * (other.own - self.own)
        )


@dataclass(frozen=True)
class Posterior:
    """The normal law whose precision and precision-weighted mean some information is, the prior among it."""

    information: Information

    @cached_property
    def _inner(self) -> tuple[Floats, Floats]:
        """Inverse of each arm's own precision, and that times cross: (K, o, o) and (K, o, D)."""
        inverse: Floats = np.asarray(np.linalg.inv(self.information.own), dtype=np.float64)
        return inverse, inverse @ self.information.cross.transpose(0, 2, 1)

    @cached_property
    def _outer(self) -> tuple[Floats, Floats]:
        """Of the coefficients with what is the arms' own integrated out: scale and Cholesky factor of the precision."""
        precision = self.information.precision
        if len(self.information.own):
            size = len(precision)
            cross = self.information.cross.transpose(1, 0, 2).reshape(size, -1)
            precision = precision - cross @ self._inner[1].reshape(-1, size)
        scale = 1.0 / np.sqrt(np.maximum(np.diagonal(precision), 1e-300))
        scaled = precision * scale[:, None] * scale
        ridge = _RIDGE
        while True:
            try:
                factor = np.asarray(np.linalg.cholesky(scaled + ridge * np.eye(len(scale))), dtype=np.float64)
            except np.linalg.LinAlgError:  # rounding: the ridge is too thin
                ridge *= 100.0
            else:
                return scale, factor

    @cached_property
    def mean(self) -> Coefficients:
        """The mean, and mode."""
        scale, factor = self._outer
        vector, own_vector = self.information.vector, self.information.own_vector
        if len(own_vector):
            vector = vector - self._inner[1].reshape(-1, len(vector)).T @ own_vector.ravel()
        half = solve_triangular(factor, scale * vector, lower=True)
        return self._with_own(scale * solve_triangular(factor, half, lower=True, trans=1), own_vector)

    def with_vectors(self, vector: Floats, own_vector: Floats) -> Posterior:
        """Return the law with other vectors, (D,) and (K, o), whose precision need not be factorised again."""
        other = Posterior(replace(self.information, vector=vector, own_vector=own_vector))
        vars(other).update({name: vars(self)[name] for name in ("_inner", "_outer") if name in vars(self)})
        return other

    def _with_own(self, shared: Floats, own_vector: Floats) -> Coefficients:
        """Shared coefficients, and the mean of each arm's own given them."""
        if not len(own_vector):
            return Coefficients(shared, own_vector)
        inverse, by_shared = self._inner
        return Coefficients(shared, np.einsum("kop,kp->ko", inverse, own_vector) - by_shared @ shared)

    def draw(self, noise: Floats) -> Coefficients:
        """Turn noise ~ N(0, 1), (D + K o,), into a draw."""
        scale, factor = self._outer
        size = len(scale)
        shared = self.mean.shared + scale * solve_triangular(factor, noise[:size], lower=True, trans=1)
        drawn = self._with_own(shared, self.information.own_vector)
        if not len(drawn.own):
            return drawn
        wide = np.linalg.cholesky(self._inner[0])
        return Coefficients(shared, drawn.own + np.einsum("kop,kp->ko", wide, noise[size:].reshape(drawn.own.shape)))

    @cached_property
    def covariance(self) -> Floats:
        """Of the shared coefficients: (D, D)."""
        scale, factor = self._outer
        half = solve_triangular(factor, np.diag(scale), lower=True)
        return np.asarray(half.T @ half)

    def own_variances(self) -> Floats:
        """Of what is each arm's own: (K, o)."""
        inverse, by_shared = self._inner
        spread = (by_shared @ self.covariance) * by_shared
        return np.asarray(np.einsum("koo->ko", inverse) + spread.sum(axis=-1))

    def covariances(self, columns: Floats, arm: NDArray[np.int64]) -> Floats:
        """Of the predictors of rows: (n, C, C)."""
        count, width = columns.shape
        size = len(self.information.vector) // width
        blocks = self.covariance.reshape(size, width, size, width)
        covariances = np.empty((count, size, size))
        pairs = [(c, e) for c in range(size) for e in range(c + 1)]
        stacked = np.concatenate([blocks[c, :, e, :] for c, e in pairs], axis=1)
        for start in range(0, count, ROWS):
            some = columns[start : start + ROWS]
            product = (some @ stacked).reshape(len(some), len(pairs), width)
            for k, (c, e) in enumerate(pairs):
                part = np.einsum("nw,nw->n", product[:, k], some)
                covariances[start : start + ROWS, c, e] = covariances[start : start + ROWS, e, c] = part
        if not len(self.information.own):
            return covariances
        inverse, by_shared = self._inner
        o = inverse.shape[-1]
        mine = np.zeros((count, size, o))  # the row's columns as they meet what is the arm's own
        for c in range(size):
            mine[:, c, c * (o // size) : (c + 1) * (o // size)] = columns[:, : o // size]
        # phi = w'theta + m'delta, delta = b - B theta + noise of covariance `inverse`
        all_columns = np.zeros((count, size, size * width))
        for c in range(size):
            all_columns[:, c, c * width : (c + 1) * width] = columns
        net = all_columns - mine @ by_shared[arm]
        return np.asarray(
            net @ self.covariance @ net.transpose(0, 2, 1) + mine @ inverse[arm] @ mine.transpose(0, 2, 1)
        )

    def loss(self, at: Coefficients) -> float:
        """Minus the log density, up to a constant."""
        info = self.information
        total = 0.5 * at.shared @ info.precision @ at.shared - info.vector @ at.shared
        if len(info.own):
            pull = np.einsum("kdo,d->ko", info.cross, at.shared) - info.own_vector
            total += np.sum(at.own * (pull + 0.5 * np.einsum("kop,kp->ko", info.own, at.own)))
        return float(total)

    def log_determinant(self) -> float:
        """Of the precision."""
        scale, factor = self._outer
        total = 2.0 * np.sum(np.log(np.diagonal(factor)) - np.log(scale))
        return float(total + (np.sum(np.linalg.slogdet(self.information.own)[1]) if len(self.information.own) else 0.0))
