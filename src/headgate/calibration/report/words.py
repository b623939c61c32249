"""Numbers of a calibration in words, the same in the terminal and on the page."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, TypeAlias

from headgate.laws import Beta

if TYPE_CHECKING:
    from headgate.calibration.calibration import Calibration
    from headgate.calibration.fitting.choose import ArmFit
    from headgate.calibration.gain import Gain, Interval

Cell: TypeAlias = tuple[str, str]
"""A text, and the interval that belongs to it if there is one."""
NOTHING = "-"
UNKNOWN = (math.nan, math.nan)


def interval(ends: Interval, form: str = "#.3g") -> str:
    """Both ends, or nothing if they are not known.

    >>> interval((1.0, 2.5)), interval((float("nan"), 1.0))
    ('1.00..2.50', '')
    """
    if any(math.isnan(end) for end in ends):
        return ""
    return "..".join(number(end, form) for end in ends)


def number(value: float, form: str = "#.3g") -> str:
    """A number with its zeros, without a point at its end or a sign before nothing.

    >>> number(100.4), number(2.0), number(-0.0001, "+.1%"), number(1.2e6)
    ('100', '2.00', '0.0%', '1.20e+06')
    """
    text = f"{value:{form}}".removesuffix(".")
    return text if any(digit in text for digit in "123456789") or "0" not in text else text.lstrip("+-")


def share(value: float, unknown: str = "cannot be replayed") -> str:
    """A gain as a percentage with its sign, or what it means that there is none.

    >>> share(1.931), share(-0.02), share(float("nan")), share(float("nan"), NOTHING)
    ('+193%', '-2.0%', 'cannot be replayed', '-')
    """
    if math.isnan(value):
        return unknown
    return number(value, "+.0%" if abs(value) >= 0.1 else "+.1%")


def shares(ends: Interval) -> str:
    """Both ends of a gain, with a decimal where they are small.

    >>> shares((1.87, 2.01)), shares((-0.001, 0.012))
    ('+187%..+201%', '-0.1%..+1.2%')
    """
    return interval(ends, "+.1%" if max(map(abs, ends)) < 0.1 else "+.0%")


def arm_cells(arm: ArmFit) -> list[Cell]:
    """An arm's line of a table: name, rows, successes, law, shape, scale, activation, KS and p-value."""
    scale = size(arm)
    shape = ("", "")
    if arm.shape is not None:
        shape = (number(arm.shape), interval(arm.shape_interval or UNKNOWN))
    return [
        *((text, "") for text in (arm.name, f"{arm.rows:,}", f"{arm.share:.1%}")),
        (NOTHING if scale is None else arm.law.name, ""),
        shape,
        (NOTHING, "") if scale is None else (scale[0] + number(scale[1]), interval(scale[2])),
        (f"{arm.activation:.3f}", interval(arm.activation_interval, ".3f")),
        ("" if math.isnan(arm.ks) else f"{arm.ks:.3f}", ""),
        (p_value(arm.goodness.p_value), ""),
    ]


def gain_cells(gain: Gain, unknown: str) -> list[list[Cell]]:
    """A budget's lines of a table: budget, allocation, worth by model and replay, gains by both, and held out.

    `unknown` stands where the log cannot tell.
    """
    lines = []
    for name, worth in (("even", gain.even), ("as logged", gain.logged), ("best", gain.best)):
        if worth is not None:
            replayed = "?" if math.isnan(worth.replay) else f"{worth.replay:.3f}"
            lines.append([
                (f"{gain.budget:g}" if name == "even" else "", ""),
                (name, ""),
                (f"{worth.model:.3f}", interval(worth.model_interval, ".3f")),
                (replayed, interval(worth.replay_interval, ".3f")),
            ])  # fmt: skip
    lines[-1] += [
        (share(gain.model_gain, "withheld" if gain.withheld else NOTHING), shares(gain.model_gain_interval)),
        (share(gain.replay_gain, NOTHING if gain.replayed else unknown), shares(gain.replay_gain_interval)),
        (share(gain.held_out, NOTHING if gain.even.replay == 0.0 else unknown), ""),
    ]
    return lines


def joined(cell: Cell) -> str:
    """A text with its interval in brackets after it.

    >>> joined(("2.00", "1.00..2.50")), joined(("weibull", ""))
    ('2.00 [1.00..2.50]', 'weibull')
    """
    text, ends = cell
    return f"{text} [{ends}]" if ends else text


def name_of(source: str) -> str:
    """The name of a file without its folders; of a glob, with the last one.

    >>> name_of("/logs/2020/answers.csv"), name_of("logs/kt3/*.csv"), name_of("answers")
    ('answers.csv', 'kt3/*.csv', 'answers')
    """
    parts = [part for part in re.split(r"[/\\\\]", source) if part]
    if not parts:
        return source
    return "/".join(parts[-2:]) if any(sign in parts[-1] for sign in "*?[") else parts[-1]


def gap(calibration: Calibration) -> str:
    """How far the best allocations may be from the optimum."""
    return f"{max(1e-12, *(gain.gap for gain in calibration.gains)):.1g}"


def title(arm: ArmFit, units: str | None) -> str:
    """An arm with its law, scale and activation in one line."""
    quantity = size(arm)
    if quantity is None:
        return f"{arm.name}: no success, p {arm.activation:.3f}"
    kind, value, _ = quantity
    law = arm.law.name if arm.shape is None else f"{arm.law.name} {next(iter(arm.law.shapes()))} {number(arm.shape)}"
    scale = (kind or "scale ") + number(value) + (f" {units}" if units and not kind else "")
    return f"{arm.name}: {law}, {scale}, p {arm.activation:.3f}"


def size(arm: ArmFit) -> tuple[str, float, Interval] | None:
    """The scale 1 / rate with its interval, or "rate " and that of a beta law, where it is no scale; None if not known.

    An arm of which nothing was seen has neither.
    """
    if arm.fit is None:
        return None
    if isinstance(arm.law, Beta):
        return "rate ", arm.rate, arm.rate_interval
    low, high = arm.rate_interval
    return "", 1.0 / arm.rate, (1.0 / high if high < math.inf else 0.0, 1.0 / low if low > 0.0 else math.inf)


def p_value(value: float) -> str:
    """A p-value, not smaller than is worth saying.

    >>> p_value(0.034), p_value(1e-9), p_value(float("nan"))
    ('0.034', '< 0.001', '')
    """
    return "" if math.isnan(value) else "< 0.001" if value < 0.001 else f"{value:.2g}"


def times_advice(calibration: Calibration) -> str | None:
    """Say which times predict the log better, where there is a choice."""
    if len(calibration.replay_error) < 2:
        return None
    every, won = calibration.replay_error["all"], calibration.replay_error["successes"]
    better = "successes" if won < every else "all"
    used = "all" if calibration.basis == "all" else "successes"
    return (
        f"Fitted to the times of all rows, p G is {every:.4f} away from the shares of success that rows held out show, "
        f"on average; fitted to those of successes, {won:.4f}. This fit used those of {used}"
        + (f"; --times {better} predicts better." if used != better else ".")
    )
