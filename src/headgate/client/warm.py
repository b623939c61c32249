"""Files that a warm start begins with: a problem as TOML and evidence as JSON, as `headgate calibrate` writes them.

Only what the service takes is read, as plain data; it is the service that checks it.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headgate.errors import InputError, ProblemFileError


@dataclass(frozen=True, slots=True)
class ProblemFile:
    """What an allocator takes of a problem."""

    arms: list[dict[str, Any]]
    law: Any
    units: str | None


def read_problem(file: str | Path) -> ProblemFile:
    """Read arms, law and units of a problem file; its activations and rates are for the service to learn."""
    try:
        data = tomllib.loads(Path(file).read_text("utf-8"))
    except (OSError, ValueError) as cause:
        raise ProblemFileError(f"{file}: cannot be read: {cause}") from cause
    if "kinds" in data:
        raise ProblemFileError(f"{file}: rounds of hidden kinds cannot be served")
    arms = data.get("arms")
    if not isinstance(arms, list) or not arms or not all(isinstance(arm, dict) for arm in arms):
        raise ProblemFileError(f"{file}: arms must be one [[arms]] table for each arm, got {arms!r}")
    kept = [
        {"name": arm.get("name", f"arm{place}")} | {name: arm[name] for name in ("law", "value") if name in arm}
        for place, arm in enumerate(arms)
    ]
    laws = [arm.get("law", data.get("law")) for arm in kept]
    if None in laws:
        raise ProblemFileError(f"{file}: arm {laws.index(None)}: law is missing: give it there or one for all")
    law = data.get("law", laws[0])
    for arm in kept:
        if "law" in arm:
            own = arm["law"]
            arm["law"] = {"name": own} if isinstance(own, str) else own
    return ProblemFile(kept, law, data.get("units"))


def read_evidence(file: str | Path) -> dict[str, Any]:
    """Read evidence, as `Evidence.to_dict` writes it."""
    try:
        data = json.loads(Path(file).read_text("utf-8"))
    except (OSError, ValueError) as cause:
        raise InputError(f"{file}: cannot be read: {cause}") from cause
    if not isinstance(data, dict) or "max_budget" not in data:
        raise InputError(f"{file}: is no evidence: it has no max_budget")
    return data
