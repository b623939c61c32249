"""Which times a law is fitted to, where failures show a time too: chosen by what foretells rows held out.

Fitted to the times of all rows, the law needs activation and speed to be independent; fitted to those of successes it
does not, and has fewer rows. So both are fitted, and compared by replay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from headgate.calibration.fitting.choose import ArmFit
from headgate.calibration.fitting.points import TIMES, Basis, Times, basis_of, quantiles
from headgate.calibration.log import Log
from headgate.calibration.replay import LEAST, ArmLog
from headgate.calibration.resample import Resampler, refit
from headgate.laws import Floats

_GRID = 49


class Chosen(NamedTuple):
    """The fits of all arms, by the times that were asked for, or that foretell better."""

    basis: Basis
    fits: list[ArmFit]
    errors: dict[Times, float]
    """By which times, how far p G, fitted on one half of the rows, is from the share of successes within x that the
    other half shows, on average over arms and amounts; empty where there is no choice."""


def choose_times(log: Log, times: Times, fitted: Callable[[Basis], list[ArmFit]], resampler: Resampler) -> Chosen:
    """Fit with either kind of times where there is a choice, and keep those asked for, or the better ones."""
    if log.kind != "observed":
        basis = basis_of(log.kind, "all")
        return Chosen(basis, fitted(basis), {})
    fits = {name: fitted(basis_of(log.kind, name)) for name in TIMES}
    halves = [resampler.rows(arm).halves() for arm in range(log.arms)]
    errors: dict[Times, float] = {}
    for name in TIMES:
        apart = [error for arm in range(log.arms) if (error := _error(fits[name][arm], halves[arm], log)) is not None]
        if apart:
            errors[name] = float(np.mean(apart))
    better = min(errors, key=lambda name: errors[name]) if errors else TIMES[0]
    used = better if times == "auto" else times
    return Chosen(basis_of(log.kind, used), fits[used], errors)


def _error(fit: ArmFit, halves: ArmLog, log: Log) -> float | None:
    """How far the curve fitted to each half is from what the other half shows, on average; None of too few rows."""
    usual = halves.weights[:2].sum(axis=0)  # the halves of a split are all rows
    if usual.sum() < LEAST:
        return None
    grid: Floats = quantiles(halves.threshold, usual, tuple(np.linspace(0.0, 0.98, _GRID)))
    curve = refit(fit, halves, whole=log.whole).success(grid)
    other = halves._replace(weights=halves.weights[np.arange(len(curve)) ^ 1]).replay(grid)
    far = np.abs(curve - other)
    return float(np.mean(far[np.isfinite(far)])) if np.isfinite(far).any() else None
