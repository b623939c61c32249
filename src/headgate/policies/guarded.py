"""Guarded: a policy that is never knowingly worse than what one does today."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal, Self, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import AllocationError, BudgetError, ParameterError, ShapeError, UnsupportedError
from headgate.evidence import Evidence
from headgate.feedback import Feedback
from headgate.laws import Floats
from headgate.names import by_name
from headgate.policies.ask import Ask
from headgate.policies.base import Policy
from headgate.policies.confidence import Confidence
from headgate.policies.contextual import Contextual
from headgate.policies.state import State, parsed, plain
from headgate.policies.uniform import Uniform

Baseline: TypeAlias = ArrayLike | Mapping[str, float] | Literal["even"] | Callable[[float], ArrayLike]
_MIXTURES = np.array([1.0, 0.75, 0.5, 0.25, 0.0])  # how much of the policy's allocation is tried, beside the baseline's
_PER_OCTAVE, _OCTAVES = 8, 12  # amounts of a ledger


@lru_cache
def _guarded(state: type[State]) -> Any:
    """The states of a policy, with what a guard remembers."""

    @dataclass(slots=True, eq=False)
    class GuardedState(state):  # type: ignore[valid-type,misc]  # a class that is only known here
        """A policy's state, and what the guard knows and remembers."""

        region: Floats
        """Places of the confidence regions, as in `headgate.policies.confidence.Regions`."""
        region_due: Floats
        """How many results of an arm must have been seen for its region to be drawn again: (..., K)."""
        ledger: Floats
        """Signed weights of amounts, `headgate.kernels.guard`: (..., K, amounts)."""
        lead: Floats
        """The least earned so far beyond the share of the baseline, by what is known: (...)."""
        held: Floats
        """In how many rounds the policy was held back, wholly or in part: (...)."""

    return GuardedState


def fitted(x: Floats, ask: Ask, whole: NDArray[np.bool_]) -> Floats:
    """Return amounts within the limits of a round: where lower limits need more, what is above them shrinks alike."""
    limits = ask.limits
    x = np.clip(x, limits.lower, limits.upper)
    above, room = (x - limits.lower).sum(axis=-1), limits.budget - np.sum(limits.lower, axis=-1)
    over = above > room * (1.0 + 1e-12)
    if np.any(over):
        share = np.where(over, np.maximum(room, 0.0) / np.where(over, above, 1.0), 1.0)
        x = limits.lower + share[..., None] * (x - limits.lower)
    return np.where(whole, np.floor(x + 1e-9), x)


