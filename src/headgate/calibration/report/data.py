"""A calibration as plain data: what calibration.json and `--json` hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from headgate.calibration.gain import Gain, Interval, Worth

if TYPE_CHECKING:
    from headgate.calibration.calibrate import Calibration
    from headgate.calibration.fitting import ArmFit


def finite(number: float | None) -> float | None:
    """JSON has no NaN and no infinity."""
    return number if number is not None and math.isfinite(number) else None


def as_data(found: Calibration) -> dict[str, Any]:
    """Return everything but the rows."""
    reading = found.reading
    return {
        "reading": {
            "source": reading.source,
            "counted": reading.counted,
            "read": reading.read,
            "used": reading.used,
            "dropped": dict(reading.dropped),
        },
        "units": found.log.units,
        "kind": found.log.kind,
        "whole": found.log.whole,
        "likelihood": found.likelihood,
        "basis": found.basis,
        "trim": None if found.trim is None else list(found.trim),
        "level": found.level,
        "bootstrap": found.bootstrap,
        "arms": [_arm(arm) for arm in found.arms],
        "left_out": list(found.left_out),
        "replay_error": dict(found.replay_error),
        "gains": [_gain(gain, found.problem.names) for gain in found.gains],
    }


def _arm(arm: ArmFit) -> dict[str, Any]:
    return {
        "name": arm.name,
        "rows": arm.rows,
        "successes": arm.successes,
        "law": arm.law.to_dict(),
        "activation": arm.activation,
        "activation_interval": _ends(arm.activation_interval),
        "rate": arm.rate,
        "rate_interval": _ends(arm.rate_interval),
        "scale": 1.0 / arm.rate,
        "shape": arm.shape,
        "shape_interval": None if arm.shape_interval is None else _ends(arm.shape_interval),
        "log_likelihood": finite(arm.log_likelihood),
        "aic": {name: finite(value) for name, value in arm.aic.items()},
        "ks": finite(arm.ks),
        "goodness": {
            "distance": finite(arm.goodness.distance),
            "p_value": finite(arm.goodness.p_value),
            "chi_square": finite(arm.goodness.chi_square),
            "degrees_of_freedom": arm.goodness.freedom,
        },
        "kept": [finite(end) for end in arm.kept],
        "at_boundary": arm.at_boundary,
        "identified": arm.identified,
        "warnings": list(arm.warnings),
    }


def _gain(gain: Gain, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "budget": gain.budget,
        "even": _worth(gain.even, names),
        "logged": None if gain.logged is None else _worth(gain.logged, names),
        "best": _worth(gain.best, names),
        "bound": gain.bound,
        "gap": gain.gap,
        "model_gain": finite(gain.model_gain),
        "model_gain_interval": _ends(gain.model_gain_interval),
        "replay_gain": finite(gain.replay_gain),
        "replay_gain_interval": _ends(gain.replay_gain_interval),
        "held_out_gain": finite(gain.held_out),
        "cannot_be_replayed": list(gain.beyond),
    }


def _worth(worth: Worth, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "model": worth.model,
        "model_interval": _ends(worth.model_interval),
        "replay": finite(worth.replay),
        "replay_interval": _ends(worth.replay_interval),
        "allocation": dict(zip(names, worth.x.tolist(), strict=True)),
    }


def _ends(interval: Interval) -> list[float | None]:
    return [finite(end) for end in interval]
