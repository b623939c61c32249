"""What a problem is put together from and taken apart into: curves by points, one round's terms, a file's table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headgate import checks
from headgate.errors import ParameterError, ShapeError, UnsupportedError
from headgate.laws import Floats, Points, law_of_kind
from headgate.oracle import Limits
from headgate.oracle.curves import check_points
from headgate.problem.arms import KnownArms
from headgate.problem.file import ProblemTable
from headgate.problem.given import upper_of_eligible

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def measured_curves(x: ArrayLike, y: ArrayLike) -> tuple[list[Points], Floats]:
    """Check curves by points that begin at (0, 0); return each arm's shape as a law, and its last point's height."""
    amounts, heights = check_points(x, y, "sum")
    if heights.ndim != 2 or np.any(amounts[:, 0] != 0.0) or np.any(heights[:, 0] != 0.0):
        raise ParameterError(f"curves of a problem must be (K, n) and begin at (0, 0), got shape {heights.shape}")
    top = heights[:, -1]
    idle = np.linspace(0.0, 1.0, heights.shape[1])  # an arm that never succeeds may have any law
    shape = np.where(top[:, None] > 0.0, heights / np.where(top > 0.0, top, 1.0)[:, None], idle)
    return [Points(tuple(a.tolist()), tuple(h.tolist())) for a, h in zip(amounts, shape, strict=True)], top


def one_round(
    arms: KnownArms, budget: float, value: ArrayLike | None, eligible: ArrayLike, lower: ArrayLike, upper: ArrayLike
) -> tuple[Floats, Limits]:
    """Check what one round of one problem wants: what successes are worth, (K,), and the limits of arms."""
    count = arms.arms
    worth = arms.value if value is None else checks.numbers("value", value)
    able = np.asarray(eligible)
    limits = Limits.of(budget, lower, upper, count)
    arguments = {"value": worth, "eligible": able, "lower": limits.lower, "upper": limits.upper}
    for name, values in arguments.items():
        if values.shape not in {(), (count,)}:
            raise ShapeError(f"{name} must be one number or one for each of {count} arms, got {values.shape}")
    if eligible is not True:
        limits = Limits.of(budget, limits.lower, upper_of_eligible(limits.upper, eligible, limits.lower), count)
    return np.broadcast_to(worth, (count,)), limits


def table_of(problem: KnownArms) -> ProblemTable:
    """The columns of a problem's file: a file has an arm's numbers together, a problem a kind's."""
    if problem.batch != ():
        raise UnsupportedError(f"a problem file holds one problem, this is a batch of shape {problem.batch}")
    laws: tuple[Any, ...]
    p, rate = tuple(problem.activation.T.tolist()), tuple(problem.rate.T.tolist())
    if problem.kinds is None:
        laws = tuple(problem.law.of_arm(arm) for arm in range(problem.arms))
    else:
        p, rate = (tuple(tuple(row) for row in column) for column in (p, rate))
        each = [law_of_kind(problem.law, q) for q in range(problem.kinds.size)]
        laws = tuple(tuple(law.of_arm(arm) for law in each) for arm in range(problem.arms))
    return ProblemTable(
        names=problem.names,
        activation=p,
        rate=rate,
        value=tuple(problem.value.tolist()),
        laws=laws,
        units=problem.units,
        provenance=problem.provenance,
        kinds=None if problem.kinds is None else tuple(problem.kinds.tolist()),
    )


def arguments_of(table: ProblemTable) -> dict[str, Any]:
    """The other way round: a problem's arguments."""
    laws, p, rate = table.laws, table.activation, table.rate
    if table.kinds is not None:
        laws, p, rate = (tuple(zip(*column, strict=True)) for column in (laws, p, rate))
    own = {"names": table.names, "value": table.value, "units": table.units, "provenance": table.provenance}
    return {"law": laws, "activation": p, "rate": rate, "kinds": table.kinds, **own}
