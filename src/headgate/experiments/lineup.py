"""The policies of the figures, under the names and colours they have in all of them."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import headgate as hg
from headgate.errors import AssumptionWarning
from headgate.policies import Policy

WRITTEN, SCALED, WIDER = "RA-UCB as written", "RA-UCB, radii x 1e-6", "RA-UCB, radii x 3e-6"
ETC, GREEDY, CUCB, MARA = "RA-ETC", "NO UCB", "CUCB", "MARA"
EVEN, THOMPSON = "even split", "Thompson"
CORRECTED = "RA-UCB corrected, radii x 1e-6"
PER_ARM = "RA-ETC, per arm"

SCALE = 1e-6  # a factor of both radii: it brings the shape of the paper's figures back


def quietly(make: Any, *arguments: Any, **options: Any) -> Policy:
    """Make a policy of the paper outside of its assumptions, on purpose: the page says where."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        policy: Policy = make(*arguments, **options)
    return policy


_RAUCB = partial(quietly, hg.RAUCB)
ENTRANTS: dict[str, Any] = {
    WRITTEN: _RAUCB,
    SCALED: (_RAUCB, {"scale": SCALE}),
    WIDER: (_RAUCB, {"scale": 3.0 * SCALE}),
    CORRECTED: (_RAUCB, {"scale": SCALE, "estimator": "corrected"}),
    ETC: hg.ExploreThenCommit,
    PER_ARM: (hg.ExploreThenCommit, {"per_arm": True}),
    GREEDY: hg.Greedy,
    CUCB: hg.CUCB,
    MARA: hg.MARA,
    EVEN: hg.Uniform,
    THOMPSON: hg.Thompson,
}


def entrants(*names: str) -> dict[str, Any]:
    """Return these policies, in this order."""
    return {name: ENTRANTS[name] for name in names}
