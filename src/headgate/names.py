"""Names of arms: checked, looked up, and put on what is handed out.

Arms have names where people gave them (`arms=["q1", "q2"]`). Kernels, states and simulations know positions only; names
are read where a call comes in and written where an answer goes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Self, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate.errors import InputError, ParameterError, ShapeError, UnknownArmError

_LISTED = 8  # names that an error lists, and amounts that a repr shows
_PLAIN = frozenset((float, int, bool, list, tuple, np.ndarray, type(None)))  # the usual ways to give numbers


ByArm: TypeAlias = ArrayLike | Mapping[str, float]
"""Numbers for arms: one, one for each, or by name."""
IntOrNames: TypeAlias = Any
"""A field that is given as a number of arms or as their names, and read as their number; types cannot say both."""


def usual_names(arms: int) -> tuple[str, ...]:
    """Return the names of arms that nobody named: arm0, arm1, ..."""
    return tuple(f"arm{i}" for i in range(arms))


def given_names(arms: object) -> tuple[str, ...] | None:
    """Return the names that were given as arms, or None if these are no names but a number, or nothing.

    >>> given_names(["q1", "q2"]), given_names(2)
    (('q1', 'q2'), None)
    """
    if isinstance(arms, str) or not isinstance(arms, Iterable) or np.ndim(arms) == 0:  # type: ignore[arg-type]
        return None
    return checked_names(list(arms))


def checked_names(names: Sequence[object], arms: int | None = None) -> tuple[str, ...]:
    """Return names as texts, all different and not empty, one for each of `arms`; else raise."""
    texts = [str(name) for name in names if isinstance(name, str) and name]
    if isinstance(names, str) or len(texts) != len(names) or not texts:
        raise ParameterError(f"names must be text that is not empty, one for each arm, got {names!r}")
    if arms is not None and len(texts) != arms:
        raise ShapeError(f"there must be {arms} names, one for each arm, got {len(texts)}: {listed(texts)}")
    if len(set(texts)) != len(texts):
        twice = next(name for name in texts if texts.count(name) > 1)
        raise ParameterError(f"names must differ from each other, got {twice!r} twice")
    return tuple(texts)


def listed(names: Sequence[str]) -> str:
    """Return the first names in one line, for people to read."""
    return ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")


def place_of(name: object, names: Sequence[str] | None) -> int:
    """Return the position of the arm of that name, or raise an error that says which names there are."""
    if names is None:
        raise UnknownArmError(f"there is no arm {name!r}: the arms have no names, only numbers; arms=[...] names them")
    if name in names:
        return names.index(name)
    near = get_close_matches(str(name), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UnknownArmError(f"there is no arm {name!r}: the {len(names)} arms are {listed(names)}{hint}")


def by_name(values: Any, names: Sequence[str] | None, default: float, error: type[InputError] = ParameterError) -> Any:
    """Return numbers by name as an array (K,), `default` for arms that are not mentioned; all else as it is.

    >>> by_name({"q2": 3.0}, ("q1", "q2"), 1.0)
    array([1., 3.])
    """
    if type(values) in _PLAIN or not isinstance(values, Mapping):
        return values
    row = np.full(len(names or ()), default)
    for name, value in values.items():
        place = place_of(name, names)
        try:
            row[place] = value
        except (TypeError, ValueError) as cause:
            raise error(f"there must be one number for each arm, got {value!r} for {name!r}") from cause
    return row


def flags_by_name(eligible: Any, names: Sequence[str] | None) -> Any:
    """Return which arms are meant: a list of names as flags (K,), flags by name too; all else as it is.

    An arm that a mapping does not mention is meant; one that a list does not mention is not.

    >>> flags_by_name(["q2"], ("q1", "q2")), flags_by_name({"q2": False}, ("q1", "q2"))
    (array([False,  True]), array([1., 0.]))
    """
    if isinstance(eligible, Mapping):
        return by_name(eligible, names, 1.0)
    if isinstance(eligible, str) or not isinstance(eligible, Sequence | set | frozenset):
        return eligible
    if not any(isinstance(name, str) for name in eligible):
        return eligible
    flags = np.zeros(len(names or ()), dtype=np.bool_)
    for name in eligible:
        flags[place_of(name, names)] = True
    return flags


@final
class Amounts(np.ndarray[Any, np.dtype[np.float64]]):
    """What each arm gets, (..., K): an array like any other, that also knows its arms by name.

    What is computed from it, and parts of it, are plain arrays: they are no longer one number for each arm.

    Examples
    --------
    >>> x = Amounts.of(np.array([8.0, 4.0]), ("q1", "q2"))
    >>> x
    Amounts({'q1': 8, 'q2': 4})
    >>> x["q1"].item(), x.to_dict(), 2.0 * x
    (8.0, {'q1': 8.0, 'q2': 4.0}, array([16.,  8.]))
    """

    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, x: NDArray[np.float64], names: tuple[str, ...]) -> Self:
        """Put names on an array, which is shared."""
        labelled = x.view(cls)
        labelled.names = names
        return labelled

    def to_dict(self) -> dict[str, Any]:
        """Return the amounts by name; of a batch, lists."""
        return {name: self[name].tolist() for name in self.names or ()}

    def round(self, decimals: Any = 0, out: Any = None) -> Any:
        """Return rounded amounts, with the same names."""
        rounded = np.asarray(self).round(decimals, out)
        return rounded if self.names is None else Amounts.of(rounded, self.names)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return np.asarray(self)[..., place_of(key, self.names)]
        return np.asarray(self)[key]

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else np.asarray(array)

    def __repr__(self) -> str:
        if self.names is None or self.ndim != 1:
            return repr(np.asarray(self))
        pairs = zip(self.names[:_LISTED], np.asarray(self).tolist(), strict=False)
        shown = ", ".join(f"{name!r}: {amount:.6g}" for name, amount in pairs)
        return f"Amounts({{{shown}{', ...' if self.size > _LISTED else ''}}})"

    __str__ = __repr__


def amounts_of(x: ByArm, names: Sequence[str] | None, error: type[InputError]) -> Any:
    """Return an allocation that may be given by name as numbers in the order of the arms; others get 0."""
    return by_name(x, names, 0.0, error)
