"""Fits of whole logs against lifelines."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

import numpy as np

from headgate.bench.harness import Result, benchmark, once
from headgate.calibration.fitting.fit import LawFit, fit_law
from headgate.calibration.fitting.points import of_rows
from headgate.calibration.log import Rows
from headgate.laws import Weibull

ROWS = 1_000_000


@benchmark("calibration: Weibull cure model of a million rows, against lifelines")
def weibull() -> Result:
    """From rows to shape, scale and activation with intervals, against MixtureCureFitter(WeibullFitter())."""
    import lifelines  # noqa: PLC0415  # slow to import, and only this needs it

    rng = np.random.default_rng(3)
    allocation, threshold = rng.uniform(2.0, 40.0, ROWS), Weibull(shape=1.6).sample(0.12, rng, ROWS)
    success = (rng.random(ROWS) < 0.6) & (threshold <= allocation)
    rows = Rows(np.zeros(ROWS, dtype=np.int64), allocation, success, threshold, np.ones(ROWS, dtype=np.int64))
    time = np.where(success, threshold, allocation)

    def ours() -> LawFit:
        fit = fit_law("weibull", of_rows(rows, 1, "censored"))
        fit.intervals(0.9)
        return fit

    def theirs() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return lifelines.MixtureCureFitter(base_fitter=lifelines.WeibullFitter()).fit(time, success)

    our = ours()
    begun = perf_counter()
    their = theirs()  # once: it takes its time
    reference = perf_counter() - begun
    mine = float(np.median([once(ours, 1) for _ in range(5)]))
    shape = our.family.shape(our.theta)
    off = max(
        abs(float(our.rate[0]) * their.lambda_ - 1.0),
        abs(float(np.asarray(shape)[0]) / their.rho_ - 1.0),
        abs(float(our.activation[0]) / (1.0 - their.cured_fraction_) - 1.0),
    )
    note = f"{ROWS:,} rows added up and fitted, shape included, with intervals; they differ by {off:.1e}"
    return Result(mine, reference, required=100.0, note=note, holds=bool(off < 1e-3))
