"""A policy that trusts the maximum likelihood of all that was seen: what the theory of greedy play is about."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from headgate.estimators import maximum, weak_prior
from headgate.oracle import standard_form
from headgate.policies import Curves, ModelPolicy, State


class BestGuess(ModelPolicy):
    """Play the optimum of the estimates."""

    name = "best-guess"
    additive = True

    def curves(self, state: State) -> Curves:
        form = standard_form(self.laws, self.arms)
        theta = maximum(form, self.whole, state.evidence, weak_prior(state.evidence)).theta
        return Curves(expit(theta[..., 1]), np.exp(theta[..., 0]))
