"""What a problem is given, checked: kinds, laws of kinds, shapes, names, and who takes part in a round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headgate import checks
from headgate.errors import BudgetError, ParameterError, ShapeError
from headgate.laws import Floats, Law, PerArm, PerKind, as_law


def upper_of_eligible(upper: ArrayLike, eligible: ArrayLike, lower: ArrayLike) -> ArrayLike:
    """Return the most that each arm may get: 0 for those that do not take part."""
    if eligible is True:
        return upper
    able = np.asarray(eligible)
    if able.dtype.kind not in "biuf" or not np.isin(able, (0, 1)).all():
        raise ParameterError(f"eligible must be true or false for each arm, got {eligible!r}")
    able = able.astype(np.bool_)
    if np.any(np.broadcast_arrays(np.asarray(lower) > 0.0, ~able)[0] & ~able):
        raise BudgetError(f"lower must be 0 for arms that are not eligible, got {lower!r} and eligible {eligible!r}")
    return np.where(able, upper, 0.0)


def checked_kinds(kinds: ArrayLike) -> Floats:
    """Return how frequent each kind is: one axis, numbers that add up to 1."""
    share = checks.numbers("kinds", kinds, most=1.0)
    if share.ndim != 1 or share.size == 0:
        raise ShapeError(f"kinds must be the probability of each kind of rounds, (Q,), got shape {share.shape}")
    if abs(share.sum() - 1.0) > 1e-9:
        raise ParameterError(f"kinds must add up to 1, got {share.tolist()}, which add up to {share.sum():.12g}")
    fresh = np.array(share)
    fresh.flags.writeable = False
    return fresh


def law_of_kinds(law: Any) -> Law:
    """Return one law: of all kinds, or Q sequences of K laws, one for each kind and arm, joined."""
    nested = isinstance(law, Sequence) and not isinstance(law, str) and len(law) > 0
    if nested and all(isinstance(row, Sequence) and not isinstance(row, str) for row in law):
        rows = tuple(tuple(row) for row in law)
        return as_law(rows[0]) if all(row == rows[0] for row in rows) else PerKind(tuple(PerArm(row) for row in rows))
    return as_law(law)


def shape_of_arms(shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the common shape (..., K), or raise if the arrays disagree about K or the batch."""
    arms = {name: shape[-1] for name, shape in shapes.items() if shape}
    if len(set(arms.values())) != 1 or 0 in arms.values():
        text = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ShapeError(f"activation, rate, value and law must have the same number of arms, at least 1, got {text}")
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError as cause:
        text = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ShapeError(f"the batch axes of activation, rate, value and law must broadcast, got {text}") from cause


def called_names(names: Any) -> list[str] | None:
    """Return names as they were given, whatever holds them: a list, a tuple, an array, a column of a table."""
    if names is None:
        return None
    if isinstance(names, str | int) or not isinstance(names, Iterable):
        raise ParameterError(f"names must be text, one for each arm, such as arms=['q1', 'q2'], got {names!r}")
    return list(names)
