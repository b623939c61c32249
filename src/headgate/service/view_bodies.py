"""Bodies of what is shown: allocators, what is believed of their arms, why a decision is as it is, and the log."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from headgate.service.bodies import ArmResult, Decision, Mode
from headgate.service.spec import (
    AllocatorSpec,
    ArmSpec,
    Body,
    Json,
    Name,
)


class Arm(ArmSpec):
    """An arm as it stands."""

    retired_at: datetime | None = None


class Counts(Body):
    """How many decisions, and what became of them."""

    decisions: int
    complete: int
    pending: int
    expired: int
    late: int
    duplicates: int
    contradictions: int
    reward: int = Field(description="Successes in complete decisions.")
    budget: float = Field(description="Asked to be split, in complete decisions.")
    given: float = Field(description="Given to arms, in complete decisions.")


class Allocator(Body):
    """An allocator as it stands."""

    name: Name
    spec: AllocatorSpec
    arms: list[Arm]
    seed: int = Field(description="Of its random numbers: its policy's, or one of its own.")
    version: int = Field(description="Grows with every change of it or of its arms.")
    created_at: datetime
    archived_at: datetime | None
    counts: Counts


class Allocators(Body):
    """All of them, by name."""

    allocators: list[Allocator]


class ArmEstimate(Body):
    """What is known of an arm."""

    arm: str
    known: Literal["known", "only activation * rate", "not identified yet"]
    activation: float
    activation_interval: tuple[float, float]
    rate: float
    rate_interval: tuple[float, float | None] = Field(description="null: nothing bounds it from above.")
    shape: float | None = None
    shape_interval: tuple[float, float] | None = None
    trials: int
    successes: int
    weighted_trials: float | None = Field(
        None, description="Where evidence fades, the sum of their weights: what the estimates rest on; else null."
    )
    weighted_successes: float | None = None


class Estimates(Body):
    """Estimates of all arms that are not retired, and the best allocation by them."""

    allocator: str
    level: float
    arms: list[ArmEstimate]
    budget: float
    best: dict[str, float]
    value: float = Field(description="Expected reward of the best allocation, by the estimates.")
    gap: float


class Compared(Body):
    """One side of a comparison: decisions that were drawn, and what they were worth."""

    decisions: int
    complete: int = Field(description="Every arm that got something has been heard of; these are compared.")
    value_per_decision: float | None = Field(description="Successes times value, in the mean of complete decisions.")


class Comparison(Body):
    """Is it better than before? The policy's decisions beside the baseline's, which were drawn at random."""

    allocator: str
    baseline: Literal["even"] | dict[str, float] | None
    holdout: float
    status: Literal["compared", "no baseline", "no holdout", "shadow", "too few"]
    words: str = Field(description="What is known, in a sentence.")
    caution: str | None = Field(description="What speaks against the comparison.")
    policy_side: Compared
    baseline_side: Compared
    difference: float | None = Field(description="Of value per decision; versions by their numbers of decisions.")
    interval: tuple[float, float] | None = Field(description="Of the difference, for one look: Welch's.")
    always_interval: tuple[float, float] | None = Field(
        description="Of the difference, at all times together: one may look every day and stop when it pleases."
    )
    relative: float | None = Field(description="The difference as a share of the baseline's value per decision.")
    level: float
    modes: dict[Mode, int] = Field(description="Decisions by mode, of those that might have been the baseline's.")


class Believed(Body):
    """What was known of an arm."""

    activation: float
    activation_interval: tuple[float, float]
    rate: float
    rate_interval: tuple[float, float | None] = Field(description="null: nothing bounded it from above.")


class Drawn(Body):
    """The curve of an arm that the decision was made for: activation times the law at this rate."""

    activation: float = Field(description="As drawn, or as the policy's bound on it has it.")
    rate: float


class ArmReason(Body):
    """Why an arm got what it got."""

    arm: str
    amount: float
    policy_amount: float | None = Field(None, description="Of a shadow: what the policy would have given.")
    value: float = Field(description="Of a success, in this decision.")
    trials: int
    successes: int
    estimate: Believed = Field(description="By the evidence that there was when the decision was made.")
    draw: Drawn | None = Field(description="null: the policy believes in no curves, or none were stored then.")
    corrected: bool = Field(description="Whether curves were corrected by what was seen: marginal is then of those.")
    marginal: float | None = Field(description="What a little more would have earned, by the draw.")


class Why(Body):
    """The reasons of a decision: draw and price as stored with it, the rest from these and from the log."""

    decision_id: str
    allocator: str
    round: int
    policy: str
    mode: Mode | None = Field(description="As of the decision; draw and price are the policy's: a holdout has none.")
    probability: float | None
    price: float | None = Field(description="What a little more budget would have earned, by the draw.")
    arms: list[ArmReason]


class HistoryItem(Body):
    """A decision and everything heard of it."""

    round: int
    decision: Decision
    context: Json | None
    spent: float | None
    results: dict[str, ArmResult]
    complete: bool


class History(Body):
    """Decisions, newest first; `before` gets the page after this one."""

    items: list[HistoryItem]
    next_before: int | None


class DecisionLog(Body):
    """Decisions in the order in which they were made; `after` gets the page after this one."""

    items: list[HistoryItem]
    next_after: int | None
