"""LRUCB: optimism with likelihood-ratio confidence sets that hold at all times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from headgate.errors import UnsupportedError
from headgate.evidence import Evidence
from headgate.laws import Floats
from headgate.oracle.curves import maximise_points
from headgate.oracle.terms import Terms
from headgate.policies.ask import Ask
from headgate.policies.base import Policy
from headgate.policies.confidence import Confidence
from headgate.policies.state import State

_PLACES = 40  # amounts at which an envelope is kept, evenly in log x
_EARLY = 0.1  # the smallest amount of an envelope, in units of the threshold that the largest rate makes typical
_LOOKS = 193  # amounts at which an arm's envelope is looked at to split a budget
_CURVED = 5.0  # how much closer together small amounts are looked at: by a factor of exp(5)
_TOLERANCE, _NODES = 1e-6, 200  # when to stop looking for a better split


@dataclass(slots=True, eq=False)
class LRUCBState(State):
    """The envelopes in use."""

    curves: Floats
    """Upper bound on each arm's success at the places, and its slope in log x: (..., K, places, 2)."""
    due: Floats
    """How many results of an arm must have been seen for its envelope to be drawn again: (..., K)."""


@final
class LRUCB(Policy):
    """Give the allocation that is best for the largest success curves that evidence does not rule out.

    C_t = {theta : L_t(theta) >= (delta / K) * integral of L_t under a prior}, for each arm, is a confidence set that
    holds at all times at once whatever the allocations depended on (see `headgate.policies.confidence`). With

        U_i(x) = max of p G(x, rate) over C_t,

    the allocation maximises the sum of v_i U_i(x_i) (of -log(1 - U_i) for a cascade). There is no horizon, no initial
    phase, no Lipschitz constant and no concavity. The promise is for worlds that do not drift: discounted evidence is
    no martingale, so `discount` is refused.

    Mixture martingales: Robbins (1970), "Statistical methods related to the law of the iterated logarithm".

    Parameters
    ----------
    delta : float in (0, 1), default 0.05
        The probability with which the truth of any arm is allowed to leave its set at any time.
    rate_range : (float, float), default (K / (100 max_budget), 50 K / max_budget)
        The least and largest rate that is thought possible. Beyond a wide range the optimist would try every arm
        with next to nothing first.
    """

    name = "lr-ucb"
    additive = True

    delta: float = 0.05
    rate_range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Check."""
        super().__post_init__()
        if self.discount < 1.0:
            raise UnsupportedError(
                "LRUCB cannot forget: its sets hold because the likelihood ratio of all that was seen is a martingale, "
                f"which that of discounted evidence is not; discount must be 1, got {self.discount:g}"
            )
        vars(self).update(confidence=self.confidence)  # raises here, if it does

    @cached_property
    def confidence(self) -> Confidence:
        """The confidence sets."""
        return Confidence(self.laws, self.arms, self.max_budget, self.delta, self.rate_range)

    @cached_property
    def log_places(self) -> Floats:
        """The logarithms of the amounts at which envelopes are known."""
        first = min(_EARLY / self.confidence.rates[1], 0.1 * self.max_budget)
        return np.linspace(np.log(first), np.log(self.max_budget), _PLACES)

    @cached_property
    def _amounts(self) -> Floats:
        shares = np.expm1(np.linspace(0.0, _CURVED, _LOOKS)[:-1]) / np.expm1(_CURVED)
        return self.max_budget * np.append(shares, 1.0)

    def start(self, evidence: Evidence | None = None) -> LRUCBState:
        """Return the state before the first round: everything is possible."""
        curves = np.zeros((*self.batch, self.arms, _PLACES, 2))
        curves[..., 0] = 1.0
        return LRUCBState(self.evidence_or_none(evidence), 0, curves, self.confidence.start(self.batch).due)

    def split(self, state: LRUCBState, ask: Ask) -> Floats:
        """Return the best allocation for the envelopes, brought up to date; what none of them asks for goes to all."""
        from headgate.kernels.envelope import envelope_points, hand_out  # noqa: PLC0415  # machine code loads here

        self._update(state)
        limits, value = ask.limits, self._ones if ask.value is None else ask.value
        points, heights = envelope_points(state.curves, self.log_places, value, self.whole, self._amounts)
        best = maximise_points(points, heights, Terms(limits, self.reward, _TOLERANCE, _NODES))
        x: Floats = hand_out(best.x, limits.lower, limits.upper, value, self.whole, limits.budget)
        return x

    def points(self, state: LRUCBState, ask: Ask) -> tuple[Floats, Floats]:
        """Return the envelopes by points."""
        del ask
        self._update(state)
        x = np.append(0.0, np.exp(self.log_places))
        y = np.minimum(np.maximum.accumulate(state.curves[..., 0], axis=-1), 1.0)
        y = np.concatenate([np.zeros((*y.shape[:-1], 1)), y], axis=-1)
        return np.broadcast_to(x, y.shape), y

    def _update(self, state: LRUCBState) -> None:
        """Draw the envelopes again of arms of which enough has been seen since."""
        from headgate.kernels.optimist import envelopes  # noqa: PLC0415  # machine code loads on first use

        regions = self.confidence.draw(state.evidence, self._no_places, state.due)
        drawn = np.isfinite(regions.floor)
        if drawn.any():
            state.due = regions.due
            state.curves = envelopes(*self.confidence.form, regions.places, drawn, self.log_places, state.curves)

    @cached_property
    def _ones(self) -> Floats:
        return np.ones(self.arms)

    @cached_property
    def _no_places(self) -> Floats:
        return self.confidence.start(()).places
