"""Thompson sampling on the cure model: the policy to use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from headgate import checks
from headgate.estimators import whole_arms
from headgate.feedback import Feedback
from headgate.laws import Floats, Law
from headgate.laws.learned import Slot
from headgate.oracle import standard_form
from headgate.policies.base import Common
from headgate.policies.model import Curves, ModelPolicy

# Variances of log rate and logit activation before anything is seen: a factor of e either way, and almost any p.
_SPREAD = (1.0, 3.0)
# How many arms the hyperprior's means and variances are worth.
_POOLING = np.array([2.0, 3.0])
# The range of a learned shape.
_SHAPES = (0.2, 10.0)


class Thompson(ModelPolicy):
    """Draw each arm's curve from its posterior, and give the allocation that is best for the draw.

    The posterior of (log rate, logit activation) is taken as normal around its mode, which a Newton step follows as
    evidence comes in. The prior is pooled: its means and variances are re-estimated every round from all arms, so that
    a new arm is expected to be like the others. There is no initial phase and no horizon, and every arm learns from
    every round. A shape given as "learn" is a third coordinate of the posterior.

    Parameters
    ----------
    calm
        The noise of an arm with n successes is multiplied by (1 + n / calm)^(-1/2); of an arm that last got
        nothing, by (1 + n / 5 calm)^(-1/2). Infinity never calms.
    """

    name = "thompson"
    additive = True
    state_names: ClassVar[tuple[str, ...]] = ("memory", "prior", "idle")

    def __init__(
        self,
        law: Law | Sequence[Law],
        arms: int,
        max_budget: float,
        *,
        calm: float = 5.0,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(law, arms, max_budget, options={"calm": calm}, **common)
        self.calm = float(checks.numbers("calm", calm, open_least=True, infinite=True))
        shape = self.law.shape_prior
        self._slot = int(Slot.NONE if shape is None else shape.slot)
        self._form = standard_form(self.law if shape is None else self.law.with_shape(np.exp(shape.mean)), arms)
        means, variances = [np.log(arms / self.max_budget), 0.0], [*_SPREAD]
        if shape is not None:  # the third coordinate is log shape
            means, variances = [*means, shape.mean], [*variances, shape.variance]
        self._hyperprior = np.array([means, variances])
        size = len(means)
        self.prior = np.tile(self._hyperprior, (*self.batch, 1, 1))
        # An arm's theta, its variances, when it is due for a refresh, its successes, a root of its covariance.
        self.memory = np.zeros((*self.batch, arms, 2 * size + 2 + size * size))
        self.idle = np.zeros((*self.batch, arms), dtype=np.bool_)
        self.memory[..., :size] = self._hyperprior[0]
        self._whole = whole_arms(self.law, arms)

    def observe(self, x: ArrayLike, feedback: Feedback) -> None:
        """Learn; see `note`."""
        super().observe(x, feedback)
        self.note(np.asarray(x, dtype=np.float64), feedback.reported)

    def note(self, x: Floats, reported: NDArray[np.bool_]) -> None:
        """Remember which arms got nothing of what was there."""
        told = reported & np.any(x > 0.0, axis=-1, keepdims=True)
        self.idle = np.where(told, x <= 0.0, self.idle)

    def _curves(self) -> Curves:
        draw = self._draw()  # theta ~ N(theta_hat, calmed I^-1)
        form = self._form
        if draw.shape[-1] == 3:  # a learned shape
            form = form.with_shape(Slot(self._slot), np.clip(np.exp(draw[..., 2]), *_SHAPES))
        return Curves(special.expit(draw[..., 1]), np.exp(draw[..., 0]), form)

    def _draw(self) -> Floats:
        from headgate.kernels.noise import normals  # noqa: PLC0415  # machine code loads on first use
        from headgate.kernels.posterior import sample  # noqa: PLC0415  # as above

        form, size = self._form, self._hyperprior.shape[1]
        first = np.uint64(size * self.arms * self.round)
        noise = normals(self._key, first, np.empty(size * self.arms)).reshape(*self.batch, self.arms, size)  # ~ N(0, 1)
        draw: Floats
        self.memory, draw, self.prior = sample(
            form.base, form.a, form.b, form.shift, form.cap, form.table, self._whole,
            self.evidence.bins, self.evidence.edges, self.memory, self.prior,
            self._hyperprior, _POOLING, self._slot, self.calm, self.round, self.idle, noise,
        )  # fmt: skip
        return draw
