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

Rounds of hidden kinds have `kinds = [0.7, 0.3]` at the top; then an arm's activation and rate are lists of one number
for each kind, and its law may be a list of one for each.

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
from headgate.laws import Law, OneOf, from_dict

_TOP = ("law", "units", "kinds", "arms", "provenance")
_ARM = ("name", "activation", "rate", "value", "law")


@dataclass(frozen=True, slots=True)
class ProblemTable:
    """A problem as plain columns, one entry for each arm: what a file holds."""

    names: tuple[str, ...]
    activation: tuple[Any, ...]
    """A number for each arm; with kinds, as many in a tuple."""
    rate: tuple[Any, ...]
    laws: tuple[Any, ...]
    """A law for each arm; with kinds, as many in a tuple."""
    value: tuple[float, ...]
    units: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    kinds: tuple[float, ...] | None = None


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
    kinds = _kinds(data["kinds"], file) if "kinds" in data else None

    names: list[str] = []
    activation: list[Any] = []
    rate: list[Any] = []
    laws: list[Any] = []
    values: list[float] = []
    for number, arm in enumerate(arms):
        name = arm.get("name", f"arm{number}")
        if not isinstance(name, str) or not name:
            raise ProblemFileError(f"{file}: arm {number}: name must be text, not empty, got {name!r}")
        where = f"{file}: arm {number} ({name})"
        if name in names:
            raise ProblemFileError(f"{where}: name must differ from every other, got that of arm {names.index(name)}")
        _only(arm, _ARM, where)
        law: Any = _laws(arm["law"], f"{where}: law", kinds) if "law" in arm else common
        if law is None:
            raise ProblemFileError(f"{where}: law is missing: give it here or one for all at the top of the file")
        names.append(name)
        activation.append(_numbers(arm, "activation", where, kinds, most=1.0))
        rate.append(_numbers(arm, "rate", where, kinds, open_least=True))
        values.append(_number(arm, "value", where) if "value" in arm else 1.0)
        laws.append(law if kinds is None or isinstance(law, tuple) else (law,) * len(kinds))
    return ProblemTable(
        tuple(names), tuple(activation), tuple(rate), tuple(laws), tuple(values), units, provenance, kinds
    )  # fmt: skip


def dumps(table: ProblemTable) -> str:
    """Write a problem as TOML; `loads` gives back the same floats, bit for bit."""
    first = table.laws[0] if table.kinds is None else table.laws[0][0]
    same = all(law == first for law in (table.laws if table.kinds is None else (w for row in table.laws for w in row)))
    head: dict[str, Any] = {} if table.units is None else {"units": table.units}
    head |= {} if table.kinds is None else {"kinds": list(table.kinds)}
    parts = [tomli_w.dumps(head) + (_law_lines(first) if same else "")]
    columns = zip(table.names, table.activation, table.rate, table.value, table.laws, strict=True)
    for name, p, rate, value, law in columns:
        own: dict[str, Any] = {"name": name, "activation": _plain(p), "rate": _plain(rate)}
        arm = tomli_w.dumps(own | ({"value": value} if value != 1.0 else {}))
        parts.append("[[arms]]\n" + arm + ("" if same else _law_lines(law)))
    if table.provenance:
        try:
            parts.append(tomli_w.dumps({"provenance": table.provenance}))
        except (TypeError, ValueError) as cause:
            raise ProblemFileError(f"provenance must hold only what TOML can: {cause}") from cause
    return "\n".join(part for part in parts if part)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _law_lines(law: Law | tuple[Law, ...]) -> str:
    """`law = "exponential"`, or a dotted key for the name and each shape; with kinds a list of tables."""
    if isinstance(law, tuple):
        if len(set(law)) > 1:
            return tomli_w.dumps({"law": [one.to_dict() for one in law]})
        law = law[0]
    data = law.to_dict()
    if len(data) == 1:
        return tomli_w.dumps({"law": law.name})
    return "".join("law." + tomli_w.dumps({key: value}) for key, value in data.items())


def _only(table: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in names:
            raise ProblemFileError(f"{where}: unknown field {key!r}: it must be one of {', '.join(names)}")


def _number(arm: Mapping[str, Any], key: str, where: str, **limits: Any) -> float:
    if key not in arm:
        raise ProblemFileError(f"{where}: {key} is missing")
    value = arm[key]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ProblemFileError(f"{where}: {key} must be a number, got {value!r}")
    return float(checks.numbers(f"{where}: {key}", value, ProblemFileError, **limits))


def _kinds(value: Any, file: str) -> tuple[float, ...]:
    if not isinstance(value, list) or not value:
        raise ProblemFileError(f"{file}: kinds must be a list of the probability of each kind, got {value!r}")
    return tuple(_number({"kinds": share}, "kinds", file, most=1.0) for share in value)


def _numbers(arm: Mapping[str, Any], key: str, where: str, kinds: tuple[float, ...] | None, **limits: Any) -> Any:
    """Read a number, or with kinds a list of one for each of them (one number stands for all)."""
    value = arm.get(key)
    if kinds is None or not isinstance(value, list):
        one = _number(arm, key, where, **limits)
        return one if kinds is None else (one,) * len(kinds)
    if len(value) != len(kinds):
        raise ProblemFileError(f"{where}: {key} must have one number for each of {len(kinds)} kinds, got {value!r}")
    return tuple(_number({key: each}, key, where, **limits) for each in value)


def _laws(value: Any, where: str, kinds: tuple[float, ...] | None) -> Law | tuple[Law, ...]:
    """Read a law, or with kinds a list of one for each of them."""
    if kinds is None or not isinstance(value, list):
        return _law(value, where)
    if len(value) != len(kinds):
        raise ProblemFileError(f"{where} must be one, or one for each of {len(kinds)} kinds, got {len(value)}")
    return tuple(_law(each, where) for each in value)


def _law(value: Any, where: str) -> Law:
    if not isinstance(value, str | dict):
        raise ProblemFileError(f"{where} must be a name or a table with a name and shapes, got {value!r}")
    try:
        law = from_dict(value)
    except (InputError, TypeError, KeyError) as cause:
        raise ProblemFileError(f"{where}: {cause}") from cause
    if isinstance(law, OneOf):
        raise ProblemFileError(f"{where}: {value!r} is for learners: the law of a problem must be known")
    if law.arm_axis() != ():
        raise ProblemFileError(f"{where} must have one shape, got {value!r}: give an arm its own law instead")
    return law
