"""What a regression says of arms with given features: activation, rate, chance of success, with intervals."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from headgate import checks
from headgate.errors import ParameterError
from headgate.estimators.belief import Misfit
from headgate.estimators.estimate import Estimate
from headgate.estimators.success import Success
from headgate.laws import Floats

_KNOWN = 0.5  # standard deviation below which a predictor counts as known


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ContextualEstimate(Estimate):
    """An estimate whose intervals are those of a normal posterior of predictors: log median, logit p, spread."""

    predictors: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    """(..., K, 3)."""
    covariance: Floats = field(default_factory=lambda: np.zeros((0, 3, 3)))
    """(..., K, 3, 3)."""
    law_rows: tuple[Floats, Floats, Floats] = field(default_factory=lambda: (np.zeros(0),) * 3)
    """Columns of each arm's law, maps and table, as `headgate.kernels.regression` wants them."""
    level: float = 0.9
    doubts: tuple[Misfit, ...] = ()

    @property
    def misfits(self) -> tuple[Misfit, ...]:
        """Of each arm that contradicts its law the region of amounts that does so most."""
        return self.doubts

    def success(self, x: ArrayLike) -> Success:
        """Return the chance that each arm succeeds with x, one number or (..., K), with its interval (delta method)."""
        from headgate.kernels.regression import NUMBERS, REACHED, VALUE, row_likelihood  # noqa: PLC0415  # as needed

        amount = np.broadcast_to(checks.numbers("x", x), self.predictors.shape[:-1])
        row, maps, table = self.law_rows
        whole = row[..., -1] > 0.0
        amount = np.where(whole, np.floor(amount), amount)
        with np.errstate(all="ignore"):  # an arm that gets nothing has no chance, and no slope
            likelihood = row_likelihood(
                row, maps, table, np.int64(REACHED), np.maximum(amount, 1e-300), self.predictors, np.empty(NUMBERS)
            )
            chance = np.where(amount > 0.0, np.exp(likelihood[..., VALUE]), 0.0)
            slope = likelihood[..., 1:4] / np.maximum(1.0 - chance, 1e-12)[..., None]  # of the logit
            wide = _quantile(self.level) * np.sqrt(_quadratic(slope, self.covariance))
            middle = special.logit(chance)
            ends = np.stack([special.expit(middle - wide), special.expit(middle + wide)], axis=-1)
        return Success(chance, np.where(amount[..., None] > 0.0, ends, 0.0))


def contextual_estimate(
    row: Floats, maps: Floats, table: Floats, rate: Floats, shape: Floats | None, phi: Floats, covariance: Floats,
    level: float, law: dict[str, Floats], doubts: tuple[Misfit, ...],
) -> ContextualEstimate:  # fmt: skip
    """Return the estimate of arms with predictors `phi` (..., K, 3) and their covariance."""
    if not 0.0 < level < 1.0:
        raise ParameterError(f"level must be within (0, 1), got {level!r}")
    wide = _quantile(level) * np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0.0))
    sides = np.array([-1.0, 1.0])
    activation = special.expit(phi[..., 1])
    product = np.stack([np.full(rate.shape, -1.0), 1.0 - activation, np.zeros(rate.shape)], axis=-1)  # log p - l
    spread = np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1)[..., :2], 0.0))
    return ContextualEstimate(
        activation=activation, rate=rate,
        activation_interval=special.expit(phi[..., 1, None] + sides * wide[..., 1, None]),
        rate_interval=rate[..., None] * np.exp(sides * wide[..., 0, None]),
        identified=np.all(spread < _KNOWN, axis=-1),
        product_identified=np.sqrt(_quadratic(product, covariance)) < _KNOWN,
        shape=shape, law=law, predictors=phi, covariance=covariance, law_rows=(row, maps, table), level=level,
        doubts=doubts,
    )  # fmt: skip


def _quantile(level: float) -> float:
    return float(special.ndtri(0.5 + level / 2.0))


def _quadratic(vector: Floats, matrix: Floats) -> Floats:
    """v' M v, not below 0."""
    return np.asarray(np.maximum(np.einsum("...c,...ce,...e->...", vector, matrix, vector), 0.0))
