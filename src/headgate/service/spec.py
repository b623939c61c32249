"""What an allocator is: the body of `PUT /v1/allocators/{name}`, changes of it, and the policy it describes."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from headgate.errors import ParameterError
from headgate.evidence.fading import Fading
from headgate.laws import Law, PerArm, from_dict
from headgate.policies import POLICIES, Guarded, Policy
from headgate.service.engine.baseline import Baseline

MOST_ARMS = 10_000
MOST_JSON = 16_384
Name = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"),
    Field(description="Letters, digits, '.', '_' and '-', at most 64, the first a letter or a digit."),
]
DecisionId = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$"),
    Field(description="Letters, digits, '.', '_', ':' and '-', at most 100. Unique in its allocator."),
]


def printable(text: str) -> str:
    """Return a text that people can read; raise for any other."""
    if any(unicodedata.category(c)[0] == "C" for c in text) or text != text.strip():
        raise ValueError("must be printable text that does not begin or end with a space")
    return text


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    try:
        size = len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
    except (ValueError, RecursionError) as cause:
        raise ValueError("must be plain JSON with finite numbers and valid text") from cause
    if size > MOST_JSON:
        raise ValueError(f"must be at most {MOST_JSON} bytes of JSON, got {size}")
    return value


Json = Annotated[dict[str, Any], AfterValidator(_plain)]
ArmName = Annotated[str, StringConstraints(min_length=1, max_length=100), AfterValidator(printable)]
Amount = Annotated[float, Field(ge=0.0, allow_inf_nan=False, strict=True)]  # strict: "3" and true are not numbers
Worth = Annotated[float, Field(ge=0.0, le=1e15, allow_inf_nan=False, strict=True)]
Positive = Annotated[float, Field(gt=0.0, le=1e15, allow_inf_nan=False, strict=True)]

Days = Annotated[float, Field(gt=0.0, le=100_000.0, strict=True)]
Fades = Annotated[float, Field(ge=1.0, le=1e10, allow_inf_nan=False, strict=True)]


def _false(value: Any) -> Any:
    if value is not False:
        raise ValueError("must be seconds, at least 1, or false")
    return value


No = Annotated[Literal[False], BeforeValidator(_false)]  # 0 is not false


class Body(BaseModel):
    """A body with no fields but those named."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ArmSpec(Body):
    """An arm, with what sets it apart from the others."""

    name: ArmName
    law: Json | None = Field(None, description="Its own law; by default the allocator's.")
    lower: Amount = Field(0.0, description="The least it must get.")
    upper: Amount | None = Field(None, description="The most it may get.")
    value: Worth = Field(1.0, description="What a success of it is worth.")


Share = Annotated[float, Field(gt=0.0, lt=1.0, allow_inf_nan=False, strict=True)]
Amounts = Annotated[dict[ArmName, Amount], Field(min_length=1, max_length=MOST_ARMS)]
Holdout = Annotated[float, Field(ge=0.0, lt=1.0, allow_inf_nan=False, strict=True)]


class Guard(Body):
    """What is promised: with probability 1 - delta, at all times, at least this share of what the baseline earns."""

    share: Share = Field(0.95, description="Of the baseline's expected reward, in all decisions so far together.")
    delta: Share = Field(0.05, description="The probability with which that may fail.")


