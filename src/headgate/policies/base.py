"""What a policy is: configuration, explicit state, `allocate` and `observe`."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import BudgetError, FeedbackError, InputError, ParameterError, ShapeError, UnsupportedError
from headgate.estimators import Estimate, likelihood, whole_arms
from headgate.evidence import Evidence
from headgate.feedback import Feedback
from headgate.laws import Floats, Law, as_law, from_dict
from headgate.oracle import REWARDS, Limits

VERSION = 1
_PAPER_RANGE = (1.0, 80.0)  # m and M of the paper's experiments


class Common(TypedDict, total=False):
    """Options that every policy takes."""

    seed: ArrayLike
    """One whole number; or an array of them, for a batch of independent learners of that shape."""
    rounds: int | None
    """The horizon T, for policies that need it."""
    rate_range: tuple[float, float] | None
    """The paper's Lambda = [m/B, M/B]; by default its experiments' [1/B, 80/B]."""
    discount: float
    """What evidence is multiplied by each round, for worlds that drift; 1 forgets nothing."""
    reward: Literal["sum", "cascade"]
    """The number of successes, or 1 if there is at least one."""
    lower: ArrayLike
    """The least each arm must get."""
    upper: ArrayLike
    """The most each arm may get."""


class Policy(ABC):
    """Allocates and learns.

    A policy is made from a law, the number of arms and the largest budget it will meet. Everything it has learned is
    its state: evidence, round and a few named arrays, written to JSON and read back exactly. Leading axes are a batch:
    seeds of shape (R,) make R independent learners that step together, each equal to a single one with its seed.
    """

    name: ClassVar[str]
    #: Cannot start without `rounds`; an option may lift that.
    needs_rounds: bool = False
    #: Acts on evidence and round alone, so that feedback may come in any order, through any number of learners.
    additive: bool = False
    #: Attributes that, with evidence and round, make up the state.
    state_names: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        law: Law | Sequence[Law],
        arms: int,
        max_budget: float,
        *,
        options: Mapping[str, Any] | None = None,
        **common: Unpack[Common],
    ) -> None:
        unknown = set(common) - set(Common.__annotations__)
        if unknown:
            raise ParameterError(f"{type(self).__name__} does not take {', '.join(sorted(unknown))}")
        self.law = as_law(law)
        self.seed = _seeds(common.get("seed", 0))
        self.batch: tuple[int, ...] = self.seed.shape
        self.evidence = Evidence.empty(_count("arms", arms), max_budget, self.batch)
        self.arms, self.max_budget = self.evidence.arms, self.evidence.max_budget
        if self.law.arm_axis() not in {(), (arms,)}:
            raise ShapeError(f"{self.law} does not fit {arms} arms")
        self.whole = whole_arms(self.law, arms)  # arms that count in whole units
        self._all_whole, self._any_whole = bool(self.whole.all()), bool(self.whole.any())
        self.rounds = _horizon(self, common.get("rounds"))
        self.rate_range = _rate_range(common.get("rate_range"), self.max_budget)
        self.discount = float(checks.numbers("discount", common.get("discount", 1.0), most=1.0, open_least=True))
        self.reward = checks.choice("reward", common.get("reward", "sum"), REWARDS)
        self._limits = _limits(self, common.get("lower", 0.0), common.get("upper", np.inf))
        self._least = float(np.max(np.sum(self._limits.lower, axis=-1)))
        self.round = 0
        self._options = dict(options or {})
        self._common = dict(common)
        self._key = _stream_keys(self.seed)

    # -- what a user calls -------------------------------------------------------------------------------------------

    def allocate(self, budget: ArrayLike) -> Floats:
        """Split `budget`, one number or one per batch row, and begin a new round: (..., K), the sum <= budget."""
        limits = self.limits(budget)
        with np.errstate(all="ignore"):  # infinity times 0 inside a kernel is no news to the caller
            x = self._allocate(limits)
        over = x.sum(axis=-1) > limits.budget  # by rounding: a few units in the last place
        if np.any(over):
            x = np.where(over[..., None] & ~self.whole, np.maximum(x * (1.0 - 1e-15), limits.lower), x)
        self._begin_round()
        return x

    def observe(self, x: ArrayLike, feedback: Feedback) -> None:
        """Learn what came of an allocation: at once or late, whole or in parts, in any order.

        An arm whose result has not arrived is marked as not reported, and observed later in a call of its own.
        """
        if not isinstance(feedback, Feedback):
            raise FeedbackError(f"feedback must be a headgate.Feedback, got {feedback!r}")
        self.evidence.record(self._played(x, feedback) if self._any_whole else x, feedback)

    def pour(self, step: float | None = None, *, resolution: float | None = None) -> Iterator[tuple[int, float]]:
        """Begin a round whose budget nobody knows yet; only policies that believe in curves can."""
        del step, resolution
        raise UnsupportedError(f"{type(self).__name__} cannot pour: it has no curves to follow")

    def estimate(
        self, level: float = 0.9, interval: Literal["fisher", "likelihood-ratio"] = "likelihood-ratio"
    ) -> Estimate:
        """Return what has been learned of each arm, with intervals; see `headgate.estimators.likelihood`."""
        with np.errstate(all="ignore"):  # as in `allocate`
            return likelihood(self.law, self.evidence, level=level, interval=interval)

    # -- what a policy writes ----------------------------------------------------------------------------------------

    @abstractmethod
    def _allocate(self, limits: Limits) -> Floats:
        """Split the budget of `limits`, which has been checked."""

    def note(self, x: Floats, reported: NDArray[np.bool_]) -> None:  # noqa: B027  # most keep nothing more
        """Remember of a round what evidence does not hold; a policy that keeps such a thing extends this."""

    def _forget(self, factor: float) -> None:
        """Let what was learned count `factor` times as much; a policy that keeps more than evidence extends this."""
        self.evidence.discount(factor)

    # -- shared ------------------------------------------------------------------------------------------------------

    def _begin_round(self) -> None:
        if self.discount < 1.0:
            self._forget(self.discount)
        self.round += 1

    def _played(self, x: ArrayLike, feedback: Feedback) -> Floats:
        """Return a checked allocation as the arms saw it: the whole units of it, for arms that count in those."""
        if not isinstance(feedback, Feedback):
            raise FeedbackError(f"feedback must be a headgate.Feedback, got {feedback!r}")
        amount = feedback.check(x)
        if amount.shape != (*self.batch, self.arms):
            raise ShapeError(f"an allocation must be of shape {(*self.batch, self.arms)}, got {amount.shape}")
        return np.where(self.whole, np.floor(amount), amount) if self._any_whole else amount

    def limits(self, budget: ArrayLike) -> Limits:
        """Check a budget against the policy, and join it with the limits on arms."""
        if (
            type(budget) is float
            and not self.batch
            and self._least <= budget <= self.max_budget
            and not self._any_whole
        ):
            return Limits(
                np.asarray(budget), self._limits.lower, self._limits.upper, self._limits.free
            )  # the usual case
        amount = checks.numbers("budget", budget, BudgetError)
        if np.any(amount > self.max_budget * (1.0 + 1e-12)):
            raise BudgetError(f"budget must not exceed max_budget {self.max_budget:g}, got {np.max(amount):g}")
        if amount.shape not in {(), self.batch}:
            raise ShapeError(f"budget must be one number or of the batch's shape {self.batch}, got {amount.shape}")
        if self._least > 0.0 and np.any(amount < self._least * (1.0 - 1e-12)):
            raise BudgetError(f"the lower limits need {self._least:g}, more than the budget {np.min(amount):g}")
        amount = np.floor(amount) if self._all_whole else amount
        return Limits(np.broadcast_to(amount, self.batch), self._limits.lower, self._limits.upper, self._limits.free)

    def to_json(self) -> str:
        """Write configuration and state; `headgate.load_policy` continues from it exactly."""
        common: dict[str, Any] = {key: _plain(value) for key, value in self._common.items()}
        return json.dumps(
            {
                "version": VERSION,
                "policy": self.name,
                "law": self.law.to_dict(),
                "arms": self.arms,
                "max_budget": self.max_budget,
                "common": common,
                "options": {key: _plain(value) for key, value in self._options.items()},
                "round": self.round,
                "evidence": self.evidence.to_dict(),
                "state": {key: _plain(getattr(self, key)) for key in self.state_names},
            },
            allow_nan=False,
        )

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a policy from what `to_json` wrote, parsed."""
        common: dict[str, Any] = {key: _parsed(value) for key, value in data["common"].items()}
        options = {key: _parsed(value) for key, value in data["options"].items()}
        policy = cls(from_dict(data["law"]), data["arms"], data["max_budget"], **options, **common)
        policy.round = _count("round", data["round"] + 1) - 1
        evidence = Evidence.from_dict(data["evidence"])
        if (evidence.bins.shape, evidence.max_budget) != (policy.evidence.bins.shape, policy.max_budget):
            raise InputError(f"its evidence is of {evidence.arms} arms at {evidence.max_budget:g}, not the policy's")
        policy.evidence = evidence
        for key in cls.state_names:
            value, fresh = _parsed(data["state"][key]), getattr(policy, key)
            if np.ndim(value) != np.ndim(fresh) or np.asarray(value).dtype != np.asarray(fresh).dtype:
                raise InputError(f"its state {key!r} must be {np.asarray(fresh).dtype} with {np.ndim(fresh)} axes")
            setattr(policy, key, value)
        return policy

    def __repr__(self) -> str:
        batch = f", batch={self.batch}" if self.batch else ""
        return f"{type(self).__name__}({self.law}, arms={self.arms}, max_budget={self.max_budget:g}{batch})"


