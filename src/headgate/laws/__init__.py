"""Laws: the distributions a threshold may follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.errors import ParameterError
from headgate.laws.base import Law, RateRange
from headgate.laws.beta import Beta
from headgate.laws.burr import LogLogistic, Lomax
from headgate.laws.discrete import DiscreteWeibull
from headgate.laws.gamma import Exponential, Gamma, HalfNormal, Maxwell, Nakagami, Rayleigh, Weibull
from headgate.laws.lognormal import LogNormal
from headgate.laws.one_of import OneOf
from headgate.laws.per_arm import PerArm, as_law, simplest
from headgate.laws.per_kind import PerKind, law_of_kind
from headgate.laws.points import Points
from headgate.laws.scale import ScaleLaw
from headgate.laws.shape import AUTO, AUTO_WHOLE, LEARN, EndPoint, Floats, Shape
from headgate.laws.wrapped import FromScipy, from_scipy
from headgate.registry import Registry

#: Every law by its name in files, on the command line and over HTTP.
LAWS: Registry[Law] = Registry("law", "headgate.laws", Law, (
    Exponential, Weibull, Gamma, HalfNormal, Rayleigh, Maxwell, Nakagami,
    Lomax, LogLogistic, LogNormal, Beta, DiscreteWeibull, FromScipy, Points,
))  # fmt: skip

#: Laws that are made of other laws; `laws` holds them, in files too.
_JOINED: dict[str, Any] = {law.name: law for law in (OneOf, PerArm, PerKind)}


def from_dict(data: Mapping[str, Any] | str) -> Law:
    """Read a law from plain data, as `Law.to_dict` writes it, or from its name alone.

    >>> from_dict({"name": "weibull", "shape": 1.6})
    Weibull(shape=1.6)
    """
    if not isinstance(data, Mapping | str):
        raise ParameterError(f"a law must be a name or a table with a name, got {data!r}")
    data = {"name": data} if isinstance(data, str) else dict(data)
    name = data.pop("name", None)
    if name in (AUTO, AUTO_WHOLE) and not data:
        return automatic(whole=name == AUTO_WHOLE)
    if isinstance(name, str) and name in _JOINED:
        parts = data.get("laws")
        if set(data) != {"laws"} or not isinstance(parts, list | tuple):
            raise ParameterError(f"law {name!r} takes 'laws', a list of {_JOINED[name].parts}, got {data!r}")
        joined: Law = _JOINED[name](tuple(from_dict(law) for law in parts))
        return joined
    law = LAWS.find(name)
    try:
        return law(**data)
    except TypeError as cause:
        raise ParameterError(f"law {name!r} does not take {', '.join(data) or 'nothing'}: {cause}") from cause


def automatic(whole: bool = False) -> OneOf:
    """Return what "auto", or "auto-whole", stands for: every registered law with a shape to learn, in whole units."""
    open_laws = (law for law in LAWS.values() if law.free is not None and law.free.learnable and law.integer == whole)
    return OneOf(tuple(law(**{law.free.name: LEARN}) for law in open_laws if law.free is not None))


__all__ = [
    "AUTO",
    "AUTO_WHOLE",
    "LAWS",
    "Beta",
    "DiscreteWeibull",
    "EndPoint",
    "Exponential",
    "Floats",
    "FromScipy",
    "Gamma",
    "HalfNormal",
    "Law",
    "LogLogistic",
    "LogNormal",
    "Lomax",
    "Maxwell",
    "Nakagami",
    "OneOf",
    "PerArm",
    "PerKind",
    "Points",
    "RateRange",
    "Rayleigh",
    "ScaleLaw",
    "Shape",
    "Weibull",
    "as_law",
    "automatic",
    "from_dict",
    "from_scipy",
    "law_of_kind",
    "simplest",
]