class AllocatorSpec(Body):
    """Arms, law, policy, and how feedback is counted."""

    arms: list[ArmName | ArmSpec] = Field(min_length=1, max_length=MOST_ARMS)
    law: Json | str = Field(description='A law\'s name, {"name": "weibull", "shape": 1.6}, or "auto": learned too.')
    policy: Json = Field(default={"name": "thompson"}, description="A policy's name and options.")
    max_budget: Positive = Field(description="The largest budget a decision may ask for.")
    reward: Literal["sum", "cascade"] = "sum"
    feedback_deadline: Annotated[float, Field(gt=0.0, le=1e10, strict=True)] | None = Field(
        86_400.0, description="Seconds after which a decision counts as expired; null: never."
    )
    on_expiry: Literal["ignore", "failure"] = Field(
        "ignore", description="Whether silence until the deadline is nothing, or the failure of every silent arm."
    )
    units: Annotated[str, StringConstraints(max_length=40), AfterValidator(printable)] | None = None
    keep_days: Days | None = Field(
        None,
        description="Days after which decisions that are over become their sum; null: as the server has it.",
    )
    half_life: Fades | None = Field(
        None, description="Seconds after which what was seen counts half: for arms that change; null: it never fades."
    )
    window: Fades | None = Field(
        None, description="Seconds for which what was seen counts, and then no more; at most one of the two."
    )
    baseline: Literal["even"] | Amounts | None = Field(
        None,
        description="What would be done without it: an even split, or amounts by arm, at most max_budget in all; where "
        "a budget is smaller, they are cut in proportion.",
    )
    holdout: Holdout = Field(0.0, description="The share of decisions that the baseline gets, at random.")
    shadow: Annotated[bool, Field(strict=True)] = Field(
        False, description="Whether every answer is the baseline's, and the policy's is kept beside it."
    )
    guard: Guard | None = Field(None, description="Hold the policy back where it might earn less than the baseline.")

    @field_validator("policy")
    @classmethod
    def _successor(cls, policy: Json) -> Json:
        """An option of older versions, RA-UCB with radii by Fisher information, has become a policy: LR-UCB."""
        if policy.get("name") != "ra-ucb" or policy.get("confidence") != "fisher":
            return policy
        return {"name": "lr-ucb"} | {key: policy[key] for key in ("rate_range", "seed", "value") if key in policy}

    def arm_specs(self) -> list[ArmSpec]:
        """Return the arms, all in the long form."""
        return [ArmSpec(name=arm) if isinstance(arm, str) else arm for arm in self.arms]

    @property
    def fading(self) -> Fading | None:
        """How its evidence fades, in microseconds; None: it does not."""
        seconds = self.window if self.half_life is None else self.half_life
        return None if seconds is None else Fading(round(seconds * 1e6), sliding=self.half_life is None)

    def canonical(self) -> str:
        """Return the text by which two bodies are the same."""
        return self.model_copy(update={"arms": self.arm_specs()}).model_dump_json()


class AllocatorChange(Body):
    """What is to be otherwise from the next decision on; evidence is kept."""

    law: Json | str | None = Field(None, description="Of arms without a law of their own; null: as it is.")
    policy: Json | None = Field(None, description="A policy's name and options; null: as it is.")
    keep_days: Days | None = Field(None, description="Days after which decisions become their sum; null: as it is.")
    half_life: Fades | No | None = Field(
        None, description="Seconds after which what was seen counts half, instead of a window; false: it fades no more."
    )
    window: Fades | No | None = Field(
        None, description="Seconds for which what was seen counts, instead of a half-life; false: it fades no more."
    )
    arms: Annotated[list[ArmSpec], Field(max_length=MOST_ARMS)] = Field(
        default=[], description="Arms in use, each as it shall be; the others stay as they are."
    )

    baseline: Literal["even"] | Amounts | None = Field(None, description="As of an allocator; null: as it is.")
    holdout: Holdout | None = Field(None, description="0: none; null: as it is.")
    shadow: Annotated[bool, Field(strict=True)] | None = Field(None, description="null: as it is.")
    guard: Guard | Literal[False] | None = Field(None, description="false: none; null: as it is.")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.arms and not self.overrides():
            raise ValueError(
                "law, policy, arms, keep_days, half_life, window, baseline, holdout, shadow or guard must be given"
            )
        if self.half_life and self.window:
            raise ValueError("half_life or window must be given, not both")
        return self

    def overrides(self) -> dict[str, Any]:
        """Return the fields of a spec that shall be otherwise, arms aside."""
        fields = {name: value for name, value in self.model_dump(exclude={"arms"}).items() if value is not None}
        if self.half_life or self.window:  # the one ends the other
            fields |= {"half_life": self.half_life or None, "window": self.window or None}
        return fields | {name: None for name in ("half_life", "window", "guard") if fields.get(name) is False}


