"""The problem that a log makes, with where it came from: enough to do it again, and to judge it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import headgate
from headgate.calibration.fitting.choose import ArmFit
from headgate.calibration.fitting.points import Basis
from headgate.calibration.log import Log
from headgate.problem import Problem

LIKELIHOOD: Mapping[Basis, str] = {
    "censored": "cure model: failures are censored at what they were given",
    "all": "law fitted to the thresholds of all rows, failures too; activation: share of successes",
    "successes": "law fitted to the thresholds of successes; activation: share of successes",
}


def problem_of(
    log: Log,
    fits: Sequence[ArmFit],
    basis: Basis,
    *,
    trim: tuple[float, float] | None,
    level: float,
    left_out: Sequence[str] = (),
) -> Problem:
    """Return the problem of the arms fitted; its provenance says how the log was read and how well each law fits."""
    reading = log.reading
    provenance = {
        "headgate": headgate.__version__,
        "source": reading.source,
        "counted": reading.counted,
        "read": reading.read,
        "used": reading.used,
        "dropped": dict(reading.dropped),
        **({"reading": dict(reading.how)} if reading.how else {}),
        **({"time_limit": dict(reading.time_limit.limits)} if reading.time_limit is not None else {}),
        **({"rounded_to": log.rows.resolution} if log.rows.resolution else {}),
        "likelihood": LIKELIHOOD[basis],
        **({"trimmed_to_quantiles": list(trim)} if trim is not None else {}),
        "level": level,
        **({"left_out": list(left_out)} if left_out else {}),
        "fits": [_quality(fit) for fit in fits],
    }
    return Problem(
        [fit.law for fit in fits],
        [fit.activation for fit in fits],
        [fit.rate for fit in fits],
        log.names,
        units=log.units,
        provenance=provenance,
    )


def _quality(fit: ArmFit) -> dict[str, Any]:
    """How one arm's numbers came about; the rate and shape of an arm that showed nothing are not known."""
    ends: dict[str, tuple[float, float] | None] = {"activation_interval": fit.activation_interval}
    if fit.fit is not None:
        ends |= {"rate_interval": fit.rate_interval, "shape_interval": fit.shape_interval}
    numbers = {"ks": fit.ks, "p_value": fit.goodness.p_value, "aic": fit.aic.get(fit.law.name)}
    return {
        "name": fit.name,
        "rows": fit.rows,
        "successes": fit.successes,
        # Six digits are enough to judge by.
        **{key: [float(f"{end:.6g}") for end in both] for key, both in ends.items() if both is not None},
        **{key: float(value) for key, value in numbers.items() if value is not None and np.isfinite(value)},
        **({"warnings": list(fit.warnings)} if fit.warnings else {}),
    }
