"""What the oracle counts on for the cascade reward: -log(1 - w G) is convex on at most one stretch.

That holds for every law of closed form. A tabulated law may have any hazard, so it is looked at.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from headgate.errors import UnsupportedError
from headgate.laws import Floats, Law
from headgate.laws.learned import open_form
from headgate.laws.standard import Base

_WEIGHTS = (*np.linspace(0.05, 0.95, 10), 0.99, 0.999, 1.0)
_EVERY = 8  # every eighth knot of the table is looked at


@lru_cache(maxsize=64)
def check_one_convex_stretch(law: Law) -> None:
    """Raise UnsupportedError if an arm of this law may have more than one convex stretch in a cascade."""
    for member, _ in law.members():
        learned = open_form(member, 1)  # the table of a law with an open shape has a row for each of many shapes
        form = member.standard() if learned is None else learned.origin
        if form.base == Base.TABLE:
            F0, q, slope = (form.table[:, row, ::_EVERY] for row in (1, 2, 3))
            for weight in _WEIGHTS:
                failure = 1.0 - weight * F0
                bend = slope - 1.0 + weight * np.exp(q) / np.maximum(failure, 1e-300)  # d log f' / d log x
                measurable = (failure > 1e-6) & (q > -600.0) & (np.abs(bend) > 1e-3)
                for convex, here in zip(bend > 0.0, measurable, strict=True):
                    if np.sum(np.diff(convex[here].astype(int), prepend=0) > 0) > 1:
                        raise UnsupportedError(
                            f"the hazard of {member} rises more than once, for a cascade it may do so once"
                        )


def chance_bound(total: Floats, arms: int) -> Floats:
    """1 - exp(-total), rounded up: what a bound on the sum of -log(1 - p_i G_i) says of the chance of one success.

    Near 1 a chance has but the digits of 1, whatever the sum has, and a product of K failures loses some of them.
    """
    return np.minimum(-np.expm1(-total) * (1.0 + 2.3e-16 * (2.0 + arms)), 1.0)
