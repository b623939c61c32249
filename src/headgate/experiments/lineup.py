"""The policies of the figures, under the names and colours they have in all of them."""

from __future__ import annotations

from typing import Any

import headgate as hg

WRITTEN, SCALED, WIDER = "RA-UCB as written", "RA-UCB, radii x 1e-6", "RA-UCB, radii x 3e-6"
ETC, GREEDY, CUCB, MARA = "RA-ETC", "NO UCB", "CUCB", "MARA"
EVEN, THOMPSON = "even split", "Thompson"

SCALE = 1e-6  # of both radii: brings the shape of the paper's figures back

ENTRANTS: dict[str, Any] = {
    WRITTEN: hg.RAUCB,
    SCALED: (hg.RAUCB, {"scale": SCALE}),
    WIDER: (hg.RAUCB, {"scale": 3.0 * SCALE}),
    ETC: hg.ExploreThenCommit,
    GREEDY: hg.Greedy,
    CUCB: hg.CUCB,
    MARA: hg.MARA,
    EVEN: hg.Uniform,
    THOMPSON: hg.Thompson,
}


def entrants(*names: str) -> dict[str, Any]:
    """Return these policies, in this order."""
    return {name: ENTRANTS[name] for name in names}
