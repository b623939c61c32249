"""What is made of a contextual policy's regression: a draw to decide by, and the estimate that people see."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate.estimators.contextual import ContextualEstimate, contextual_estimate
from headgate.laws import Floats, Law
from headgate.laws.learned import open_form
from headgate.policies.contextual_regression import Regression
from headgate.policies.contextual_state import ContextualState


def law_chances(state: ContextualState) -> Floats:
    """How probable each law is: (..., M)."""
    return np.asarray(special.softmax(state.log_evidence, axis=-1))


def drawn(
    regression: Regression, state: ContextualState, z: Floats, noise: Floats, chance: Floats, calm: float
) -> tuple[Floats, NDArray[np.int64]]:
    """Draw predictors (batch, n, 3) of rows (batch, n, d), and laws (batch, n).

    `noise` ~ N(0, 1), a number for each coefficient; `chance` (batch, 1) says which law.
    """
    phi, laws = np.zeros((*z.shape[:-1], 3)), np.zeros(z.shape[:-1], dtype=np.int64)
    arm, chances = np.arange(z.shape[-2]), law_chances(state)
    for index in np.ndindex(z.shape[:-2]):
        shares = np.cumsum(chances[index])
        law = min(int(np.searchsorted(shares, chance[(*index, 0)])), len(shares) - 1)
        view = regression.view(state, index, law, z[index], more=True)
        middle = view.posterior.mean.predictors(view.columns, arm)
        away = view.posterior.draw(noise[index]).predictors(view.columns, arm) - middle
        if calm < np.inf:
            away = calmed(away, view.posterior.covariances(view.columns, arm), calm)
        phi[index][:, : regression.size], laws[index] = middle + away, law
    return phi, laws


def calmed(away: Floats, covariance: Floats, calm: float) -> Floats:
    """Return noise of predictors (n, C), multiplied by (1 + 1 / (calm v))^(-1/2) along each axis of variance v.

    `covariance` is (n, C, C). An axis along which nothing is known, such as the ridge on which median and activation
    trade, keeps its noise.
    """
    if away.shape[1] == 2:  # in closed form: middle + radius and middle - radius
        a, b, c = covariance[:, 0, 0], covariance[:, 0, 1], covariance[:, 1, 1]
        middle, radius = 0.5 * (a + c), np.hypot(0.5 * (a - c), b)
        low, high = _calm_factor(middle - radius, calm), _calm_factor(middle + radius, calm)
        rise = (high - low) / np.maximum(2.0 * radius, 1e-300)
        base = low - rise * (middle - radius)
        first, second = away[:, 0], away[:, 1]
        along = np.stack([a * first + b * second, b * first + c * second], axis=1)
        return np.asarray(base[:, None] * away + rise[:, None] * along)
    variance, axes = np.linalg.eigh(covariance)
    return np.asarray(np.einsum("nce,ne,nfe,nf->nc", axes, _calm_factor(variance, calm), axes, away))


def _calm_factor(variance: Floats, calm: float) -> Floats:
    return np.asarray(1.0 / np.sqrt(1.0 + 1.0 / (calm * np.maximum(variance, 1e-12))))


def estimated(
    regression: Regression, state: ContextualState, z: Floats, level: float, possible: tuple[Law, ...], netted: bool
) -> ContextualEstimate:
    """Return what is believed of rows (batch, n, d), under the most probable of the `possible` laws."""
    phi, covariance, laws = believed(regression, state, z)
    chances, candidates, arm = law_chances(state), regression.of_arms(z.shape[-2]), np.arange(z.shape[-2])
    shown = {law.name: chances[..., m] for m, law in enumerate(possible)} if len(possible) > 1 else {}
    opened = open_form(possible[0], candidates.base.shape[1]) if len(possible) == 1 else None
    shape = None if opened is None else np.asarray(np.exp(opened.log_shape(candidates.coordinate(laws, phi[..., 2]))))
    doubts = regression.doubts(state) if netted else ()
    rate = regression.curves_at(phi, laws).rate
    return contextual_estimate(
        candidates.columns[laws, arm], candidates.maps, candidates.table, rate, shape, phi, covariance,
        level, shown, doubts,
    )  # fmt: skip


def believed(regression: Regression, state: ContextualState, z: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return predictors (batch, n, 3) of rows, their covariance, and the law: the most probable of each learner."""
    arm, chances, size = np.arange(z.shape[-2]), law_chances(state), regression.size
    phi, covariance = np.zeros((*z.shape[:-1], 3)), np.zeros((*z.shape[:-1], 3, 3))
    laws = np.zeros(z.shape[:-1], dtype=np.int64)
    for index in np.ndindex(z.shape[:-2]):
        law = int(np.argmax(chances[index]))
        view = regression.view(state, index, law, z[index], more=False)
        phi[index][:, :size] = view.posterior.mean.predictors(view.columns, arm)
        covariance[index][:, :size, :size] = view.posterior.covariances(view.columns, arm)
        laws[index] = law
    return phi, covariance, laws
