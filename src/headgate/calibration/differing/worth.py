"""What allocating by features would bring beside allocating without: chosen on half of the rows, tried on the others.

Where the log tells which rows share a round, a round's arms are its rows and the budget is split between them. Where it
does not, the features of a row are those of a round that all arms are in. A row tells what would have come of any
amount up to what it was given; beyond, the chance is the regression's own, and `known` says how often that was not
needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate.calibration.differing.regression import Fit, of_arm
from headgate.calibration.records import Records
from headgate.laws import Floats, Law
from headgate.oracle.best import solve

_MOST = 2_000  # the most rows, or rounds, that allocations are tried on
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class FeatureGain:
    """One budget: successes a round with and without features, on rows that neither was chosen on."""

    budget: float
    without: float
    """The best allocation by arms alone."""
    with_features: float
    gain: float
    interval: Interval
    known: float
    """Share of results that the log itself tells."""


class _Model:
    """Activation and rate of arms at features, by the fit of either half."""

    def __init__(self, fits: Sequence[Fit]) -> None:
        arms = sum(len(one.laws) for one in fits)
        self._parts = [of_arm(fits, arm) for arm in range(arms)]
        self.laws: list[Law] = [one.laws[place] for one, place in self._parts]

    def at(self, arm: int, z: Floats) -> tuple[Floats, Floats]:
        """Activation and rate of one arm at features (n, d)."""
        one, place = self._parts[arm]
        log_rate, logit = one.predictors(place, z[:, : one.slope.shape[1]])
        return special.expit(logit), np.exp(np.clip(log_rate, -300.0, 300.0))


def feature_gains(
    records: Records, z: Floats, half: NDArray[np.int64], kept: Sequence[int], without: Sequence[Sequence[Fit]],
    with_features: Sequence[Sequence[Fit]], budgets: Sequence[float], *, whole: bool, level: float, bootstrap: int,
    rng: np.random.Generator,
) -> tuple[FeatureGain, ...]:  # fmt: skip
    """Try both ways at each budget; intervals are from resampled rows, or rounds."""
    place = np.full(int(records.arm.max()) + 1, -1)
    place[list(kept)] = np.arange(len(kept))
    group = records.groups
    groups = np.unique(group[place[records.arm] >= 0])
    few = np.sort(rng.permutation(groups)[:_MOST])
    rows = np.flatnonzero(np.isin(group, few) & (place[records.arm] >= 0))
    parts = [(rows[half[rows] == side], _Model(without[side]), _Model(with_features[side])) for side in (0, 1)]
    weight = rng.poisson(1.0, (bootstrap, few.size)).astype(np.float64)
    own = np.searchsorted(few, group[rows])
    gains = []
    for budget in budgets:
        won, known = np.zeros((2, len(records))), np.zeros((2, len(records)), dtype=np.bool_)
        for some, bare, full in parts:
            for way, model in enumerate((bare, full)):
                x = _allocations(records, z, some, place, model, float(budget), whole=whole)
                won[way, some], known[way, some] = _results(records, z, some, place, full, x)
        mine = won[:, rows]
        value = _worth(mine, own, np.ones((1, few.size)), place[records.arm[rows]], records.round is not None)[:, 0]
        draws = _worth(mine, own, weight, place[records.arm[rows]], records.round is not None)
        ends = (np.nan, np.nan)
        if bootstrap:
            tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
            low, high = np.quantile(draws[1] / np.maximum(draws[0], 1e-300) - 1.0, tails).tolist()
            ends = (low, high)
        gain = float(value[1] / value[0] - 1.0) if value[0] > 0.0 else float("nan")
        gains.append(
            FeatureGain(float(budget), float(value[0]), float(value[1]), gain, ends, float(known[:, rows].mean()))
        )
    return tuple(gains)


def _allocations(
    records: Records, z: Floats, rows: NDArray[np.int64], place: NDArray[np.int64], model: _Model, budget: float, *,
    whole: bool,
) -> Floats:  # fmt: skip
    """What each row's arm is given when the budget is split by the model."""
    x = np.zeros(rows.size)
    arm = place[records.arm[rows]]
    if records.round is None:
        curves = [model.at(k, z[rows]) for k in range(len(model.laws))]
        activation, rate = (np.stack([curve[i] for curve in curves], axis=-1) for i in (0, 1))
        best = solve(model.laws, activation, rate, budget)
        x = best.x[np.arange(rows.size), arm]
    else:
        number = np.unique(records.round[rows], return_inverse=True)[1]
        order = np.argsort(number, kind="stable")
        for here in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
            curves = [model.at(int(arm[i]), z[rows[i : i + 1]]) for i in here]
            activation, rate = (np.array([curve[i][0] for curve in curves]) for i in (0, 1))
            x[here] = solve([model.laws[int(arm[i])] for i in here], activation, rate, budget).x
    return np.floor(x + 1e-9) if whole else x


def _results(
    records: Records, z: Floats, rows: NDArray[np.int64], place: NDArray[np.int64], model: _Model, x: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """The chance that each row succeeds with x, and whether the log tells."""
    arm = place[records.arm[rows]]
    success, threshold, allocation = records.success[rows], records.threshold[rows], records.allocation[rows]
    shown = success & ~np.isnan(threshold)
    known = shown | np.where(success, x >= allocation, allocation >= x * (1.0 - 1e-12))
    won = np.where(shown, threshold <= x, success & (x >= allocation)).astype(np.float64)
    won[x <= 0.0] = 0.0
    known |= x <= 0.0
    for k in np.unique(arm[~known]).tolist():
        here = np.flatnonzero(~known & (arm == k))
        p, rate = model.at(int(k), z[rows[here]])
        law = model.laws[int(k)]
        more, had = p * law.cdf(x[here], rate), p * law.cdf(np.minimum(allocation[here], 1e300), rate)
        failed = np.clip((more - had) / np.maximum(1.0 - had, 1e-12), 0.0, 1.0)  # x is more than was given
        won[here] = np.where(success[here], np.clip(more / np.maximum(had, 1e-300), 0.0, 1.0), failed)
    return won, known


def _worth(won: Floats, own: NDArray[np.int64], weight: Floats, arm: NDArray[np.int64], rounds: bool) -> Floats:
    """Successes a round of both ways under weights of groups (B, G): (2, B)."""
    if rounds:
        totals = np.stack([np.bincount(own, way, weight.shape[1]) for way in won])
        return np.asarray(totals @ weight.T / np.maximum(weight.sum(axis=1), 1e-300))
    value = np.zeros((2, weight.shape[0]))
    for k in np.unique(arm).tolist():
        here = arm == k
        each = weight[:, own[here]]
        value += won[:, here] @ each.T / np.maximum(each.sum(axis=1), 1e-300)
    return value
