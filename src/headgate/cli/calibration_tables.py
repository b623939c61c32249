"""What `headgate calibrate` prints for people: the arms, the gains and the warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headgate.calibration.report import advice, differing, words
from headgate.cli import terminal

if TYPE_CHECKING:
    from headgate.calibration.calibration import Calibration
    from headgate.calibration.differing.features import FeatureFit
    from headgate.calibration.differing.rounds import RoundsFit

_SHOWN_ARMS = 60  # lines of a table that are still read
_WIDTH = 132  # of tables that do not go to a terminal


def show(result: Calibration) -> None:
    """Print what was read, the arms, the gains and the warnings."""
    console = terminal.stdout()
    if not console.is_terminal:
        console.width = _WIDTH
    reading = result.reading
    read = f"{reading.source}: {reading.read:,} {reading.counted} read, {reading.used:,} used"
    console.print(Text(read), soft_wrap=True)
    for why, count in reading.dropped.items():
        if count:
            console.print(Text(f"  {count:,} dropped: {why}"), soft_wrap=True)
    if reading.time_limit is not None:
        console.print(Text(f"  {reading.time_limit.words(result.log.units)}"), soft_wrap=True)
    console.print(Text(f"likelihood: {result.likelihood}"), soft_wrap=True)
    console.print()
    console.print(_arms(result))
    console.print()
    console.print(_gains(result))
    console.print()
    _allocations(console, result)
    if result.features is not None:
        _features(console, result.features)
    if result.rounds is not None:
        _rounds(console, result.rounds)
    _say(console, result)


def _arms(result: Calibration) -> Table:
    units = f" ({result.log.units})" if result.log.units else ""
    table = terminal.table("arm", "n", "successes", "law", "shape", f"scale{units}", "p", "KS", "warnings")
    for fit in result.arms[:_SHOWN_ARMS]:
        *cells, _ = words.arm_cells(fit)  # the p-value is on the page
        table.add_row(*map(_cell, cells), f"{len(fit.warnings) or ''}")
    return table


def _gains(result: Calibration) -> Table:
    units = f" ({result.log.units})" if result.log.units else ""
    headings = ("by the model", "by replay", "gain, model", "gain, replay", "held out")
    table = terminal.table(f"budget{units}", "allocation", *headings)
    for gain in result.gains:
        for budget, name, model, replayed, *gains in words.gain_cells(gain, "cannot be replayed"):
            texts = (text for text, _ in (budget, name, model, replayed))  # intervals of worth are on the page
            table.add_row(*texts, *map(_cell, gains), style="bold" if gains else "")
    return table


def _allocations(console: Console, result: Calibration) -> None:
    """What each arm gets and earns, of every budget while that is short, else of the last; and what to do."""
    gains = result.gains if len(result.arms) * len(result.gains) <= _SHOWN_ARMS else result.gains[-1:]
    units = f" {result.log.units}" if result.log.units else ""
    for gain in gains:
        table = terminal.table(*advice.allocation_heads(gain))
        table.title, table.title_justify = f"what each arm gets of {gain.budget:g}{units}, and earns by it", "left"
        *lines, together = advice.allocation_cells(gain, result.problem.names)
        for line in lines[:_SHOWN_ARMS]:
            table.add_row(*line)
        table.add_row(*together, style="bold")
        console.print(table)
        console.print()
    for gain in result.gains:
        style = {"change": "green", "keep": "yellow", "try": "cyan"}[gain.advice]
        console.print(Text(advice.advice(gain, result.log.units), style=style), soft_wrap=True)
    console.print()


def _features(console: Console, fit: FeatureFit) -> None:
    """What features tell: their slopes, how well they foretell, what they gain."""
    lines = [differing.coefficient_cells(entry) for entry in fit.coefficients[:_SHOWN_ARMS]]
    for head, rows in (
        (differing.COEFFICIENTS, lines),
        (differing.FEATURE_GAINS, differing.feature_gain_cells(fit)),
    ):
        table = terminal.table(*head)
        for row in rows:
            table.add_row(*map(_cell, row))
        console.print(table)
    if fit.usual:
        console.print(Text(f"categories are beside the most frequent: {differing.usual_words(fit)}"), soft_wrap=True)
    console.print(Text(differing.features_summary(fit)), soft_wrap=True)
    console.print()


def _rounds(console: Console, fit: RoundsFit) -> None:
    """At least one success a round: what to expect, and how dependent arms are."""
    table = terminal.table(*differing.ROUND_GAINS)
    for row in differing.round_gain_cells(fit):
        table.add_row(*map(_cell, row))
    console.print(table)
    for place, gain in enumerate(fit.gains):
        line = f"with {gain.choice.budget:g}: {differing.allocation_words(fit, place)}"
        console.print(Text(line), soft_wrap=True)
        console.print(Text(f"  certificate: {differing.certificate(fit, place)}"), soft_wrap=True)
    console.print(Text(differing.rounds_summary(fit)), soft_wrap=True)
    console.print()


def _cell(cell: words.Cell) -> Text:
    """A text with its interval, dim, after it."""
    return Text.assemble(cell[0], (f" {cell[1]}" if cell[1] else "", "dim"))


def _say(console: Console, result: Calibration) -> None:
    """Print what to know beyond the tables."""
    console.print(f"certificate: the best allocation is within {words.gap(result)} of the model's optimum")
    times = words.times_advice(result)
    if times:
        console.print(Text(times), soft_wrap=True)
    if result.left_out:
        console.print(f"{len(result.left_out)} arms were not selected", soft_wrap=True)
    if len(result.arms) > _SHOWN_ARMS:
        console.print(f"{len(result.arms) - _SHOWN_ARMS} more arms are on the page and in --json")
    if result.bootstrap:
        drawn = "whole rounds are resampled" if result.by_round else "rows are taken as independent"
        hint = "" if result.by_round or "columns" not in result.reading.how else " (--round COLUMN: by round)"
        console.print(f"intervals of worth: {drawn}{hint}", soft_wrap=True)
    for who, text in advice.warning_lines(result):
        console.print(Text.assemble(("warning ", "yellow"), (who, "bold"), f": {text}"), soft_wrap=True)
