"""What is drawn of an arm: its response curve p G(x), the band of it, and what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headgate.evidence import Evidence
from headgate.laws import Floats
from headgate.service.beliefs import Belief
from headgate.service.dashboard.bands import band

_POINTS = 41
_GROUPS = 10
_ENOUGH = 8  # trials, below which a share says nothing


def reach(belief: Belief, arms: Sequence[int]) -> float:
    """Return how far the curves of these arms are drawn, the same for all so that they can be compared.

    Half as far again as the largest part of the best allocation, and as far as nearly all that was played.
    """
    most = belief.spec.max_budget
    far = 1.5 * max((float(belief.best.x[arm]) for arm in arms), default=0.0)
    for arm in arms:
        counts = belief.evidence.counts("played")[arm]
        if counts.sum() > 0.0:
            place = int(np.searchsorted(np.cumsum(counts), 0.97 * counts.sum()))
            far = max(far, float(belief.evidence.means("played")[arm, place]))
    if far <= 0.0:
        far = 3.0 * most / len(belief.names)
    return min(far, most)


def curve(belief: Belief, arm: int, edge: Floats, far: float) -> dict[str, Any]:
    """Return an arm's curve with its band, and the shares of success that were seen."""
    whole = bool(belief.law.of_arm(arm).integer)
    x = np.linspace(0.0, far, _POINTS)
    if whole:
        x = np.unique(np.round(x))
    low, high = band(belief, arm, edge, x)
    return {
        "x": _short(x),
        "y": _short(belief.chance(arm, x)),
        "low": _short(low),
        "high": _short(high),
        "whole": whole,
        "seen": seen(belief.evidence, arm, far),
    }


def seen(evidence: Evidence, arm: int, far: float) -> dict[str, Any]:
    """Return shares of success by what was given, in up to ten groups of neighbouring bins of as many trials.

    An arm's successes are known by their thresholds; how many there were at an allocation is what did not fail there.
    """
    played, failed = evidence.counts("played")[arm], evidence.counts("failed")[arm]
    total = played.sum()
    found: dict[str, list[float]] = {"x": [], "share": [], "trials": []}
    if total <= 0.0:
        return found
    amounts = played * evidence.means("played")[arm]
    group = np.minimum((np.cumsum(played) - played / 2.0) / total * _GROUPS, _GROUPS - 1).astype(int)
    for place in range(_GROUPS):
        inside = group == place
        trials = float(played[inside].sum())
        if trials < _ENOUGH or float(amounts[inside].sum()) / trials > far:
            continue
        found["x"].append(float(amounts[inside].sum()) / trials)
        found["share"].append(1.0 - float(failed[inside].sum()) / trials)
        found["trials"].append(trials)
    return {key: _short(np.array(values)) for key, values in found.items()}


def _short(values: Floats) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
