"""What is known of a round before deciding: named features of a request, checked against what the policy declares."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headgate.errors import FeatureError, ParameterError
from headgate.features import Features
from headgate.laws import Floats
from headgate.policies import Contextual, Policy
from headgate.policies.ask import Ask
from headgate.service.faults import RefusedError


def features_by_arm(policy: Policy, names: Sequence[str], features: Any, by_arm: Any) -> dict[str, Floats]:
    """Return the features of each arm, (K, d), as an argument of `ask`; raise what is wrong with them.

    `features` are the round's, `by_arm` those of some arms, which count where both say something.
    """
    if not isinstance(policy, Contextual):
        if features is not None or by_arm is not None:
            field = "features" if features is not None else "arm_features"
            raise RefusedError(f"policy {policy.name!r} takes no features: 'contextual' does", field)
        return {}
    strange = [arm for arm in by_arm or () if arm not in names]
    if strange:
        raise RefusedError(f"there is no arm {strange[0]!r} in use", "arm_features")
    declared = policy.features
    if not isinstance(declared, Features):
        if features or by_arm:
            raise RefusedError("the policy declares no features", "features" if features else "arm_features")
        return {"features": np.zeros((len(names), 0))}
    shared = features or {}
    rows = np.empty((len(names), declared.width))
    for place, arm in enumerate(names):
        own = (by_arm or {}).get(arm)
        try:
            rows[place] = declared.row(shared if own is None else {**shared, **own}, f"arm {arm!r}")
        except FeatureError as wrong:
            raise RefusedError(str(wrong), "features" if own is None else f"arm_features.{arm}") from wrong
    return {"features": rows}


def features_of_request(policy: Policy, names: Sequence[str], request: str) -> dict[str, Floats]:
    """Return the same of a request as the log has it."""
    if not isinstance(policy, Contextual):
        return {}
    fields: Mapping[str, Any] = json.loads(request)
    return features_by_arm(policy, names, fields.get("features"), fields.get("arm_features"))


def ask_of_anybody(policy: Policy, budget: float) -> Ask:
    """Return what a round wants of which nothing is known: its budget and limits."""
    if not isinstance(policy, Contextual):
        return policy.ask(budget)
    return policy.ask(budget, features=np.zeros((policy.arms or 1, policy.width)))


def check_declared(policy: Policy) -> None:
    """Raise unless features, where a policy takes some, have names: a request is a JSON object."""
    if isinstance(policy, Contextual) and policy.width and not isinstance(policy.features, Features):
        raise ParameterError(
            "policy.features must declare columns by name: {'numbers': [...], 'categories': {...}}, got "
            f"{policy.features!r}"
        )
