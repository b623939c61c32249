"""RA-UCB: the paper's Algorithm 1, in its extended form."""

from __future__ import annotations

from typing import final

from headgate import checks
from headgate.policies.paper import Boosting


class ScaledBoosting(Boosting):
    """The paper's optimism, with its radii times a factor.

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

    @property
    def width(self) -> float:
        """What both radii are multiplied by: `scale`."""
        return self.scale


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