@final
class Guarded(Policy):
    """Plays a policy's allocation while that is safe, and a baseline's otherwise.

    Let x_s be what was played in round s, x0_s what the baseline gives, and

        D_t = sum over s <= t and arms i of v_i p_i (G_i(x_si) - share G_i(x0_si)).

    C_t are confidence sets that hold at all times (`headgate.policies.confidence`). A round plays the policy's
    allocation if D_t >= 0 for every curve in them, else a mixture of both, else the baseline, which cannot make D_t
    smaller. So with probability 1 - delta at least, at all times, no less than `share` of the baseline's expected
    reward has been earned: if the laws are right and rounds independent. One curve bounds both sides of D_t, so a
    policy that plays like its baseline loses nothing by it. All past rounds are judged by what is known today.

    Conservative bandits: Wu, Shariff, Lattimore and Szepesvari (2016).

    Parameters
    ----------
    policy : Policy
        The policy to guard; it learns from every round. It must not discount, and its reward is a sum.
    baseline : array (K,) or (batch, K), amounts by name, "even", or a function of the budget, default "even"
        What would be done without the policy: amounts that no round's budget may be smaller than; an even split; or
        a function that is given a budget, one number, and returns K amounts. Limits of arms hold for it too: where
        lower limits need more, what is above them shrinks in proportion.
    share : float in (0, 1), default 0.95
        Of the baseline's expected reward, in all rounds so far together.
    delta : float in (0, 1), default 0.05
        The probability with which that may fail.
    """

    name = "guarded"
    additive: ClassVar[bool] = False

    policy: Policy
    baseline: Baseline
    share: float
    delta: float

    def __init__(
        self, policy: Policy, baseline: Baseline = "even", *, share: float = 0.95, delta: float = 0.05
    ) -> None:
        inner: object = policy
        if not isinstance(inner, Policy) or isinstance(inner, Guarded):
            raise ParameterError(f"policy must be a policy that is not guarded yet, got {policy!r}")
        if isinstance(policy, Contextual):
            raise UnsupportedError(
                "a guard knows arms by their evidence alone: it cannot guard what depends on features"
            )
        if policy.discount < 1.0 or policy.reward != "sum":
            raise UnsupportedError(
                "a guard adds up what arms earn by evidence that does not fade: the policy's discount must be 1 and "
                f"its reward 'sum', got {policy.discount:g} and {policy.reward!r}"
            )
        portion = checks.numbers("share", share, open_least=True)
        if portion.ndim or not portion < 1.0:
            raise ParameterError(f"share must be a number within (0, 1), got {share!r}")
        vars(self).update({f.name: getattr(policy, f.name) for f in fields(Policy)}, names=policy.names)
        baseline = by_name(baseline, policy.names, 0.0, AllocationError)
        vars(self).update(policy=policy, baseline=baseline, share=float(portion), delta=delta)
        vars(self).update(confidence=self.confidence)  # raises here, if it does
        if not callable(baseline):
            self.baseline_of(self.ask(self.max_budget))

    def options(self) -> dict[str, Any]:
        """Return what the constructor was given."""
        return {name: getattr(self, name) for name in ("policy", "baseline", "share", "delta")}

    @cached_property
    def confidence(self) -> Confidence:
        """The confidence sets."""
        return Confidence(self.laws, self.arms, self.max_budget, self.delta)

    @cached_property
    def _amounts(self) -> Floats:
        """The amounts of a ledger."""
        return self.max_budget * np.exp2(np.arange(-_PER_OCTAVE * _OCTAVES, 1.0) / _PER_OCTAVE)

    @cached_property
    def _even(self) -> Uniform:
        return Uniform(self.law, self.arms, self.max_budget, seed=self.seed)

    def baseline_of(self, ask: Ask) -> Floats:
        """Return what the baseline gives in a round, within the limits of its arms: (..., K)."""
        limits, base = ask.limits, self.baseline
        if isinstance(base, str):
            if base != "even":
                raise ParameterError(f"baseline must be amounts, 'even' or a function of the budget, got {base!r}")
            return self._even.split(self.state, ask)
        if callable(base):
            budgets = np.broadcast_to(limits.budget, self.batch)
            base = np.reshape([base(float(budget)) for budget in budgets.ravel()], (*self.batch, -1))
        x = checks.numbers("baseline", base, AllocationError)  # type: ignore[arg-type]  # by name no longer
        if x.shape not in {(self.arms,), (*self.batch, self.arms)}:
            raise ShapeError(f"baseline must be of shape {(*self.batch, self.arms)}, got {x.shape}")
        if np.any(x.sum(axis=-1) > limits.budget * (1.0 + 1e-9)):
            raise BudgetError(
                f"the baseline gives {np.max(x.sum(axis=-1)):g}, more than the budget {np.min(limits.budget):g}"
            )
        return fitted(np.broadcast_to(x, (*self.batch, self.arms)), ask, self.whole)

    def start(self, evidence: Evidence | None = None) -> Any:
        """Return the policy's first state, with an empty ledger."""
        inner, regions = self.policy.start(evidence), self.confidence.start(self.batch)
        kept = {f.name: getattr(inner, f.name) for f in fields(inner)}
        ledger = np.zeros((*self.batch, self.arms, self._amounts.size))
        lead, held = np.zeros(self.batch), np.zeros(self.batch)
        return _guarded(type(inner))(  # type: ignore[arg-type]  # a class is hashable
            **kept, region=regions.places, region_due=regions.due, ledger=ledger, lead=lead, held=held
        )

    def decide(self, state: Any, ask: Ask) -> tuple[Floats, Any]:
        """Begin a round: return the policy's allocation if that is safe, else a mixture, else the baseline."""
        from headgate.kernels.guard import guard  # noqa: PLC0415  # machine code loads on first use

        baseline = self.baseline_of(ask)
        proposal, state = self.policy.decide(state, ask)
        mixed = baseline[..., None, :] + _MIXTURES[:, None] * (proposal - baseline)[..., None, :]
        mixed[..., 0, :] = proposal
        mixed = np.where(self.whole, np.floor(mixed + 1e-9), mixed)
        value = np.ones(self.arms) if ask.value is None else ask.value
        with np.errstate(all="ignore"):  # infinity times 0 inside a kernel is no news to the caller
            regions = self.confidence.draw(state.evidence, state.region, state.region_due)
            ledger, choice, lead = guard(
                *self.confidence.form, regions.places, self._amounts, state.ledger, mixed, baseline, value, self.share
            )
        x = np.take_along_axis(mixed, choice[..., None, None], axis=-2)[..., 0, :]
        state.region, state.region_due = regions.places, regions.due
        state.ledger, state.lead = ledger, np.asarray(lead)
        state.held = np.asarray(state.held + (choice > 0))
        return self.within_budget(x, ask), state

    def absorb(self, state: Any, x: ArrayLike, feedback: Feedback, features: Any = None) -> Any:
        """Learn as the policy does."""
        return self.policy.absorb(state, x, feedback, features)

    def split(self, state: Any, ask: Ask) -> Floats:
        """Return what `decide` would, without remembering it."""
        return self.decide(state.copy(), ask)[0]

    def plain_options(self) -> dict[str, Any]:
        """Return the configuration as plain data for JSON, that of the policy within; a function cannot be written."""
        if callable(self.baseline):
            raise UnsupportedError("a baseline that is a function cannot be written: give amounts or 'even'")
        inner = {"policy": self.policy.name, "options": self.policy.plain_options()}
        rest = {"baseline": self.baseline, "share": self.share, "delta": self.delta}
        return {"policy": inner} | {name: plain(value) for name, value in rest.items()}

    @classmethod
    def from_plain(cls, options: Mapping[str, Any]) -> Self:
        """Return the guarded policy that was written, knowing nothing yet."""
        from headgate.policies import POLICIES  # noqa: PLC0415  # which lists the policies that may be within

        inner = POLICIES.find(options["policy"]["policy"]).from_plain(options["policy"]["options"])
        return cls(inner, **{name: parsed(value) for name, value in options.items() if name != "policy"})
