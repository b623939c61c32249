"""Confidence regions of the arms' curves that hold at all times at once, for policies that promise something."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate import checks
from headgate.errors import ParameterError, UnsupportedError
from headgate.evidence import Evidence
from headgate.laws import Floats, Law, OneOf
from headgate.laws.learned import OpenForm, open_form
from headgate.oracle import standard_form

_FASTEST, _SLOWEST = 50.0, 100.0  # rates from K / B divided by the one to K / B times the other
_DOUBT = 4.0  # a learned shape's prior is so many times wider than elsewhere: none in its range is far-fetched
_RATES, _SHAPES = 25, (9, 17)  # places in log rate; in shape and log rate, where a shape is learned


class Regions(NamedTuple):
    """The confidence regions of all arms."""

    places: Floats
    """Log rate, shape, least and largest activation at places along each region: (..., K, shapes, rates, 4)."""
    due: Floats
    """How many results of an arm must have been seen for its region to be drawn again: (..., K)."""
    floor: Floats
    """The log likelihood that a curve in the region has at least; NaN for an arm not drawn just now: (..., K)."""


@dataclass(frozen=True, eq=False)
class Confidence:
    """The set of all (log rate, activation) of an arm, and of its shape if that is learned, that evidence allows.

    With L_t the likelihood of an arm's evidence after t rounds and pi a prior that was fixed before,

        C_t = {theta : L_t(theta) >= (delta / K) * integral of L_t d pi}.

    At the true theta the integral over L_t is a martingale with mean 1 however the allocations were chosen, so by
    Ville's inequality it ever exceeds K / delta with probability delta / K at most: with probability 1 - delta the
    truth lies in the sets of all arms at all times. See docs/guarantees.md for what is assumed.

    pi: activation ~ U(0, 1); log rate logistic around that whose typical threshold is an even share of the budget, with
    standard deviation 1; a learned shape normal as the law says, four times its variance.
    """

    law: Law
    arms: int
    max_budget: float
    delta: float
    rate_range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Check."""
        if isinstance(self.law, OneOf):
            raise UnsupportedError(
                "a confidence set is that of one law, of whose likelihood its martingale is made; of some candidates "
                f"none is known to be right: name one, its shape may be learned (Weibull('learn')), got {self.law}"
            )
        delta = checks.numbers("delta", self.delta, open_least=True)
        if delta.ndim or not delta < 1.0:
            raise ParameterError(f"delta must be a number within (0, 1), got {self.delta!r}")
        if self.rate_range is not None:
            ends = checks.numbers("rate_range", self.rate_range, open_least=True)
            if ends.shape != (2,) or not ends[0] < ends[1]:
                raise ParameterError(f"rate_range must be (low, high) with low < high, got {self.rate_range!r}")

    @cached_property
    def _whole(self) -> NDArray[np.bool_]:
        return self.law.whole_arms(self.arms)

    @cached_property
    def _open(self) -> OpenForm | None:
        return open_form(self.law, self.arms)

    @cached_property
    def form(self) -> tuple[NDArray[np.generic], ...]:
        """The standard form of the law, and how it depends on the shape of each arm, if that is learned."""
        form = standard_form(self.law, self.arms) if self._open is None else self._open.origin
        powers = np.zeros((self.arms, 4)) if self._open is None else self._open.powers
        return form.base, form.a, form.b, form.shift, form.cap, form.table, powers

    @cached_property
    def _shapes(self) -> Floats:
        """The least and largest shape of each arm, in the coordinate of its form: (K, 2)."""
        return np.zeros((self.arms, 2)) if self._open is None else self._open.limits

    @cached_property
    def _prior(self) -> Floats:
        """Centre, least and largest of each arm's log rate; mean and variance of its shape: (K, 5)."""
        cap, even = np.broadcast_to(self.form[4], self.arms), self.max_budget / self.arms
        share = np.minimum(even / cap, 0.5)  # of a law that ends at `cap`
        centre = -np.log(np.where(np.isinf(cap), even, -np.log1p(-share)))
        low, high = self.rates
        mean, variance = (0.0, 1.0) if self._open is None else (self._open.mean, _DOUBT * self._open.variance)
        return np.stack(np.broadcast_arrays(centre, np.log(low), np.log(high), mean, variance), axis=-1)

    @cached_property
    def rates(self) -> tuple[float, float]:
        """The least and the largest rate that is thought possible."""
        if self.rate_range is not None:
            return self.rate_range
        typical = self.arms / self.max_budget
        return typical / _SLOWEST, typical * _FASTEST

    def start(self, batch: tuple[int, ...]) -> Regions:
        """Return regions that have not been drawn yet."""
        size = (1, _RATES, 4) if self._open is None else (*_SHAPES, 4)
        arms = (*batch, self.arms)
        return Regions(np.zeros((*arms, *size)), np.zeros(arms), np.full(arms, np.nan))

    def draw(self, evidence: Evidence, places: Floats, due: Floats) -> Regions:
        """Draw the regions of arms whose evidence has grown by a few percent since they were drawn last."""
        from headgate.kernels.optimist import regions  # noqa: PLC0415  # machine code loads on first use

        return Regions(*regions(
            *self.form, self._shapes, self._whole, evidence.bins, evidence.edges, self._prior,
            np.log(self.arms / self.delta), due, places,
        ))  # fmt: skip
