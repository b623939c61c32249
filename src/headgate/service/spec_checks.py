"""What is wrong with an allocator that its fields alone do not show: arms, law, policy, fading, baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from headgate.errors import BudgetError, InputError, UnsupportedError
from headgate.policies import Policy
from headgate.service.engine.features import ask_of_anybody, check_declared
from headgate.service.faults import RefusedError
from headgate.service.spec import AllocatorSpec, ArmSpec, build_law, build_policy, resolved_arms


def check(spec: AllocatorSpec) -> None:
    """Raise what is wrong with an allocator that its fields alone do not show."""
    names = [arm.name for arm in spec.arm_specs()]
    if len(set(names)) < len(names):
        twice, _ = Counter(names).most_common(1)[0]
        raise RefusedError(f"arms must have different names, got {twice!r} twice", "arms")
    try:
        arms = resolved_arms(spec)
        build_law(spec, arms)
    except (InputError, UnsupportedError) as wrong:
        raise RefusedError(str(wrong), "law") from wrong
    try:
        policy = build_policy(spec.model_copy(update={"guard": None}), arms, 0)
        policy.decide(policy.start(), ask_of_anybody(policy, spec.max_budget))  # one that cannot decide is none
        check_declared(policy)
        if spec.keep_days is not None and (not policy.additive or policy.discount < 1.0):
            raise RefusedError(
                f"policy {policy.name!r} is a fold of its whole log: keep_days must be null", "keep_days"
            )
    except BudgetError as wrong:
        raise RefusedError(str(wrong), "arms") from wrong
    except (InputError, UnsupportedError) as wrong:
        raise RefusedError(str(wrong), "policy") from wrong
    check_fading(spec, policy)
    check_baseline(spec, arms)


def check_fading(spec: AllocatorSpec, policy: Policy) -> None:
    """Raise what is wrong with evidence that fades under a policy, without its guard."""
    if spec.fading is None:
        return
    field = "window" if spec.half_life is None else "half_life"
    if spec.half_life is not None and spec.window is not None:
        raise RefusedError("half_life or window must be null: evidence fades in one way", "window")
    if spec.guard is not None:
        raise RefusedError(
            f"a guard adds up what arms earn by evidence that does not fade: {field} must be null", field
        )
    if not policy.additive or policy.discount < 1.0:
        raise RefusedError(
            f"policy {policy.name!r} is a fold of its whole log, of which no sum fades: {field} must be null; "
            "its option discount lets it forget",
            field,
        )
    try:  # one whose promise is for worlds that do not change refuses a discount too, and says why
        type(policy)(**policy.options() | {"discount": 0.5})
    except (InputError, UnsupportedError) as wrong:
        raise RefusedError(f"{field} must be null, for it is as a discount: {wrong}", field) from wrong


def check_baseline(spec: AllocatorSpec, arms: Sequence[ArmSpec]) -> None:
    """Raise what is wrong with the baseline of these arms in use, and with what is done with it."""
    if isinstance(spec.baseline, dict):
        strange = next((name for name in spec.baseline if name not in {arm.name for arm in arms}), None)
        if strange is not None:
            raise RefusedError(f"there is no arm {strange!r} in use", "baseline")
        total = sum(spec.baseline.values())
        if not 0.0 < total <= spec.max_budget * (1.0 + 1e-9):
            raise RefusedError(
                f"the amounts must be more than 0 and at most max_budget {spec.max_budget:g} in all, got {total:g}",
                "baseline",
            )
    for field in ("holdout", "shadow", "guard"):
        if spec.baseline is None and getattr(spec, field):
            raise RefusedError(f"{field} needs a baseline: give one", field)
    if spec.shadow and (spec.holdout or spec.guard):
        other = "holdout must be 0" if spec.holdout else "guard must be null"
        raise RefusedError(f"every answer of a shadow is the baseline's: {other}", "shadow")
    if spec.guard is not None:
        try:
            policy = build_policy(spec, arms, 0)
            policy.decide(policy.start(), policy.ask(spec.max_budget))
        except (InputError, UnsupportedError) as wrong:
            raise RefusedError(str(wrong), "guard") from wrong
