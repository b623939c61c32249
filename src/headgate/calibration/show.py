"""A log and a calibration as tables and in a few words: what `to_frame`, `repr` and notebooks show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from headgate.calibration.kaplan_meier import KaplanMeier
from headgate.calibration.tally import tally

if TYPE_CHECKING:
    from headgate.calibration.calibration import Calibration
    from headgate.calibration.log import Log

_SHOWN = 3  # the budgets that a calibration's repr shows
_ADVICE = {"change": "take the best", "keep": "keep what you do", "try": "try it"}


def log_columns(log: Log) -> dict[str, Any]:
    """Return a row for each arm: rows, successes, their share, and the mean threshold of those that show one."""
    rows = log.rows
    count, won = rows.count.astype(np.float64), rows.success
    has_threshold = won & np.isfinite(rows.threshold)
    every, wins = tally(rows.arm, count, log.arms), tally(rows.arm, count * won, log.arms)
    thresholds = tally(rows.arm, count * has_threshold, log.arms)
    total = tally(rows.arm, count * np.where(has_threshold, rows.threshold, 0.0), log.arms)
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "arm": list(log.names),
            "rows": every.astype(np.int64),
            "successes": wins.astype(np.int64),
            "share": wins / every,
            "mean_threshold": total / thresholds,
        }


def log_words(log: Log) -> str:
    """Return a log in a line."""
    read, units = log.reading, f" {log.units}" if log.units else ""
    dropped = f", {read.read - read.used:,} dropped" if read.read > read.used else ""
    count = log.rows.count.astype(np.float64)
    share = float(count[log.rows.success].sum() / max(float(count.sum()), 1.0))
    return (
        f"Log({log.arms} arms, {read.used:,} {read.counted} used{dropped}, {log.kind}, {share:.1%} successes, "
        f"up to {log.evidence.max_budget:.6g}{units})"
    )


def curve_of(log: Log, arm: int) -> KaplanMeier:
    """Return the share of an arm's rows that had succeeded by each amount, without a law (Kaplan and Meier)."""
    rows = log.rows.only(log.rows.arm == arm)
    largest = log.evidence.max_budget
    allocation = np.where(np.isfinite(rows.allocation), rows.allocation, largest)
    end = np.where(rows.success & np.isfinite(rows.threshold), rows.threshold, allocation)
    return KaplanMeier.of(end, rows.success, rows.count)


def calibration_columns(calibration: Calibration) -> dict[str, Any]:
    """Return a row for each arm: its law with activation, rate and shape, how well it fits, and the best allocations.

    `best_400` is what the arm gets of a budget of 400.
    """
    arms = calibration.arms
    table: dict[str, Any] = {"arm": [a.name for a in arms], "rows": [a.rows for a in arms]}
    table |= {"successes": [a.successes for a in arms], "law": [a.law.name for a in arms]}
    for name in ("activation", "rate", "shape"):
        value = [getattr(a, name) for a in arms]
        ends = [getattr(a, f"{name}_interval") or (math.nan, math.nan) for a in arms]
        table[name] = [math.nan if v is None else float(v) for v in value]
        table |= {f"{name}_low": [float(low) for low, _ in ends], f"{name}_high": [float(high) for _, high in ends]}
    table |= {"ks": [float(a.ks) for a in arms], "p_value": [float(a.goodness.p_value) for a in arms]}
    table |= {f"best_{gain.budget:g}": gain.best.x.tolist() for gain in calibration.gains}
    return table | {"warnings": [len(a.warnings) for a in arms]}


def calibration_words(calibration: Calibration) -> str:
    """Return a calibration in a few lines: the log, the laws, and the gain at each of the first budgets."""
    laws: dict[str, int] = {}
    for arm in calibration.arms:
        laws[arm.law.name] = laws.get(arm.law.name, 0) + 1
    units = f" {calibration.log.units}" if calibration.log.units else ""
    named = ", ".join(f"{name} {count}" for name, count in sorted(laws.items(), key=lambda pair: -pair[1]))
    read = f"{calibration.reading.used:,} {calibration.reading.counted}"
    lines = [f"Calibration({len(calibration.arms)} arms, {read}; laws: {named})"]
    for gain in calibration.gains[:_SHOWN]:
        replayed = f", {gain.replay_gain:+.1%} by replay" if gain.replayed and math.isfinite(gain.replay_gain) else ""
        model = (
            f"{gain.model_gain:+.1%} by the model"
            if math.isfinite(gain.model_gain)
            else "gain withheld"
            if gain.withheld
            else "gain not known"
        )
        worth = f"best {gain.best.model:.4g}, even {gain.even.model:.4g}"
        lines.append(f"  {gain.budget:g}{units}: {worth}: {model}{replayed}; {_ADVICE[gain.advice]}")
    warnings = sum(len(arm.warnings) for arm in calibration.arms)
    return "\n".join([*lines, f"  {warnings} warnings"] if warnings else lines)
