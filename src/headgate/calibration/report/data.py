"""A calibration as plain data: what calibration.json and `--json` hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headgate.laws import Law

if TYPE_CHECKING:
    from headgate.calibration.calibration import Calibration
    from headgate.calibration.fitting.choose import ArmFit
    from headgate.calibration.gain import Gain, Worth

_ARM = (
    *("name", "rows", "successes", "law", "activation", "activation_interval", "rate", "rate_interval", "shape"),
    *("shape_interval", "log_likelihood", "aic", "ks", "kept", "at_boundary", "identified", "warnings"),
)
_GAIN = (
    *("budget", "advice", "withheld", "bound", "gap", "model_gain", "model_gain_interval"),
    *("replay_gain", "replay_gain_interval"),
)
_WORTH = ("model", "model_interval", "replay", "replay_interval")


def plain(value: Any) -> Any:
    """Return what JSON can hold: null for NaN and infinities, lists for tuples, a law as its name and shapes.

    >>> plain((1.0, float("inf")))
    [1.0, None]
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, tuple):
        return [plain(entry) for entry in value]
    return value.to_dict() if isinstance(value, Law) else value


def fields(record: object, names: tuple[str, ...]) -> dict[str, Any]:
    """Return attributes of a record as plain data, by name."""
    return {name: plain(getattr(record, name)) for name in names}


def as_data(result: Calibration) -> dict[str, Any]:
    """Return everything but the rows."""
    from headgate.calibration.report import differing  # noqa: PLC0415  # it writes plain data by this very file

    return {
        "reading": fields(result.reading, ("source", "counted", "read", "used", "dropped")),
        **fields(result.log, ("units", "kind", "whole")),
        "time_limit": None if result.reading.time_limit is None else dict(result.reading.time_limit.limits),
        **fields(result, ("likelihood", "basis", "trim", "level", "bootstrap", "by_round", "left_out", "replay_error")),
        "arms": [_arm(arm) for arm in result.arms],
        "gains": [_gain(gain, result.problem.names) for gain in result.gains],
        **({} if result.features is None else {"features": differing.features_data(result.features)}),
        **({} if result.rounds is None else {"rounds": differing.rounds_data(result.rounds)}),
    }


def _arm(arm: ArmFit) -> dict[str, Any]:
    goodness = fields(arm.goodness, ("distance", "p_value", "chi_square"))
    freedom = {"degrees_of_freedom": arm.goodness.freedom}
    return {**fields(arm, _ARM), "scale": 1.0 / arm.rate, "goodness": goodness | freedom}


def _gain(gain: Gain, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        **fields(gain, _GAIN),
        "even": _worth(gain.even, names),
        "logged": None if gain.logged is None else _worth(gain.logged, names),
        "best": _worth(gain.best, names),
        "held_out_gain": plain(gain.held_out),
        "held_out_gain_over_logged": plain(gain.held_out_logged),
        "cannot_be_replayed": list(gain.beyond),
    }


def _worth(worth: Worth, names: tuple[str, ...]) -> dict[str, Any]:
    by_arm = {"allocation": worth.x, "model_by_arm": worth.model_by_arm, "replay_by_arm": worth.replay_by_arm}
    named = {key: plain(dict(zip(names, values.tolist(), strict=True))) for key, values in by_arm.items()}
    return fields(worth, _WORTH) | named
