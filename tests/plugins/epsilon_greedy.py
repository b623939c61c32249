"""A policy that lives outside of the package: mostly the best guess, now and then an even split."""

from __future__ import annotations

import numpy as np

import headgate as hg
from headgate.policies import Curves, ModelPolicy, State


class EpsilonGreedy(ModelPolicy):
    """With probability `epsilon` every arm is taken to be alike; else the maximum likelihood is believed.

    Parameters
    ----------
    epsilon : float in [0, 1], default 0.1
        The share of rounds that explore.
    """

    name = "epsilon-greedy"
    additive = True

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        """Check."""
        super().__post_init__()
        if not 0.0 <= self.epsilon <= 1.0:
            raise hg.errors.ParameterError(f"epsilon must be within [0, 1], got {self.epsilon!r}")

    def curves(self, state: State) -> Curves:
        """Return the curves of this round."""
        guess = hg.estimators.likelihood(self.laws, state.evidence, interval="fisher")
        explore = self.uniforms(state, 1) < self.epsilon
        rate = np.where(explore, self.arms / self.max_budget, guess.rate)
        return Curves(np.where(explore, 0.5, guess.activation), rate)