def _seeds(seed: ArrayLike) -> NDArray[np.int64]:
    seeds = np.asarray(seed)
    if seeds.dtype.kind not in "iu" or np.any(seeds < 0) or np.any(seeds > np.iinfo(np.int64).max):
        raise ParameterError(f"seed must be a whole number >= 0 and < 2^63, or an array of them, got {seed!r}")
    return seeds.astype(np.int64)


def _stream_keys(seeds: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Spread seeds over the 64 bits of a stream's key."""
    keys = [np.random.SeedSequence(int(s)).generate_state(1, np.uint64)[0] for s in seeds.ravel()]
    return np.array(keys, dtype=np.uint64).reshape(seeds.shape)


def _limits(policy: Policy, lower: ArrayLike, upper: ArrayLike) -> Limits:
    """Check the limits on arms once; in whole units if the arms count in those."""
    limits = Limits.of(policy.max_budget, lower, upper, policy.arms)
    for name, values in (("lower", limits.lower), ("upper", limits.upper)):
        if values.ndim > 1 and values.shape[:-1] != policy.batch:
            raise ShapeError(f"{name} must be of the batch's shape {policy.batch} and arms, got {values.shape}")
    return limits.whole() if policy.whole.all() else limits


def _horizon(policy: Policy, rounds: int | None) -> int | None:
    if rounds is None:
        if policy.needs_rounds:
            raise ParameterError(f"{type(policy).__name__} needs the horizon: give rounds=T")
        return None
    return _count("rounds", rounds)


def _count(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ParameterError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)


def _rate_range(given: tuple[float, float] | None, max_budget: float) -> tuple[float, float]:
    if given is None:
        return _PAPER_RANGE[0] / max_budget, _PAPER_RANGE[1] / max_budget
    ends = checks.numbers("rate_range", given, open_least=True)
    low, high = (float(v) for v in ends) if ends.shape == (2,) else (1.0, 0.0)
    if not low < high:
        raise ParameterError(f"rate_range must be (low, high) with low < high, got {given!r}")
    return low, high


def _plain(value: Any) -> Any:
    """Return plain data that JSON holds exactly: arrays with their type, infinities and NaN by name."""
    if isinstance(value, np.ndarray):
        flat = [_plain(v) for v in value.ravel().tolist()]
        return {"array": value.dtype.str, "shape": list(value.shape), "values": flat}
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": repr(value)}
    return value


def _parsed(value: Any) -> Any:
    """Read what `_plain` wrote."""
    if isinstance(value, dict) and "array" in value:
        flat = [_parsed(v) for v in value["values"]]
        return np.array(flat, dtype=value["array"]).reshape(value["shape"])
    if isinstance(value, dict) and "float" in value:
        return float(value["float"])
    if isinstance(value, list):
        return [_parsed(v) for v in value]
    return value
