"""Every law of the package, derived from the registry: what a test uses that means all laws."""

from __future__ import annotations

from headgate.laws import LAWS, Law


def every_law(*shapes: float, end: float, whole: bool | None = None) -> list[Law]:
    """Return the built-in laws: those with a shape at each of `shapes`, a bounded one with its end at `end`.

    `whole` picks those of whole numbers, or those that are not.
    """
    found: list[Law] = []
    for kind in LAWS.values():
        if not kind.__module__.startswith("headgate.") or (kind.free is None and kind.shape_names()):
            continue  # a stranger's, or one whose parameters have no usual values
        if whole is not None and kind.integer != whole:
            continue
        if kind.free is None:
            found.append(kind())
        else:
            found += [kind(**{kind.free.name: value}) for value in (shapes if kind.free.learnable else (end,))]
    return found


def label(law: Law) -> str:
    """A short name for a test: weibull_1.5."""
    return "_".join([law.name, *(f"{float(value):g}" for value in law.shapes().values())])