class Version(Body):
    """What began with a version of an allocator: what was done, by whom, and what it is since, where that changed."""

    version: int
    at: datetime
    actor: str
    action: str
    law: Json | str | None = None
    policy: Json | None = None
    arms: list[ArmSpec] = Field(default=[], description="Those that were changed, or came.")
    retired: str | None = Field(None, description="The arm that went.")
    keep_days: float | None = None
    half_life: float | None = None
    window: float | None = None
    baseline: Literal["even"] | Amounts | None = None
    holdout: Holdout | None = None
    shadow: bool | None = None
    guard: Guard | None = None


class Versions(Body):
    """Versions, the first one first; those from before they were written down are left out."""

    versions: list[Version]


def meaning(spec: AllocatorSpec) -> Json:
    """Return plain data that is equal for allocators that are the same, however they were written."""
    arms = [
        {**arm.model_dump(), "law": None if arm.law is None else from_dict(arm.law).to_dict()}
        for arm in spec.arm_specs()
    ]
    return {**spec.model_dump(), "arms": arms, "law": from_dict(spec.law).to_dict()}


def resolved_arms(spec: AllocatorSpec) -> list[ArmSpec]:
    """Return the arms, each with its own law where the allocator's law has a shape for each of them."""
    arms, law = spec.arm_specs(), from_dict(spec.law)
    if law.arm_axis() == ():
        return arms
    if law.arm_axis() != (len(arms),):
        raise ParameterError(f"law has shapes for {law.arm_axis()[0]} arms, there are {len(arms)}")
    return [
        arm if arm.law is not None else arm.model_copy(update={"law": law.of_arm(place).to_dict()})
        for place, arm in enumerate(arms)
    ]


def build_law(spec: AllocatorSpec, arms: Sequence[ArmSpec]) -> Law:
    """Return the law of all arms: one for all, or one of their own for some."""
    law = from_dict(spec.law)
    if law.arm_axis() != () and any(arm.law is None for arm in arms):
        raise ParameterError("the allocator's law has a shape for each arm, so a new arm must come with its own law")
    if all(arm.law is None for arm in arms):
        return law
    return PerArm(tuple(law if arm.law is None else from_dict(arm.law) for arm in arms))


def seed_of(spec: AllocatorSpec, name: str) -> int:
    """Return the seed of a new allocator: its policy's, or one derived from its name, so that no two explore alike."""
    derived = int.from_bytes(hashlib.sha256(name.encode()).digest()[:6])
    return int(spec.policy.get("seed", derived))


def build_policy(spec: AllocatorSpec, arms: Sequence[ArmSpec], seed: int) -> Policy:
    """Return the policy of these arms, knowing nothing yet; `seed` counts where the spec has none of its own."""
    options = {"seed": seed, **spec.policy}
    name = options.pop("name", None)
    if not isinstance(name, str) or name not in POLICIES:
        raise ParameterError(f"policy.name must be one of {', '.join(POLICIES)}, got {name!r}")
    for owned, where in {"law": "law", "arms": "arms", "max_budget": "max_budget", "reward": "reward",
                         "lower": "arms", "upper": "arms"}.items():  # fmt: skip
        if owned in options:
            raise ParameterError(f"{owned} is not an option of the policy: give it in {where!r}")
    if not isinstance(options.get("seed", 0), int):
        raise ParameterError(f"policy.seed must be one whole number, got {options['seed']!r}")
    if any(arm.value != 1.0 for arm in arms):
        if "value" in options:
            raise ParameterError("value must be given with the arms or with the policy, not with both")
        options["value"] = [arm.value for arm in arms]
    limits: dict[str, Any] = {
        "lower": [arm.lower for arm in arms],
        "upper": [float("inf") if arm.upper is None else arm.upper for arm in arms],
    }
    try:
        policy = POLICIES[name](
            build_law(spec, arms), len(arms), spec.max_budget, reward=spec.reward, **limits, **options
        )
    except OverflowError as cause:
        raise ParameterError(f"policy {name!r} or its law has a number that is too large: {cause}") from cause
    except TypeError as cause:
        raise ParameterError(f"policy {name!r} does not take {', '.join(options) or 'nothing'}: {cause}") from cause
    if spec.guard is None or spec.baseline is None:
        return policy
    baseline = Baseline(spec.baseline, [arm.name for arm in arms], policy)
    return Guarded(policy, baseline.of_guard, share=spec.guard.share, delta=spec.guard.delta)
