"""Policies: how to allocate while learning."""

from __future__ import annotations

import json

from headgate.errors import HeadgateError, InputError, UnregisteredError
from headgate.policies.ask import Ask
from headgate.policies.base import VERSION, Policy
from headgate.policies.contextual import Contextual
from headgate.policies.cucb import CUCB
from headgate.policies.explore_then_commit import ExploreThenCommit
from headgate.policies.greedy import Greedy
from headgate.policies.guarded import Guarded
from headgate.policies.lrucb import LRUCB
from headgate.policies.mara import MARA
from headgate.policies.mg_ucb import MGUCB
from headgate.policies.model import Curves, ModelPolicy
from headgate.policies.oracle_policy import Oracle
from headgate.policies.portfolio import Portfolio
from headgate.policies.ra_ucb import RAUCB
from headgate.policies.rule import Portions
from headgate.policies.state import State
from headgate.policies.thompson import Thompson
from headgate.policies.uniform import Uniform
from headgate.registry import Registry

#: Every policy by its name in files, on the command line and over HTTP.
POLICIES: Registry[Policy] = Registry("policy", "headgate.policies", Policy, (
    Thompson, Contextual, LRUCB, RAUCB, MGUCB, Greedy, ExploreThenCommit, CUCB, MARA, Portfolio, Uniform, Oracle,
))  # fmt: skip


def load_policy(text: str) -> Policy:
    """Continue a policy from what `Policy.to_json` wrote: the same future decisions."""
    try:
        data = json.loads(text)
        version, name = data["version"], data["policy"]
    except (ValueError, KeyError, TypeError) as cause:
        raise InputError(f"this is not a policy's JSON: {cause}") from cause
    if version not in range(1, VERSION + 1):
        raise InputError(f"the policy was written in format {version}, this version reads 1 to {VERSION}")
    policy = Guarded if name == Guarded.name else POLICIES.find(name)
    try:
        return policy.from_data(data)
    except UnregisteredError:  # nothing is damaged: a law that this process does not know
        raise
    except HeadgateError as cause:
        raise InputError(f"this JSON of policy {name!r} is damaged: {cause}") from cause
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as cause:
        raise InputError(f"this JSON of policy {name!r} is damaged: {cause!r}") from cause


__all__ = [
    "CUCB", "LRUCB", "MARA", "MGUCB", "POLICIES", "RAUCB", "Ask", "Contextual", "Curves", "ExploreThenCommit", "Greedy",
    "Guarded", "ModelPolicy", "Oracle", "Policy", "Portfolio", "Portions", "State", "Thompson", "Uniform",
    "load_policy",
]  # fmt: skip
