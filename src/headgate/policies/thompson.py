"""Thompson sampling on the cure model: the policy to use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate import checks
from headgate.evidence import Evidence
from headgate.laws import Floats
from headgate.laws.learned import OpenForm, open_form
from headgate.laws.standard import Standard
from headgate.oracle import standard_form
from headgate.oracle.cascade import check_one_convex_stretch
from headgate.policies.ask import Ask
from headgate.policies.base import Portions
from headgate.policies.model import Curves, ModelPolicy
from headgate.policies.state import State

# Variances of log rate and logit activation before anything is seen: a factor of e either way, and almost any p.
_SPREAD = (1.0, 3.0)
# How many arms the hyperprior's means and variances are worth.
_POOLING = np.array([2.0, 3.0])


@dataclass(slots=True, eq=False)
class ThompsonState(State):
    """What the posterior carries from round to round; d is 2, or 3 if a shape is learned."""

    memory: Floats
    """Of each arm theta_hat (d), its variances (d), the round it is due for a refresh, its successes then, and a root
    of its covariance (d^2): (..., K, 2 d + 2 + d^2)."""
    prior: Floats
    """Means and variances of theta over the arms: (..., 2, d)."""
    idle: NDArray[np.bool_]
    """Arms that the last round left without anything, though there was something to give and they could have it."""


@final
class Thompson(ModelPolicy):
    """Draw each arm's curve from its posterior, and give the allocation that is best for the draw.

    theta = (log rate, logit activation) of an arm has the likelihood of the mixture cure model: a success with
    threshold X counts log p + log g(X, rate), a failure at x counts log(1 - p G(x, rate)). The posterior is taken as
    normal around its mode, theta ~ N(theta_hat, I^-1) with the observed curvature I (Laplace), which a Newton step
    follows as evidence comes in. The prior is normal too and pooled: its means and variances are re-estimated every
    round from all arms (empirical Bayes), so that a new arm is expected to be like the others. There is no initial
    phase and no horizon, and every arm learns from every round. A shape given as "learn" is a third coordinate.

    Thompson (1933); for allocation with censored feedback, ours: the paper has no such policy.

    Parameters
    ----------
    calm : float > 0, default 5
        The noise of an arm with n successes is multiplied by (1 + n / calm)^(-1/2); of an arm that got nothing in the
        last round, by (1 + n / 5 calm)^(-1/2). Infinity never calms.
    """

    name = "thompson"
    additive = True

    calm: float = 5.0

    def __post_init__(self) -> None:
        """Check."""
        super().__post_init__()
        vars(self).update(calm=float(checks.numbers("calm", self.calm, open_least=True, infinite=True)))
        vars(self).update(_form=self._form)  # raises here, if the law has none
        if self.reward == "cascade":
            check_one_convex_stretch(self.laws)

    @cached_property
    def _open(self) -> OpenForm | None:
        """The law as a function of its shapes, if some are to be learned."""
        return open_form(self.laws, self.arms)

    @cached_property
    def _form(self) -> Standard:
        return standard_form(self.laws, self.arms) if self._open is None else self._open.origin

    @cached_property
    def _powers(self) -> tuple[Floats, Floats]:
        """How an arm's form depends on the third coordinate, (K, 4), and how far that may go, (K, 2)."""
        if self._open is None:
            return np.zeros((self.arms, 4)), np.zeros((self.arms, 2))
        return self._open.powers, self._open.limits

    @cached_property
    def _hyperprior(self) -> Floats:
        """Means and variances of theta before anything is seen: (2, d)."""
        means, variances = [np.log(self.arms / self.max_budget), 0.0], [*_SPREAD]
        if self._open is not None:  # the third coordinate is that of the shapes
            means, variances = [*means, self._open.mean], [*variances, self._open.variance]
        return np.array([means, variances])

    def start(self, evidence: Evidence | None = None) -> ThompsonState:
        """Return the state before the first round: every arm at the hyperprior's mean."""
        size = self._hyperprior.shape[1]
        memory = np.zeros((*self.batch, self.arms, 2 * size + 2 + size * size))
        memory[..., :size] = self._hyperprior[0]
        prior = np.tile(self._hyperprior, (*self.batch, 1, 1))
        idle = np.zeros((*self.batch, self.arms), dtype=np.bool_)
        return ThompsonState(self.evidence_or_none(evidence), 0, memory, prior, idle)

    def split(self, state: ThompsonState, ask: Ask) -> Floats:
        """Return the best allocation for a draw, and remember whom it left out."""
        x = super().split(state, ask)
        self._remember(state, ask, x)
        return x

    def decide_pour(
        self, state: ThompsonState, ask: Ask, step: float | None = None, resolution: float | None = None
    ) -> tuple[Portions, Any]:
        """Pour along a draw's curves; left out are those whom no budget reaches. See `ModelPolicy.decide_pour`."""
        (arms, amounts), after = super().decide_pour(state, ask, step, resolution)
        x = np.zeros(self.arms)
        np.add.at(x, arms, amounts)
        self._remember(state, ask, x)
        return (arms, amounts), after

    def _remember(self, state: ThompsonState, ask: Ask, x: Floats) -> None:
        able = np.any(x > 0.0, axis=-1, keepdims=True)
        if not ask.limits.free:
            able = able & (ask.limits.upper > 0.0)
        state.idle = np.where(able, x <= 0.0, state.idle)

    def curves(self, state: ThompsonState) -> Curves:
        """Return the curves of a draw: p = expit(theta_2), rate = exp(theta_1), and the shape at theta_3."""
        draw = self.draw(state)  # theta ~ N(theta_hat, calmed I^-1)
        form = self._form if self._open is None else self._open.curve_at(draw[..., 2])
        return Curves(special.expit(draw[..., 1]), np.exp(draw[..., 0]), form)

    def draw(self, state: ThompsonState) -> Floats:
        """Draw every arm's theta from its posterior, (..., K, d), which goes on to the next round."""
        from headgate.kernels.posterior import sample  # noqa: PLC0415  # machine code loads on first use

        form, size = self._form, self._hyperprior.shape[1]
        noise = self.normals(state, size * self.arms).reshape(*self.batch, self.arms, size)  # ~ N(0, 1)
        theta: Floats
        state.memory, theta, state.prior = sample(
            form.base, form.a, form.b, form.shift, form.cap, form.table, self.whole,
            state.evidence.bins, state.evidence.edges, state.memory, state.prior,
            self._hyperprior, _POOLING, *self._powers, self.calm, state.round, state.idle, noise,
        )  # fmt: skip
        return theta
