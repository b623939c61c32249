"""Oracle: plays the optimum, because it has been told the truth."""

from __future__ import annotations

from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from headgate import checks
from headgate.errors import ShapeError, UnsupportedError
from headgate.laws import Floats
from headgate.oracle.kinds import maximise_kinds
from headgate.oracle.terms import Terms
from headgate.policies.ask import Ask
from headgate.policies.model import Curves, ModelPolicy
from headgate.policies.state import State
from headgate.problem.given import checked_kinds


@final
class Oracle(ModelPolicy):
    """The optimum for the truth: what regret is measured against.

    Parameters
    ----------
    activation : float or array (K,) or (batch, K)
        The true activation p of each arm, within [0, 1].
    rate : float or array (K,) or (batch, K)
        The true rate lambda of each arm, > 0.
    kinds : array (Q,), optional
        How frequent each hidden kind of rounds is. Then activation and rate end in axes of kinds and arms.
    """

    name = "oracle"
    additive = True
    tolerance = 1e-9
    max_nodes = 10_000

    activation: ArrayLike
    rate: ArrayLike
    kinds: ArrayLike | None = None

    def __post_init__(self) -> None:
        """Check."""
        super().__post_init__()
        vars(self).update(_truth=self._truth)  # raises here, if it does

    @cached_property
    def _share(self) -> Floats | None:
        return None if self.kinds is None else checked_kinds(self.kinds)

    @cached_property
    def _solved(self) -> dict[bytes, Floats]:
        """The last allocation, by what was asked: the same round comes again and again."""
        return {}

    @cached_property
    def _truth(self) -> Curves:
        p = checks.numbers("activation", self.activation, most=1.0)
        rate = checks.numbers("rate", self.rate, open_least=True)
        kinds = () if self._share is None else self._share.shape
        each = (*self.batch, *kinds, self.arms)
        try:
            return Curves(np.array(np.broadcast_to(p, each)), np.array(np.broadcast_to(rate, each)))
        except ValueError as cause:
            raise ShapeError(f"activation and rate must fit {each}, got shapes {p.shape} and {rate.shape}") from cause

    def curves(self, state: State) -> Curves:  # noqa: ARG002  # whatever was seen
        """Return the truth."""
        if self._share is not None:
            raise UnsupportedError("rounds of several kinds have no single curve for an arm to follow")
        return self._truth

    def split(self, state: State, ask: Ask) -> Floats:
        """Return the allocation that is best for the truth."""
        if self._share is None:
            return super().split(state, ask)
        limits, value = ask.limits, np.ones(self.arms) if ask.value is None else ask.value
        key = b"".join(part.tobytes() for part in (limits.budget, limits.lower, limits.upper, value))
        if key not in self._solved:
            self._solved.clear()
            p, rate, _ = self._truth
            best = maximise_kinds(self.laws, self._share, p, rate, value, Terms(limits, self.reward, self.tolerance))
            self._solved[key] = best.x
        return self._solved[key].copy()
