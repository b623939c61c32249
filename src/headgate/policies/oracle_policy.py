"""Oracle: plays the optimum, because it has been told the truth."""

from __future__ import annotations

from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from headgate import checks
from headgate.errors import ShapeError
from headgate.policies.model import Curves, ModelPolicy
from headgate.policies.state import State


@final
class Oracle(ModelPolicy):
    """The optimum for the truth: what regret is measured against.

    Parameters
    ----------
    activation : float or array (K,) or (batch, K)
        The true activation p of each arm, within [0, 1].
    rate : float or array (K,) or (batch, K)
        The true rate lambda of each arm, > 0.
    """

    name = "oracle"
    additive = True
    tolerance = 1e-9
    max_nodes = 10_000

    activation: ArrayLike
    rate: ArrayLike

    def __post_init__(self) -> None:
        """Check."""
        super().__post_init__()
        vars(self).update(_truth=self._truth)  # raises here, if it does

    @cached_property
    def _truth(self) -> Curves:
        p = checks.numbers("activation", self.activation, most=1.0)
        rate = checks.numbers("rate", self.rate, open_least=True)
        each = (*self.batch, self.arms)
        try:
            return Curves(np.array(np.broadcast_to(p, each)), np.array(np.broadcast_to(rate, each)))
        except ValueError as cause:
            raise ShapeError(f"activation and rate must fit {each}, got shapes {p.shape} and {rate.shape}") from cause

    def curves(self, state: State) -> Curves:  # noqa: ARG002  # whatever was seen
        """Return the truth."""
        return self._truth
