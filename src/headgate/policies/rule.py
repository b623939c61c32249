"""The rule of a policy: a frozen configuration, and verbs that take a state and return the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from headgate import checks
from headgate.errors import FeatureError, FeedbackError, ParameterError, ShapeError, UnsupportedError
from headgate.evidence import Evidence, record_budget
from headgate.feedback import Feedback
from headgate.laws import Floats, Law, as_law
from headgate.names import IntOrNames, by_name, given_names
from headgate.oracle import REWARDS, Limits, Reward
from headgate.oracle.plan import Plan
from headgate.policies.ask import Ask, Terms
from headgate.policies.configuration import Configuration
from headgate.policies.state import State

S = TypeVar("S", bound=State)
Portions: TypeAlias = tuple[NDArray[np.int64], Floats]
"""Which arm gets how much, one portion after the other."""


class Rule(Configuration, ABC, kw_only=False):
    """How a policy allocates and learns; `Policy` keeps a state beside it.

    The fields are the configuration, and never change. What has been learned is a `State`. Two verbs take one and
    return the next: `decide` begins a round and says what each arm gets, `absorb` learns what came of it. Both depend
    on their arguments alone, randomness included: it is a function of seed and round.

    Parameters
    ----------
    law : Law, a sequence of one per arm, or "auto"
        The law of the thresholds. It says which arms count in whole units; policies that believe in no curves use it
        for `estimate` alone. For policies that learn the law too (Thompson): "auto" is every law with a shape to
        learn, "auto-whole" every such law in whole units, `headgate.OneOf` candidates of your own.
    arms : int, or a sequence of K names
        The number of arms K, at least 1, or their names. With names, what is handed out knows them (`x["q1"]`,
        `step.name`, `estimate().names`), and what is asked or observed may be given by them. `arms` is then K, and
        `names` has them.
    max_budget : float
        The largest budget of any round, > 0, in the unit that allocations and thresholds have.
    seed : int or array of int, default 0
        Whole numbers >= 0. An array is a batch of independent learners of its shape.
    discount : float in (0, 1], default 1
        What evidence is multiplied by each round, for worlds that drift; 1 forgets nothing.
    reward : "sum" or "cascade", default "sum"
        What a round is worth: its number of successes, or 1 if there is at least one.
    value : float, array (K,) or (batch, K), or numbers by name, default 1
        What a success of each arm is worth, >= 0. A cascade knows no values.
    lower, upper : float, array (K,) or (batch, K), or numbers by name, default 0 and infinity
        The least and the most that each arm gets, in units of the budget.
    """

    name: ClassVar[str]
    #: Feedback changes evidence alone, by adding to it: it may come in any order, through any number of learners.
    additive: ClassVar[bool] = False
    #: A round reported in parts leaves the state that it leaves at once, to the bit; else nearly so.
    exact: ClassVar[bool] = True
    #: The arms' names, where they were given; an object's own.
    names: ClassVar[tuple[str, ...] | None] = None

    law: Law | Sequence[Law] | Literal["auto", "auto-whole"]
    arms: IntOrNames
    max_budget: float
    _: KW_ONLY
    seed: ArrayLike = 0
    discount: float = 1.0
    reward: Reward = "sum"
    value: ArrayLike = 1.0
    lower: ArrayLike = 0.0
    upper: ArrayLike = np.inf

    def __post_init__(self) -> None:
        """Check the configuration; a subclass that has more to check extends this."""
        names = given_names(self.arms)
        if names is not None:
            vars(self).update(arms=len(names), names=names)
            for name, default in ("value", 1.0), ("lower", 0.0), ("upper", np.inf):
                vars(self)[name] = by_name(getattr(self, name), names, default)
        empty = Evidence.empty(checks.whole("arms", self.arms), self.max_budget, self.batch)
        if self.laws.arm_axis() not in {(), (empty.arms,)}:
            raise ShapeError(f"{self.laws} does not fit {empty.arms} arms")
        checks.choice("reward", self.reward, REWARDS)
        discount = float(checks.numbers("discount", self.discount, most=1.0, open_least=True))
        vars(self).update(law=self.laws, arms=empty.arms, max_budget=empty.max_budget, discount=discount)
        vars(self).update(_worth=self._worth, _limits=self._limits)  # raise here, if they do

    def options(self) -> dict[str, Any]:
        """Return every option with its value, in the order of the constructor; arms by name, if they have one."""
        options = super().options()
        return options if self.names is None else options | {"arms": list(self.names)}

    # -- what follows from the configuration ---------------------------------------------------------------------------

    @cached_property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch; () for a single learner."""
        return self._seeds.shape

    @cached_property
    def laws(self) -> Law:
        """`law` as one object for all arms, also where it was given arm by arm."""
        return as_law(self.law)

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        """Which arms count in whole units: (K,)."""
        return self.laws.whole_arms(self.arms)

    @cached_property
    def _any_whole(self) -> bool:
        return bool(self.whole.any())

    @cached_property
    def _seeds(self) -> NDArray[np.int64]:
        seeds = np.asarray(self.seed)
        if seeds.dtype.kind not in "iu" or np.any(seeds < 0) or np.any(seeds > np.iinfo(np.int64).max):
            raise ParameterError(f"seed must be a whole number >= 0 and < 2^63, or an array of them, got {self.seed!r}")
        return seeds.astype(np.int64)

    @cached_property
    def _keys(self) -> NDArray[np.uint64]:
        """Each learner's seed, spread over two keys of 64 bits: (2, batch)."""
        keys = [np.random.SeedSequence(int(s)).generate_state(2, np.uint64) for s in self._seeds.ravel()]
        return np.array(keys, dtype=np.uint64).T.reshape(2, *self.batch)

    @cached_property
    def _terms(self) -> Terms:
        return Terms(self.batch, self.whole, self.max_budget, self.reward == "cascade")

    @cached_property
    def _worth(self) -> Floats | None:
        return self._terms.value(self.value)

    @cached_property
    def _limits(self) -> Limits:
        none = Limits.of(self.max_budget, 0.0, np.inf, self.arms)
        return self._terms.limits(none, self.max_budget, self.lower, self.upper)

    @cached_property
    def _simple(self) -> bool:
        """A single learner without whole units, whose budgets need no look at their shape: the usual case."""
        return not (self.batch or self._any_whole)

    @cached_property
    def _least(self) -> float:
        """What the lower limits need."""
        return float(np.max(np.sum(self._limits.lower, axis=-1)))

    # -- the verbs -----------------------------------------------------------------------------------------------------

    def start(self, evidence: Evidence | None = None) -> State:
        """Return the state before the first round; `evidence` from elsewhere is shared, not copied."""
        return State(self.evidence_or_none(evidence), 0)

    def ask(
        self,
        budget: ArrayLike,
        *,
        value: ArrayLike | None = None,
        eligible: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        features: Any = None,
        round: int | None = None,  # noqa: A002  # its name in a state too
    ) -> Ask:
        """Check what a round wants; see `allocate`. `round` is its number, where several learners take turns."""
        self._refuse_features(features)
        own = self._limits
        if not (eligible is None and lower is None and upper is None):
            limits = self._terms.limits(own, budget, lower, upper, eligible)
        elif self._simple and type(budget) is float and self._least <= budget <= self.max_budget:
            limits = Limits(np.asarray(budget), own.lower, own.upper, own.free)
        else:
            limits = self._terms.within(own, budget)
        return Ask(limits, self._worth if value is None else self._terms.value(value), round)

    def decide(self, state: S, ask: Ask) -> tuple[Floats, S]:
        """Begin a round: return what each arm gets, (..., K), the sum <= budget, and the state after it."""
        if ask.round is not None:
            state.round = ask.round
        with np.errstate(all="ignore"):  # infinity times 0 inside a kernel is no news to the caller
            x = self.split(state, ask)
        x = self.within_budget(x, ask)
        self._end_decision(state)
        return x, state

    def skip(self, state: S, ask: Ask) -> S:
        """Let a round pass that somebody else decides: return the state after it, faded as by any other."""
        if ask.round is not None:
            state.round = ask.round
        self._end_decision(state)
        return state

    def absorb(self, state: S, x: ArrayLike, feedback: Feedback, features: Any = None) -> S:
        """Learn what came of an allocation, late or at once, whole or in parts: return the state after it.

        The usual way adds to evidence and does nothing else. A policy that remembers more extends this, evidence
        first: that refuses what cannot be, before anything has changed.
        """
        self._refuse_features(features)
        state.evidence.record(self.played(x, feedback) if self._any_whole else x, feedback)
        return state

    def _refuse_features(self, features: Any) -> None:
        if features is not None:
            raise FeatureError(f"{self.name} takes no features: headgate.Contextual does, got {features!r}")

    def absorb_budget(self, state: S, amount: float, censored: bool = False) -> S:
        """Learn how long a budget lasted that nobody knew: return the state after it; see `observe_budget`."""
        if self.batch:
            raise UnsupportedError(f"only a single learner observes budgets, this is a batch of shape {self.batch}")
        budgets = Evidence.empty(1, self.max_budget) if state.budgets is None else state.budgets
        record_budget(budgets, amount, censored)
        state.budgets = budgets
        return state

    # -- what a policy writes ------------------------------------------------------------------------------------------

    @abstractmethod
    def split(self, state: Any, ask: Ask) -> Floats:
        """Split the budget of `ask`, which has been checked: (..., K), within its limits.

        Fields of `state` that the policy has added may be changed here; evidence and round may not.
        """

    def fade(self, state: Any, factor: float) -> None:
        """Let what was learned count `factor` times as much; a policy that counts beside evidence extends this."""
        state.evidence.discount(factor)
        if state.budgets is not None:
            state.budgets.discount(factor)

    def decide_plan(self, state: Any, ask: Ask) -> tuple[Plan, Any]:
        """Begin a round of one slot after the other, its budget not known; only policies that believe in curves can."""
        del state, ask
        raise UnsupportedError(f"{type(self).__name__} cannot plan: it has no curves to follow")

    def points(self, state: Any, ask: Ask) -> tuple[Floats, Floats]:
        """Return the curves believed in by points up to the largest budget, x and y: (..., K, n) each."""
        del state, ask
        raise UnsupportedError(f"{type(self).__name__} cannot play live rounds: it has no curves to follow")

    def begin_live(self, state: S, ask: Ask) -> tuple[tuple[Floats, Floats], S]:
        """Begin a live round: return the curves on which it is played, and the state after it."""
        if ask.round is not None:
            state.round = ask.round
        with np.errstate(all="ignore"):  # infinity times 0 inside a kernel is no news to the caller
            curves = self.points(state, ask)
        self._end_decision(state)
        return curves, state

    def decide_pour(
        self, state: Any, ask: Ask, step: float | None = None, resolution: float | None = None
    ) -> tuple[Portions, Any]:
        """Begin a round whose budget nobody knows yet; only policies that believe in curves can."""
        del state, ask, step, resolution
        raise UnsupportedError(f"{type(self).__name__} cannot pour: it has no curves to follow")

    # -- for those who write one ---------------------------------------------------------------------------------------

    def normals(self, state: State, count: int) -> Floats:
        """Draw `count` numbers ~ N(0, 1) for each learner, (..., count): a function of seed and round.

        No number comes in two rounds, if every round asks for the same count and once.
        """
        return self._noise(0, state, count)

    def uniforms(self, state: State, count: int) -> Floats:
        """Draw `count` numbers ~ U(0, 1) for each learner, (..., count), as `normals` and independent of them."""
        return np.asarray(special.ndtr(self._noise(1, state, count)))

    def _noise(self, stream: int, state: State, count: int, rows: NDArray[np.bool_] | None = None) -> Floats:
        """Normal noise of this round, (..., count); of some `rows` of the batch, (n, count)."""
        from headgate.kernels.normals import normals  # noqa: PLC0415  # machine code loads on first use

        keys = self._keys[stream] if rows is None else np.asarray(self._keys[stream])[rows]
        return np.asarray(normals(keys, np.uint64(count * state.round), np.empty(count)))

    def played(self, x: ArrayLike, feedback: Feedback) -> Floats:
        """Return a checked allocation as the arms saw it: the whole units of it, for arms that count in those."""
        if not isinstance(feedback, Feedback):
            raise FeedbackError(f"feedback must be a headgate.Feedback, got {feedback!r}")
        amount = feedback.check(x)
        if amount.shape != (*self.batch, self.arms):
            raise ShapeError(f"an allocation must be of shape {(*self.batch, self.arms)}, got {amount.shape}")
        return np.where(self.whole, np.floor(amount), amount) if self._any_whole else amount

    def within_budget(self, x: Floats, ask: Ask) -> Floats:
        """Return an allocation without what rounding has put above the budget: a few units in the last place."""
        over = x.sum(axis=-1) > ask.limits.budget
        if over.any():
            x = np.where(over[..., None] & ~self.whole, np.maximum(x * (1.0 - 1e-15), ask.limits.lower), x)
        return x

    def evidence_or_none(self, evidence: Evidence | None) -> Evidence:
        """Return `evidence`, or that of nothing."""
        return Evidence.empty(self.arms, self.max_budget, self.batch) if evidence is None else evidence

    def _end_decision(self, state: State) -> None:
        if self.discount < 1.0:
            self.fade(state, self.discount)
        state.round += 1
