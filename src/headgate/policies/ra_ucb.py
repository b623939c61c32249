"""RA-UCB: the paper's Algorithm 1, in its extended form."""

from __future__ import annotations

import warnings
from typing import final

import numpy as np

from headgate import checks
from headgate.errors import AssumptionWarning
from headgate.estimators import corrected_rate
from headgate.evidence import Evidence
from headgate.policies.paper import Boosting

_DOUBT, _ENOUGH = 5.0, 30  # standard errors of log rate, about, and thresholds, before an estimate is believed


class ScaledBoosting(Boosting):
    """The paper's optimism, with its radii times a factor.

    Its guarantee is for laws that are concave on [0, B] and rates within Lambda. Used elsewhere it works, without one,
    and says so by an `AssumptionWarning`; `headgate.theory.check` looks at all of the paper's assumptions.

    Parameters
    ----------
    scale : float >= 0, default 1
        What both confidence radii are multiplied by. As the paper has them (1) they are vacuous at any real horizon;
        1e-6 brings its figures back.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        """Check."""
        vars(self).update(scale=float(checks.numbers("scale", self.scale)))
        super().__post_init__()
        shaped = np.flatnonzero(np.any(self.laws.inflection(np.repeat(self.rates, self.arms).reshape(2, -1)) > 0.0, 0))
        if shaped.size:
            warnings.warn(
                f"{self.name} is proved for laws that are concave on [0, B]; arm {shaped[0]} follows the S-shaped "
                f"{self.laws.of_arm(int(shaped[0]))}: no bound on its regret holds there",
                AssumptionWarning,
                stacklevel=3,
            )

    @property
    def width(self) -> float:
        """What both radii are multiplied by: `scale`."""
        return self.scale

    def look_at(self, evidence: Evidence, clock: int) -> None:
        """Warn once of an arm whose rate lies above Lambda, beyond any doubt; looked at when t' is a power of 2.

        Estimated by the corrected form: the paper's own is biased, and would warn of rates that are within. Below
        Lambda thresholds are nearly uniform on what was given, whatever the rate, and nothing can be said.
        """
        if clock & (clock - 1) or "_warned" in vars(self):
            return
        rate, thresholds = corrected_rate(self.laws, evidence), evidence.counts("seen").sum(axis=-1)
        doubt = np.exp(_DOUBT / np.sqrt(np.maximum(thresholds, 1.0)))
        outside = (thresholds >= _ENOUGH) & (rate > doubt * self.rates[1])
        if np.any(outside):
            vars(self)["_warned"] = True
            warnings.warn(
                f"{self.name} takes rates to lie within [{self.rates[0]:.4g}, {self.rates[1]:.4g}]; that of arm "
                f"{np.argwhere(outside)[0][-1]} is estimated at {rate[outside][0]:.4g}: give a wider rate_range",
                AssumptionWarning,
                stacklevel=2,
            )


@final
class RAUCB(ScaledBoosting):
    """Resource allocation by upper confidence bounds: the paper's algorithm as written.

    An initial phase of floor(log T) rounds with everything on each arm; then two clocks t and t': in each round one arm
    i is boosted, lambda_i and p_i at the end of their intervals that makes more of it most attractive and the others
    at the other end, and only arm i is updated. Radii, with r = sqrt(3 log t' / 2 n_i):
    lambda_hat +- (B / L_mu) r and p_hat +- (L_lambda / L_mu) B (1 + p_hat) / C_hat r.

    "Learning to Allocate Resources with Censored Feedback", Algorithm 1 and its extended pseudocode.
    """

    name = "ra-ucb"
