"""Policies' JSON as it was before configuration and state were apart: read, never written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from headgate.errors import InputError

#: Options that every policy accepted in version 1, whether it used them or not.
_IGNORED = ("rounds", "rate_range")


def upgraded(policy: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a policy's class in the form of version 2."""
    options = {"law": data["law"], "arms": data["arms"], "max_budget": data["max_budget"]}
    options |= data["common"] | data["options"]
    if options.pop("confidence", "paper") != "paper":
        raise InputError('confidence="fisher" is no more: RA-UCB is the paper\'s algorithm and nothing else')
    names = {f.name for f in fields(policy)}
    options = {name: value for name, value in options.items() if name in names or name not in _IGNORED}
    state = {"evidence": data["evidence"], "round": data["round"], **data["state"]}
    return {"options": options, "state": state}
