"""State: what a policy has learned and remembers, apart from its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy as copy
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np

from headgate.errors import InputError
from headgate.evidence import Evidence


@dataclass(slots=True, eq=False)
class State:
    """Evidence and the number of rounds begun; a policy that remembers more declares a subclass with more fields.

    A field is evidence, an array whose shape and type never change, or one number. A state has one owner, who hands it
    to `Policy.decide` and `Policy.absorb` and goes on with what they return: its arrays may be updated in place. All
    others take a `copy`. Nothing in it grows with the rounds.
    """

    evidence: Evidence
    """What has been seen of each arm."""
    round: int
    """How many rounds have begun."""
    budgets: Evidence | None = field(default=None, kw_only=True)
    """What budgets have been, as evidence of one arm (`headgate.evidence.budgets`); None before the first."""

    def copy(self) -> Self:
        """Return a state that shares nothing with this one."""
        return replace(self, **{f.name: copy(getattr(self, f.name)) for f in fields(self)})

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, exact."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}
        return {name: v.to_dict() if isinstance(v, Evidence) else plain(v) for name, v in values.items()}

    def from_dict(self, data: Mapping[str, Any]) -> Self:
        """Return the state that `to_dict` wrote; this one, of the same policy, says what it must look like."""
        budgets = Evidence.empty(1, self.evidence.max_budget) if "budgets" in data else None
        fresh: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)} | {"budgets": budgets}
        read: dict[str, Any] = {name: _like(name, v, data[name]) for name, v in fresh.items() if v is not None}
        return replace(self, **read)


def _like(name: str, fresh: Any, data: Any) -> Any:
    """Read a field's value, or raise if it is not of the kind of a fresh one."""
    if isinstance(fresh, Evidence):
        evidence = Evidence.from_dict(data)
        if (evidence.bins.shape, evidence.max_budget) != (fresh.bins.shape, fresh.max_budget):
            raise InputError(f"its evidence is of {evidence.arms} arms at {evidence.max_budget:g}, not the policy's")
        return evidence
    value = parsed(data)
    if type(value) is not type(fresh) or np.shape(value) != np.shape(fresh):
        raise InputError(f"its {name} must be {type(fresh).__name__} of shape {np.shape(fresh)}, got {data!r}")
    if isinstance(fresh, np.ndarray) and value.dtype != fresh.dtype:
        raise InputError(f"its {name} must be of type {fresh.dtype}, got {value.dtype}")
    if name == "round" and value < 0:
        raise InputError(f"its round must be at least 0, got {value}")
    return value


def plain(value: Any) -> Any:
    """Return plain data that JSON holds exactly: arrays with their type, infinities and NaN by name."""
    if isinstance(value, np.ndarray):
        flat = [plain(v) for v in value.ravel().tolist()]
        return {"array": value.dtype.str, "shape": list(value.shape), "values": flat}
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": repr(value)}
    return value


def parsed(value: Any) -> Any:
    """Read what `plain` wrote."""
    if isinstance(value, dict) and "array" in value:
        flat = [parsed(v) for v in value["values"]]
        return np.array(flat, dtype=value["array"]).reshape(value["shape"])
    if isinstance(value, dict) and "float" in value:
        return float(value["float"])
    if isinstance(value, list):
        return [parsed(v) for v in value]
    return value
