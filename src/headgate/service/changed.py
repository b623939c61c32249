"""Whether an arm has changed, and when: of evidence that fades, by its windows of time.

For each border b between two windows, twice the log likelihood ratio of two curves, one before and one after it,
against one for all of the time:

    R_b = 2 [max l(before b) + max l(after b) - max l(all)],

with the cure model's l(log rate, logit activation) of `headgate.estimators`, and learned shapes at their estimates for
all of the time. An arm has changed where the largest R_b is at least `THRESHOLD`, and then at that b. The amounts may
depend on what was seen before: the likelihood does not mind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special
from sqlalchemy import Connection

from headgate.estimators import Fit, maximum, most_likely
from headgate.evidence import Evidence
from headgate.laws import Floats, Law, PerArm
from headgate.service import clock
from headgate.service.beliefs import Belief
from headgate.service.engine import windows

THRESHOLD = 20.0
"""Of the largest ratio. Of 24,000 simulated arms that had not changed 17 had it at one look: none to 2 of 1,000 by
setting (4,000 each; 12 and 96 windows of .5, 3 and 30 trials in the mean). Of 750 looked at 24 times on the way to 96
windows, 2 had it at any of them."""
_FEW = 2
"""Windows, of which nothing can be said yet."""


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """The borders of windows, arm by arm."""

    ratio: Floats
    """R_b: (windows - 1, K)."""
    whole: Fit
    """One curve for all of the time: (K,)."""
    before: Fit
    """(windows - 1, K)."""
    after: Fit

    @property
    def best(self) -> Any:
        """The border of the largest ratio of each arm: (K,)."""
        return np.argmax(self.ratio, axis=0)


def scan(law: Law, evidence: Evidence) -> Scan:
    """Compare one curve with two, at every border of windows of evidence: (windows, K)."""
    total = Evidence(evidence.max_budget, evidence.bins.sum(axis=0), evidence.edges)
    peak = most_likely(law, total)
    first = np.cumsum(evidence.bins, axis=0)[:-1]
    sides = [
        maximum(peak.form, peak.whole, replace(total, bins=bins), prior, start=np.broadcast_to(peak.fit.theta, theta))
        for bins in (first, total.bins - first)
        for prior, theta in [(np.broadcast_to(peak.prior, (len(bins), *peak.prior.shape)), (*bins.shape[:2], 2))]
    ]
    ratio = 2.0 * (sides[0].value + sides[1].value - peak.fit.value)
    return Scan(np.maximum(np.nan_to_num(ratio), 0.0), peak.fit, *sides)


def changed(connection: Connection, allocator_id: int, belief: Belief, arms: list[int]) -> dict[str, Any] | None:
    """Return of arms, by their places among those in use, what each window brought and when they have changed.

    None: not enough windows have ended yet.
    """
    cells_by_end = {end: cells for end, (cells, gone) in windows.read(connection, allocator_id).items() if not gone}
    if len(cells_by_end) < _FEW or not arms:
        return None
    place = {int(belief.positions[arm]): i for i, arm in enumerate(arms)}
    evidence = Evidence.empty(len(arms), belief.spec.max_budget, (len(cells_by_end),))
    for window, cells in enumerate(cells_by_end.values()):
        for position, kind, cell, number, total in cells.tolist():
            if position in place:
                evidence.bins[window, place[position], kind, :, cell] = number, total
    law = PerArm(tuple(belief.law.of_arm(arm) for arm in arms))
    with np.errstate(all="ignore"):  # arms of which nothing is known
        result = scan(law, evidence)
        lines = [
            _line(result, law, evidence, list(cells_by_end), i) | {"name": belief.names[arm]}
            for i, arm in enumerate(arms)
        ]
    return {"at": [clock.as_text(end) for end in cells_by_end], "threshold": THRESHOLD, "arms": lines}


def _line(result: Scan, law: Law, evidence: Evidence, ends: list[int], arm: int) -> dict[str, Any]:
    """Return what is shown of an arm."""
    played, means = evidence.counts("played")[:, arm], evidence.means("played")[:, arm]
    trials, one = played.sum(axis=-1), law.of_arm(arm)
    amount = float((played * means).sum() / max(played.sum(), 1.0))

    def chance(theta: Floats, x: Any) -> Floats:
        return np.asarray(special.expit(theta[1]) * one.cdf(x, np.exp(theta[0])))

    expected = (played * chance(result.whole.theta[arm], means)).sum(axis=-1)
    best = int(result.best[arm])
    changed = None
    if result.ratio[best, arm] >= THRESHOLD:
        sides = [float(chance(fit.theta[best, arm], amount)) for fit in (result.before, result.after)]
        changed = {
            "at": clock.as_text(ends[best]),
            "window": best,
            "ratio": float(result.ratio[best, arm]),
            "amount": amount,
            "before": sides[0],
            "after": sides[1],
        }
    won = evidence.successes[:, arm]
    return {
        "trials": trials.astype(int).tolist(),
        "share": [float(w / t) if t else None for w, t in zip(won, trials, strict=True)],
        "expected": [float(e / t) if t else None for e, t in zip(expected, trials, strict=True)],
        "changed": changed,
    }
