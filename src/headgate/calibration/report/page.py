"""calibration.html: the arms, what would be gained, the figures and how everything was computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import headgate
from headgate.calibration.replay import LEAST, stops
from headgate.calibration.report import words
from headgate.figures.page import document, image, row

if TYPE_CHECKING:
    from headgate.calibration.calibration import Calibration
    from headgate.calibration.gain import Gain

_STOPPED = (
    "This log says what was spent, not what was given: a success always ends at its threshold. Replay therefore counts "
    "by Kaplan and Meier, which is right if giving up has nothing to do with whether more would have succeeded."
)
_INDEPENDENT = (
    "Rows are taken as independent of each other. Where arms share rounds, users or instances, intervals of worth are "
    "too narrow; those of gains, where what is shared cancels, much less so."
)
_ROUNDS = " This log says which rows belong to a round; that is used for the usual budget, not for the intervals."


def page(result: Calibration, overview: Path, gains: Path, arms: Mapping[int, Path]) -> str:
    """Return the whole page."""
    body = [
        _head(result),
        '<nav><a href="#gain">What you would gain</a><a href="#arms">Arms</a><a href="#curves">Response curves</a>'
        '<a href="#fits">Fits</a><a href="#reading">Rows</a><a href="#how">How it was computed</a></nav>',
        _gains(result, gains),
        _arms(result),
        f'<section id="curves"><h2>Response curves</h2><figure>{image(overview, "Response curves of all arms")}'
        "<figcaption>The probability p G(x) that an arm succeeds with an amount x: lines as fitted, dots counted in "
        "the log among the rows that were given at least x.</figcaption></figure></section>",
        _fits(result, arms),
        _reading(result),
        _how(result),
    ]
    return document(f"Calibration of {result.reading.source}", body)


def _head(result: Calibration) -> str:
    reading = result.reading
    units = f" {result.log.units}" if result.log.units else ""
    gains = "; ".join(f"with {gain.budget:g}{units} {_both_gains(gain)}" for gain in result.gains[:3])
    warned = sum(bool(arm.warnings) for arm in result.arms)
    chips = [
        f"{len(result.arms)} arms",
        f"{reading.used:,} {reading.counted} used",
        *([f"{reading.read - reading.used:,} dropped"] if reading.read > reading.used else []),
    ]
    marks = "".join(f'<span class="chip open">{escape(text)}</span> ' for text in chips)
    if warned:
        marks += f'<span class="chip only">{warned} arm{"s" * (warned != 1)} with warnings</span>'
    return (
        f"<header><p class='over'>Headgate calibration</p><h1>{escape(reading.source)}</h1><p>Which law each arm "
        f"follows, and what a better allocation would gain over an even split: {escape(gains)}.</p>"
        f"<p class='tally'>{marks}</p></header>"
    )


def _both_gains(gain: Gain) -> str:
    """The gain in one breath."""
    replayed = f"{words.share(gain.replay_gain, words.NOTHING)} by replay" if gain.replayed else "not known by replay"
    return f"{words.share(gain.model_gain, words.NOTHING)} by the model and {replayed}"


def _gains(result: Calibration, figure: Path) -> str:
    units = f" ({result.log.units})" if result.log.units else ""
    head = (f"budget{units}", "allocation", "by the model", "by replay", "gain, model", "gain, replay", "held out")
    rows = "".join(_row(line) for gain in result.gains for line in words.gain_cells(gain, "?"))
    beyond = [
        f"At {gain.budget:g} the best allocation gives {', '.join(gain.beyond[:5])}"
        f"{' and others' if len(gain.beyond) > 5 else ''} more than {LEAST} rows were given, so it cannot be replayed."
        for gain in result.gains
        if gain.beyond
    ]
    gap = max(gain.gap for gain in result.gains)
    return (
        '<section id="gain"><h2>What you would gain</h2><p class="quiet">Expected successes a round, with '
        f"{result.level:.0%} intervals.</p><figure>{image(figure, 'Worth by budget, and gains')}</figure>"
        f'<div class="wide"><table class="numbers">{row(head, "th")}{rows}</table></div>'
        + "".join(f"<p>{escape(text)}</p>" for text in beyond)
        + "<p>The best allocation is the model's, proved to be within "
        f"{max(gap, 1e-12):.1g} of the optimum. Replay counts in the log itself: a row that was given x tells what "
        "would have happened at any smaller amount. “Held out”: chosen on one half of the rows, replayed on the "
        "other, so that no row judges a choice it took part in. A question mark: fewer than "
        f"{LEAST} rows of some arm were given so much, so the log cannot tell.</p></section>"
    )


def _row(cells: Iterable[words.Cell]) -> str:
    """A line of a table, each interval in brackets after its text."""
    return row(f"{text} [{ends}]" if ends else text for text, ends in cells)


def _arms(result: Calibration) -> str:
    units = f" ({result.log.units})" if result.log.units else ""
    head = ("arm", "rows", "successes", "law", "shape", f"scale{units}", "activation p", "KS", "p-value")
    rows = "".join(_row(words.arm_cells(arm)) for arm in result.arms)
    left = f"<p>Not selected: {escape(', '.join(result.left_out))}.</p>" if result.left_out else ""
    return (
        f'<section id="arms"><h2>Arms</h2><p class="quiet">Intervals: {result.level:.0%}. Scale is 1 / rate.</p>'
        f'<div class="wide"><table class="numbers">{row(head, "th")}{rows}</table></div>{left}'
        f"{_warnings(result)}</section>"
    )


def _warnings(result: Calibration) -> str:
    """Every warning once, in its own words, with the arms it is about."""
    items = "".join(
        f"<li><strong>{escape(arm.name)}</strong>: {escape('; '.join(arm.warnings))}</li>"
        for arm in result.arms
        if arm.warnings
    )
    return f"<details open><summary>Warnings</summary><ul>{items}</ul></details>" if items else ""


def _fits(result: Calibration, arms: Mapping[int, Path]) -> str:
    figures = "".join(
        f"<figure>{image(path, f'Fit of {result.arms[i].name}')}"
        f"<figcaption>{escape(_caption(result, i))}</figcaption></figure>"
        for i, path in arms.items()
    )
    more = len(result.arms) - len(arms)
    note = f"<p>The {len(arms)} arms with the most rows; {more} more are in the table.</p>" if more else ""
    return f'<section id="fits"><h2>Fits, arm by arm</h2>{note}{figures}</section>'


def _caption(result: Calibration, number: int) -> str:
    arm = result.arms[number]
    others = [f"{name} {value - min(arm.aic.values()):+.1f}" for name, value in list(arm.aic.items())[:4]]
    said = f"AIC against the best: {', '.join(others)}. " if len(arm.aic) > 1 else ""
    return said + " ".join(text[0].upper() + text[1:] + "." for text in arm.warnings)


def _reading(result: Calibration) -> str:
    reading = result.reading
    rows = "".join(row((why, f"{count:,}")) for why, count in reading.dropped.items() if count)
    table = f'<table class="numbers">{row(("dropped because", reading.counted), "th")}{rows}</table>' if rows else ""
    return (
        f'<section id="reading"><h2>Rows</h2><p>{reading.read:,} {escape(reading.counted)} were read, '
        f"{reading.used:,} used."
        f"{'' if rows else ' None was dropped.'}</p>{table}</section>"
    )


def _how(result: Calibration) -> str:
    advice = words.times_advice(result)
    exact = result.log.rows.resolution
    resolution = f" Amounts were rounded to {exact:.1g} of their size." if exact else ""
    texts = [
        f"Likelihood: {result.likelihood}.{resolution}",
        *([advice] if advice else []),
        *([_STOPPED] if stops(result.log) else []),
        "Each law is fitted by maximum likelihood, its shape included, without a prior. The law with the smallest AIC "
        "is each arm's, unless one was asked for; a law whose shape ran to the end of its range is not chosen.",
        "KS is the largest distance between the fitted curve and Kaplan and Meier's: without censoring the "
        "Kolmogorov-Smirnov statistic of the law, with censoring the distance of p G. The p-value is of Hjort's "
        "chi-square test, which allows for censoring and for the law having been fitted to the same rows. With very "
        "many rows every law is rejected; then the distance says whether it matters.",
        f"Intervals of parameters are normal in their logarithms. Those of worth and gain are from {result.bootstrap} "
        "resamples of the rows, the chosen laws fitted again to each; they are of the worth of these very allocations. "
        "The best was chosen on the same rows, so intervals of its gain cover a little less than they say; “held out” "
        "is free of that.",
        _INDEPENDENT + (_ROUNDS if result.log.budgets is not None else ""),
        f"Headgate {headgate.__version__}.",
    ]
    return (
        '<section id="how"><h2>How it was computed</h2>' + "".join(f"<p>{escape(t)}</p>" for t in texts) + "</section>"
    )
