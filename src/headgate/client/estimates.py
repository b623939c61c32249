"""Answers that say what the service believes: estimates, comparisons with a baseline, reasons of a decision."""

from __future__ import annotations

from dataclasses import dataclass, fields

from headgate.client.answers import Json, read


@dataclass(frozen=True, slots=True)
class ArmEstimate:
    """What is known of an arm."""

    arm: str
    known: str
    activation: float
    activation_interval: tuple[float, float]
    rate: float
    rate_interval: tuple[float, float | None]
    shape: float | None
    shape_interval: tuple[float, float] | None
    trials: int
    successes: int
    weighted_trials: float | None = None
    """Where evidence fades, the sum of their weights: what the estimates rest on."""
    weighted_successes: float | None = None


@dataclass(frozen=True, slots=True)
class Estimates:
    """What is known of the arms in use, and the best allocation by it."""

    allocator: str
    level: float
    arms: dict[str, ArmEstimate]
    budget: float
    best: dict[str, float]
    value: float
    gap: float


@dataclass(frozen=True, slots=True)
class Compared:
    """One side of a comparison: decisions that were drawn, and what the complete ones were worth."""

    decisions: int
    complete: int
    value_per_decision: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Is it better than before? The policy's decisions beside the baseline's, drawn at random; `words` says it.

    `difference` is of value per decision, None while there is not enough to compare. `interval` is for one look,
    `always_interval` holds at all times together: one may look every day and stop when it pleases.
    """

    allocator: str
    baseline: str | dict[str, float] | None
    holdout: float
    status: str
    words: str
    caution: str | None
    policy_side: Compared
    baseline_side: Compared
    difference: float | None
    interval: tuple[float, float] | None
    always_interval: tuple[float, float] | None
    relative: float | None
    level: float
    modes: dict[str, int]


@dataclass(frozen=True, slots=True)
class Believed:
    """What was known of an arm when a decision was made."""

    activation: float
    activation_interval: tuple[float, float]
    rate: float
    rate_interval: tuple[float, float | None]


@dataclass(frozen=True, slots=True)
class Drawn:
    """The curve of an arm that a decision was made for."""

    activation: float
    rate: float


@dataclass(frozen=True, slots=True)
class ArmReason:
    """Why an arm got what it got: `marginal` is what a little more would have earned, by the draw."""

    arm: str
    amount: float
    value: float
    trials: int
    successes: int
    estimate: Believed
    draw: Drawn | None
    corrected: bool
    marginal: float | None
    policy_amount: float | None = None
    """Of a shadow: what the policy would have given."""


@dataclass(frozen=True, slots=True)
class Why:
    """The reasons of a decision; `price` is what a little more budget would have earned."""

    decision_id: str
    allocator: str
    round: int
    policy: str
    price: float | None
    arms: tuple[ArmReason, ...]
    mode: str | None = None
    probability: float | None = None


def read_estimates(data: Json) -> Estimates:
    """Read estimates; the arms by name."""
    arms = {arm["arm"]: read(ArmEstimate, arm) for arm in data["arms"]}
    return Estimates(**{name: data[name] for name in (field.name for field in fields(Estimates))} | {"arms": arms})
