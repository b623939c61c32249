"""The instance that the paper's authors saved: ten arms with exponential thresholds."""

from __future__ import annotations

from headgate.laws import Exponential
from headgate.problem import Problem

_ACTIVATION = (
    0.18878059, 0.25196053, 0.57923598, 0.85046495, 0.38295813,
    0.05637266, 0.92240291, 0.65092762, 0.20302046, 0.52202613,
)  # fmt: skip
_RATE = (
    0.37857501, 1.2667127, 0.40344441, 0.21816188, 1.01066286,
    0.17413769, 0.12884267, 1.97271592, 0.46937008, 1.87027172,
)  # fmt: skip


def saved_instance() -> Problem:
    """Return the paper's saved instance, K = 10; its experiments use a budget of 40.

    >>> saved_instance().arms
    10
    """
    return Problem(
        Exponential(),
        activation=_ACTIVATION,
        rate=_RATE,
        provenance={
            "source": "Learning to Allocate Resources with Censored Feedback, saved instance",
            "budget": 40.0,
        },
    )
