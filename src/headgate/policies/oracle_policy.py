"""Oracle: plays the optimum, because it has been told the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from headgate import checks
from headgate.errors import ParameterError, ShapeError
from headgate.laws import Law
from headgate.policies.base import Common
from headgate.policies.model import Curves, ModelPolicy


class Oracle(ModelPolicy):
    """The optimum for the true `activation` and `rate`, (K,) or (batch, K): what regret is measured against."""

    name = "oracle"
    additive = True
    tolerance = 1e-9
    max_nodes = 10_000

    def __init__(
        self,
        law: Law | Sequence[Law],
        arms: int,
        max_budget: float,
        *,
        activation: ArrayLike | None = None,
        rate: ArrayLike | None = None,
        **common: Unpack[Common],
    ) -> None:
        if activation is None or rate is None:
            raise ParameterError("Oracle needs the truth: give activation= and rate= of every arm")
        options = {"activation": np.asarray(activation), "rate": np.asarray(rate)}
        super().__init__(law, arms, max_budget, options=options, **common)
        p, lam = checks.numbers("activation", activation, most=1.0), checks.numbers("rate", rate, open_least=True)
        try:
            self.activation, self.rate = (np.array(np.broadcast_to(v, (*self.batch, arms))) for v in (p, lam))
        except ValueError as cause:
            raise ShapeError(
                f"activation and rate must fit {(*self.batch, arms)}, got shapes {p.shape} and {lam.shape}"
            ) from cause

    def _curves(self) -> Curves:
        return Curves(self.activation, self.rate)
