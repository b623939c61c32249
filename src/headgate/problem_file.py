"""Problem files: one problem as TOML that people read and write.

A file has a table for each arm, a law for all arms or one in an arm's own table, and, if wanted, the
units of the budget and where the numbers come from::

    units = "seconds"
    law = { name = "weibull", shape = 1.6 }

    [[arms]]
    name = "q4135"
    activation = 0.2208
    rate = 0.0206

    [[arms]]
    name = "q5328"
    activation = 0.5832
    rate = 0.0248
    value = 2.0
    law = "exponential"

    [provenance]
    source = "EdNet-KT3"

This module knows plain data only; `headgate.Problem` gives it its methods.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from headgate import checks
from headgate.errors import InputError, ProblemFileError
from headgate.laws import Law, from_dict

_TOP = ("law", "units", "arms", "provenance")
_ARM = ("name", "activation", "rate", "value", "law")


@dataclass(frozen=True, slots=True)
class ProblemTable:
    """A problem as plain columns, one entry for each arm: what a file holds."""

    names: tuple[str, ...]
    activation: tuple[float, ...]
    rate: tuple[float, ...]
    laws: tuple[Law, ...]
    value: tuple[float, ...]
    units: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)


def read(source: str | Path) -> ProblemTable:
    """Read a problem from a path, or from TOML text (a string that has a line break or an equals sign)."""
    if isinstance(source, str) and ("\n" in source or "=" in source):
        return loads(source)
    path = Path(source)
    try:
        return loads(path.read_text(encoding="utf-8"), str(path))
    except OSError as cause:
        raise ProblemFileError(f"{path}: cannot be read: {cause.strerror or cause}") from cause
    except UnicodeDecodeError as cause:
        raise ProblemFileError(f"{path}: must be UTF-8 text: {cause.reason}") from cause


def loads(text: str, file: str = "TOML text") -> ProblemTable:
    """Read a problem from TOML text; `file` is what errors call it."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as cause:
        raise ProblemFileError(f"{file}: is not TOML: {cause}") from cause
    _only(data, _TOP, file)
    arms = data.get("arms")
    if not isinstance(arms, list) or not arms or not all(isinstance(arm, dict) for arm in arms):
        raise ProblemFileError(f"{file}: arms must be one [[arms]] table for each arm, got {arms!r}")
    units, provenance = data.get("units"), data.get("provenance", {})
    if units is not None and not isinstance(units, str):
        raise ProblemFileError(f"{file}: units must be text, got {units!r}")
    if not isinstance(provenance, dict):
        raise ProblemFileError(f"{file}: provenance must be a table, got {provenance!r}")
    common = _law(data["law"], f"{file}: law") if "law" in data else None

    names: list[str] = []
    activation: list[float] = []
    rate: list[float] = []
    laws: list[Law] = []
    values: list[float] = []
    for number, arm in enumerate(arms):
        name = arm.get("name", f"arm{number}")
        if not isinstance(name, str) or not name:
            raise ProblemFileError(f"{file}: arm {number}: name must be text, not empty, got {name!r}")
        where = f"{file}: arm {number} ({name})"
        if name in names:
            raise ProblemFileError(f"{where}: name must differ from every other, got that of arm {names.index(name)}")
        _only(arm, _ARM, where)
        law = _law(arm["law"], f"{where}: law") if "law" in arm else common
        if law is None:
            raise ProblemFileError(f"{where}: law is missing: give it here or one for all at the top of the file")
        names.append(name)
        activation.append(_number(arm, "activation", where, most=1.0))
        rate.append(_number(arm, "rate", where, open_least=True))
        values.append(_number(arm, "value", where) if "value" in arm else 1.0)
        laws.append(law)
    return ProblemTable(
        tuple(names), tuple(activation), tuple(rate), tuple(laws), tuple(values), units, provenance
    )  # fmt: skip


def dumps(table: ProblemTable) -> str:
    """Write a problem as TOML; `loads` gives back the same floats, bit for bit."""
    first = table.laws[0]
    same = all(law == first for law in table.laws)
    head = {} if table.units is None else {"units": table.units}
    parts = [tomli_w.dumps(head) + (_law_lines(first) if same else "")]
    columns = zip(table.names, table.activation, table.rate, table.value, table.laws, strict=True)
    for name, p, rate, value, law in columns:
        arm = tomli_w.dumps({"name": name, "activation": p, "rate": rate} | ({"value": value} if value != 1.0 else {}))
        parts.append("[[arms]]\n" + arm + ("" if same else _law_lines(law)))
    if table.provenance:
        try:
            parts.append(tomli_w.dumps({"provenance": table.provenance}))
        except (TypeError, ValueError) as cause:
            raise ProblemFileError(f"provenance must hold only what TOML can: {cause}") from cause
    return "\n".join(part for part in parts if part)


def _law_lines(law: Law) -> str:
    """`law = "exponential"`, or a dotted key for the name and each shape."""
    data = law.to_dict()
    if len(data) == 1:
        return tomli_w.dumps({"law": law.name})
    return "".join("law." + tomli_w.dumps({key: value}) for key, value in data.items())


def _only(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            raise ProblemFileError(f"{where}: unknown field {key!r}: it must be one of {', '.join(known)}")


def _number(arm: Mapping[str, Any], key: str, where: str, **limits: Any) -> float:
    if key not in arm:
        raise ProblemFileError(f"{where}: {key} is missing")
    value = arm[key]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ProblemFileError(f"{where}: {key} must be a number, got {value!r}")
    return float(checks.numbers(f"{where}: {key}", value, ProblemFileError, **limits))


def _law(value: Any, where: str) -> Law:
    if not isinstance(value, str | dict):
        raise ProblemFileError(f"{where} must be a name or a table with a name and shapes, got {value!r}")
    try:
        law = from_dict(value)
    except (InputError, TypeError, KeyError) as cause:
        raise ProblemFileError(f"{where}: {cause}") from cause
    if law.arm_axis() != ():
        raise ProblemFileError(f"{where} must have one shape, got {value!r}: give an arm its own law instead")
    return law
