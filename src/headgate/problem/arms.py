"""The arms of a problem: the law of their thresholds, their true parameters, and what a round brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headgate import checks
from headgate.errors import AllocationError, BudgetError, ParameterError, ShapeError, UnsupportedError
from headgate.feedback import Feedback
from headgate.laws import Floats, Law, PerArm, PerKind, as_law, simplest
from headgate.names import ByArm, amounts_of, by_name, checked_names, flags_by_name, listed, place_of, usual_names
from headgate.oracle import REWARDS, Reward
from headgate.problem.given import called_names, checked_kinds, law_of_kinds, shape_of_arms

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class KnownArms:
    """What is true of K arms, and what an allocation brings; `Problem` adds what is best for them.

    The last axis of every array is arms; leading axes are a batch of independent problems.
    """

    law: Law
    activation: Floats
    rate: Floats
    value: Floats
    names: tuple[str, ...]
    named: bool
    """The names were given, and are not arm0, arm1, ..."""
    units: str | None
    provenance: Mapping[str, Any]
    kinds: Floats | None

    def __init__(
        self,
        law: Law | Sequence[Law] | Sequence[Sequence[Law]],
        activation: ArrayLike,
        rate: ArrayLike,
        names: Sequence[str] | None = None,
        *,
        arms: Sequence[str] | None = None,
        value: ByArm = 1.0,
        kinds: ArrayLike | None = None,
        units: str | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        if arms is not None and names is not None:
            raise ParameterError("arms and names are the same here: give one of them")
        called = called_names(names if arms is None else arms)
        by_arm: ArrayLike = by_name(value, called, 1.0)
        share = None if kinds is None else checked_kinds(kinds)
        source: Any = law
        joined = as_law(source) if share is None else law_of_kinds(source)
        p = checks.numbers("activation", activation, most=1.0)
        lam = checks.numbers("rate", rate, open_least=True)
        worth = checks.numbers("value", by_arm)
        if share is None:
            shape = shape_of_arms(
                {"activation": p.shape, "rate": lam.shape, "value": worth.shape, "law": joined.arm_axis()}
            )
            per_arm = shape
        else:
            of_value = (*worth.shape[:-1], 1, worth.shape[-1]) if worth.ndim else ()  # a value has no axis of kinds
            shape = shape_of_arms(
                {"activation": p.shape, "rate": lam.shape, "value": of_value, "law": joined.arm_axis()}
            )
            if len(shape) < 2 or shape[-2] not in {1, share.size}:
                raise ShapeError(
                    f"with {share.size} kinds activation and rate must end in axes of kinds and arms, (..., "
                    f"{share.size}, K), got {p.shape} and {lam.shape}"
                )
            shape = (*shape[:-2], share.size, shape[-1])
            per_arm = (*shape[:-2], shape[-1])
        for name, array, size in (("activation", p, shape), ("rate", lam, shape), ("value", worth, per_arm)):
            fresh = np.array(np.broadcast_to(array, size))
            fresh.flags.writeable = False
            object.__setattr__(self, name, fresh)
        object.__setattr__(self, "kinds", share)
        object.__setattr__(self, "law", simplest(joined))
        usual = usual_names(shape[-1])
        object.__setattr__(self, "names", usual if called is None else checked_names(called, shape[-1]))
        object.__setattr__(self, "named", self.names != usual)
        object.__setattr__(self, "units", units)
        object.__setattr__(self, "provenance", deepcopy(dict(provenance or {})))

    @property
    def arms(self) -> int:
        """The number of arms, K."""
        return int(self.rate.shape[-1])

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch; () for a single problem."""
        return self.value.shape[:-1]

    def arm(self, name: str) -> int:
        """Return the position of the arm of that name."""
        return place_of(name, self.names)

    def success_probability(self, x: ByArm) -> Floats:
        """Return the probability that each arm succeeds with its allocation, (..., K).

        p_i G_i(x_i); with kinds, sum_q pi_q p_iq G_iq(x_i).
        """
        success = self._success(self._allocation(x))
        return success if self.kinds is None else np.einsum("q,...qk->...k", self.kinds, success)

    def expected_reward(self, x: ByArm, reward: Reward = "sum") -> Floats:
        """Return the expected value of all successes, or for a cascade the probability of at least one.

        sum_i v_i p_i G_i(x_i), and 1 - prod_i (1 - p_i G_i(x_i)) if the arms are independent. With kinds they are so
        within rounds of one kind: sum_q pi_q (1 - prod_i (1 - p_iq G_iq(x_i))).
        """
        self._check_reward(reward)
        if reward == "sum":
            return np.asarray(np.sum(self.value * self.success_probability(x), axis=-1))
        with np.errstate(divide="ignore"):
            chance = np.asarray(-np.expm1(np.sum(np.log1p(-self._success(self._allocation(x))), axis=-1)))
        return chance if self.kinds is None else np.asarray(chance @ self.kinds)

    def marginal(self, x: ByArm, reward: Reward = "sum") -> Floats:
        """Return the gain per unit that a little more on each arm would bring.

        For an arm with whole-number thresholds it is the gain of the next whole unit.
        """
        self._check_reward(reward)
        amount = self._allocation(x)
        integer = self.law.whole_arms(self.arms)
        value = self.value if self.kinds is None else self.value[..., None, :]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            density = self.law.pdf(self._by_kind(np.where(integer, np.floor(amount) + 1.0, amount)), self.rate)
            weight = self.activation * value
            slope = np.where(weight > 0.0, weight * density, 0.0)
        if reward == "cascade":
            # The product of 1 - p_j G_j over j != i, from both ends: no division by an arm that never fails.
            failure = 1.0 - self._success(amount)
            before, after = np.ones_like(failure), np.ones_like(failure)
            before[..., 1:] = np.cumprod(failure[..., :-1], axis=-1)
            after[..., :-1] = np.cumprod(failure[..., :0:-1], axis=-1)[..., ::-1]
            slope = slope * before * after
        return slope if self.kinds is None else np.einsum("q,...qk->...k", self.kinds, slope)

    def play(self, x: ByArm, rng: np.random.Generator) -> Feedback:
        """Play one round: an arm succeeds if it is active and its threshold is at most its allocation.

        The draws do not depend on the amounts in `x`: first the round's kind, if there are kinds, then a uniform number
        for each arm's activation, then its threshold. So a generator in the same state gives the same world to every
        allocation of the same shape, and policies are compared on common random numbers.
        """
        if not isinstance(rng, np.random.Generator):
            raise ParameterError(f"rng must be a numpy.random.Generator, got {rng!r}")
        amount = self._allocation(x)
        threshold = self.draw_thresholds(rng, np.broadcast_shapes(amount.shape, (*self.batch, self.arms)))
        success = threshold <= amount
        return Feedback(success, np.where(success, threshold, np.nan))

    def draw_thresholds(self, rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
        """Draw the thresholds of rounds, `size` (..., K): infinite where an arm is not active."""
        if self.kinds is None:
            active = rng.random(size) < self.activation  # ~ Bernoulli(p)
            drawn = self.law.sample(self.rate, rng, size)  # ~ G(., lambda)
        else:
            ends = np.cumsum(self.kinds)
            kind = np.searchsorted(ends[:-1], rng.random(size[:-1]) * ends[-1], side="right")[..., None, None]
            shape = (*size[:-1], *self.rate.shape[-2:])
            one = np.take_along_axis(np.broadcast_to(self.activation, shape), kind, axis=-2)[..., 0, :]
            active = rng.random(size) < one
            every = self.law.quantile(np.broadcast_to(rng.random(size)[..., None, :], shape), self.rate)
            drawn = np.take_along_axis(every, kind, axis=-2)[..., 0, :]
        # A draw that underflows to 0 would be reached by an allocation of 0.
        return np.where(active, np.maximum(drawn, np.finfo(np.float64).tiny), np.inf)

    def _by_kind(self, amount: Floats) -> Floats:
        """Return allocations with an axis for kinds, if there are any."""
        return amount if self.kinds is None else amount[..., None, :]

    def _success(self, amount: Floats) -> Floats:
        """p G of every arm, and of every kind if there are any: (..., K) or (..., Q, K)."""
        return np.asarray(self.activation * self.law.cdf(self._by_kind(amount), self.rate))

    def _by_name(self, value: Any, eligible: Any, lower: Any, upper: Any) -> tuple[Any, Any, Any, Any]:
        """Return what was asked for by name in the order of the arms, and all else as it is."""
        names = self.names
        low, high = by_name(lower, names, 0.0, BudgetError), by_name(upper, names, np.inf, BudgetError)
        return by_name(value, names, 1.0), eligible if eligible is True else flags_by_name(eligible, names), low, high

    def _check_alike(self, what: str, instead: str = "") -> None:
        """Refuse what takes rounds to be alike."""
        if self.kinds is not None:
            raise UnsupportedError(f"{what} takes every round to be like every other, this has kinds of them{instead}")

    def _check_single(self, what: str) -> None:
        if self.batch != ():
            raise UnsupportedError(f"{what} is for one problem, this is a batch of shape {self.batch}")

    def _check_reward(self, reward: Reward, value: Floats | None = None) -> None:
        checks.choice("reward", reward, REWARDS)
        worth = self.value if value is None else value
        if worth.ndim > 0 and worth.shape[-1] != self.arms:
            raise ShapeError(f"value must be one number or one for each of {self.arms} arms, got shape {worth.shape}")
        if reward == "cascade" and np.any(worth != 1.0):
            raise ParameterError(
                f"value must be 1 with reward 'cascade', where one success is as good as another, got {worth}"
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KnownArms):
            return NotImplemented
        return (
            self.law == other.law
            and np.array_equal(self.activation, other.activation)
            and np.array_equal(self.rate, other.rate)
            and np.array_equal(self.value, other.value)
            and (self.kinds is None) == (other.kinds is None)
            and (self.kinds is None or np.array_equal(self.kinds, np.asarray(other.kinds)))
            and (self.names, self.units, self.provenance) == (other.names, other.units, other.provenance)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays do not hash

    def __repr__(self) -> str:
        law = self.law
        if law.arm_axis() == () or self.arms <= 6:
            what = repr(law)
        else:
            what = f"<{law.name}, one per arm>" if isinstance(law, PerArm) else f"{type(law).__name__}(...)"
        if isinstance(law, PerKind):
            what = "<one law for each kind and arm>"
        batch = f", batch={self.batch}" if self.batch else ""
        kinds = "" if self.kinds is None else f", kinds={self.kinds.size}"
        arms = f"[{listed(self.names)}]" if self.named and self.arms <= 6 else self.arms
        return f"{type(self).__name__}({what}, arms={arms}{kinds}{batch})"

    def _allocation(self, x: ByArm) -> Floats:
        """Return `x` as a clean array whose last axis is the arms of this problem."""
        amount = checks.numbers("an allocation", amounts_of(x, self.names, AllocationError), AllocationError)
        if amount.shape[-1:] != (self.arms,):
            raise ShapeError(f"an allocation must have {self.arms} arms on its last axis, got shape {amount.shape}")
        try:
            np.broadcast_shapes(amount.shape, self.value.shape)
        except ValueError as cause:
            raise ShapeError(
                f"an allocation of shape {amount.shape} does not fit a batch of shape {self.batch}"
            ) from cause
        return amount
