"""What to do, in words: the allocation itself, whether to take it, and what to be careful about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from headgate.calibration.fitting.cautions import grouped
from headgate.calibration.report import words

if TYPE_CHECKING:
    from headgate.calibration.calibration import Calibration
    from headgate.calibration.gain import Gain, Worth

_NAMED = 4  # how many arms a warning of several names


def splits(gain: Gain) -> list[tuple[str, Worth]]:
    """The splits of a budget that are compared: the best, what was logged where the log says it, and the even one."""
    return [("best", gain.best), *([("logged", gain.logged)] if gain.logged is not None else []), ("even", gain.even)]


def allocation_heads(gain: Gain) -> list[str]:
    """The headings of `allocation_cells`."""
    names = [name for name, _ in splits(gain)]
    return ["arm", *names, *(f"{name}, {way}" for way in ("model", "replay") for name in names)]


def allocation_cells(gain: Gain, names: Sequence[str]) -> list[list[str]]:
    """A line for each arm of a budget, and their sum: what every split gives, and earns by the model and by replay."""
    worths = [worth for _, worth in splits(gain)]
    lines = [
        [
            name,
            *(amount(worth.x[arm]) for worth in worths),
            *(_earned(worth.model_by_arm[arm]) for worth in worths),
            *(_earned(worth.replay_by_arm[arm]) for worth in worths),
        ]
        for arm, name in enumerate(names)
    ]
    together = ["together", *(amount(float(worth.x.sum())) for worth in worths)]
    together += [*(_earned(worth.model) for worth in worths), *(_earned(worth.replay) for worth in worths)]
    return [*lines, together]


def amount(value: float) -> str:
    """An amount with four digits, and no more than it needs.

    >>> amount(12.0), amount(123.456), amount(0.0), amount(1e-12)
    ('12', '123.5', '0', '0')
    """
    return "0" if value < 1e-9 else f"{value:.4g}"


def _earned(value: float) -> str:
    return "?" if math.isnan(value) else f"{value:.3f}"


def advice(gain: Gain, units: str | None) -> str:
    """What to do with a budget, and why."""
    with_budget = f"With {gain.budget:g}{f' {units}' if units else ''}"
    ends = words.shares(gain.replay_gain_interval)
    if gain.advice == "change":
        by_replay = f"; {words.share(gain.replay_gain)} by replay of all rows{f', {ends}' if ends else ''}"
        over = "" if math.isnan(gain.held_out_logged) else f", {words.share(gain.held_out_logged)} over what was logged"
        gained = f"{words.share(gain.held_out)} over an even split{over}"
        return f"{with_budget}: take the best allocation: {gained}, on rows held out{by_replay}."
    if gain.advice == "try":
        model = words.joined((words.share(gain.model_gain), words.shares(gain.model_gain_interval)))
        more = ", ".join(gain.beyond[:3]) + (" and others" if len(gain.beyond) > 3 else "")
        why = f": {more} would get more than the log can tell of" if more else ""
        return (
            f"{with_budget}: the log cannot tell{why}. By the model {model} over an even split: try it on some rounds, "
            "or let a policy learn."
        )
    keep = f"{with_budget}: keep what you do"
    if math.isnan(gain.held_out):
        return f"{keep}: the log identifies too little for a gain to be claimed."
    if gain.held_out <= 0.0:
        over = words.share(gain.held_out)
        return f"{keep}: the best allocation does not beat an even split in held-out replay ({over})."
    if gain.held_out_logged <= 0.0:
        over = words.share(gain.held_out_logged)
        return f"{keep}: the best allocation does not beat what was logged in held-out replay ({over})."
    return f"{keep}: that the best allocation beats an even split may be chance ({ends} by replay)."


def summary(calibration: Calibration) -> str:
    """What to do with the first budgets."""
    return " ".join(advice(gain, calibration.log.units) for gain in calibration.gains[:3])


def warning_lines(calibration: Calibration) -> list[tuple[str, str]]:
    """Every warning once: whose it is, and what it says."""
    lines = []
    for arms, text in grouped(calibration.arms):
        if len(arms) == 1:
            lines.append((arms[0], text))
            continue
        named = ", ".join(arms[:_NAMED]) + (f" and {len(arms) - _NAMED} more" if len(arms) > _NAMED else "")
        every = len(arms) == len(calibration.arms)
        share = "all arms" if every else f"{len(arms)} of {len(calibration.arms)} arms"
        lines.append((share, text + ("" if every else f" ({named})")))
    return lines
