"""What `headgate calibrate` prints for people: the arms, the gains and the warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headgate.calibration.report import differing, words
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
    console.print(Text(f"likelihood: {result.likelihood}"), soft_wrap=True)
    console.print()
    console.print(_arms(result))
    console.print()
    console.print(_gains(result))
    console.print()
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


def _features(console: Console, found: FeatureFit) -> None:
    """What features tell: their slopes, how well they foretell, what they gain."""
    lines = [differing.coefficient_cells(entry) for entry in found.coefficients[:_SHOWN_ARMS]]
    for head, rows in (
        (differing.COEFFICIENTS, lines),
        (differing.FEATURE_GAINS, differing.feature_gain_cells(found)),
    ):
        table = terminal.table(*head)
        for row in rows:
            table.add_row(*map(_cell, row))
        console.print(table)
    if found.usual:
        console.print(Text(f"categories are beside the most frequent: {differing.usual_words(found)}"), soft_wrap=True)
    console.print(Text(differing.features_summary(found)), soft_wrap=True)
    console.print()


def _rounds(console: Console, found: RoundsFit) -> None:
    """At least one success a round: what to expect, and how dependent arms are."""
    table = terminal.table(*differing.ROUND_GAINS)
    for row in differing.round_gain_cells(found):
        table.add_row(*map(_cell, row))
    console.print(table)
    for place, gain in enumerate(found.gains):
        said = f"with {gain.choice.budget:g}: {differing.allocation_words(found, place)}"
        console.print(Text(said), soft_wrap=True)
        console.print(Text(f"  certificate: {differing.certificate(found, place)}"), soft_wrap=True)
    console.print(Text(differing.rounds_summary(found)), soft_wrap=True)
    console.print()


def _cell(cell: words.Cell) -> Text:
    """A text with its interval, dim, after it."""
    return Text.assemble(cell[0], (f" {cell[1]}" if cell[1] else "", "dim"))


def _say(console: Console, result: Calibration) -> None:
    """Print what to know beyond the tables."""
    console.print(f"certificate: the best allocation is within {words.gap(result)} of the model's optimum")
    advice = words.times_advice(result)
    if advice:
        console.print(Text(advice), soft_wrap=True)
    if result.left_out:
        console.print(f"{len(result.left_out)} arms were not selected", soft_wrap=True)
    if len(result.arms) > _SHOWN_ARMS:
        console.print(f"{len(result.arms) - _SHOWN_ARMS} more arms are on the page and in --json")
    if result.log.budgets is not None:
        console.print("rows are taken as independent, rounds or not: intervals of worth may be too narrow")
    for fit in result.arms[:_SHOWN_ARMS]:
        if fit.warnings:
            said = f": {'; '.join(fit.warnings)}"
            console.print(Text.assemble(("warning ", "yellow"), (fit.name, "bold"), said), soft_wrap=True)
