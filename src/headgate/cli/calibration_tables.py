"""What `headgate calibrate` prints for people: the arms, the gains and the warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headgate.calibration.report import words
from headgate.cli import terminal

if TYPE_CHECKING:
    from headgate.calibration.calibrate import Calibration

_TOLD_ARMS = 60  # lines of a table that are still read
_WIDTH = 132  # of tables that do not go to a terminal


def show(found: Calibration) -> None:
    """Print what was read, the arms, the gains and the warnings."""
    console = terminal.stdout()
    if not console.is_terminal:
        console.width = _WIDTH
    reading = found.reading
    read = f"{reading.source}: {reading.read:,} {reading.counted} read, {reading.used:,} used"
    console.print(Text(read), soft_wrap=True)
    for why, count in reading.dropped.items():
        if count:
            console.print(Text(f"  {count:,} dropped: {why}"), soft_wrap=True)
    console.print(Text(f"likelihood: {found.likelihood}"), soft_wrap=True)
    console.print()
    console.print(_arms(found))
    console.print()
    console.print(_gains(found))
    console.print()
    _say(console, found)


def _arms(found: Calibration) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    units = f" ({found.log.units})" if found.log.units else ""
    table.add_column("arm", overflow="fold")
    for heading in ("n", "successes"):
        table.add_column(heading, justify="right")
    table.add_column("law")
    for heading in ("shape", f"scale{units}", "p", "KS"):
        table.add_column(Text(heading), justify="right")
    table.add_column("warnings", justify="right")
    for fit in found.arms[:_TOLD_ARMS]:
        size = words.size(fit)
        scale = words.NOTHING if size is None else size[0] + _both(size[1], size[2])
        law = words.NOTHING if size is None else fit.law.name
        shape = "" if fit.shape is None or fit.shape_interval is None else _both(fit.shape, fit.shape_interval)
        table.add_row(
            Text(fit.name), f"{fit.rows:,}", f"{fit.share:.1%}", law, shape, scale,
            _both(fit.activation, fit.activation_interval), "" if fit.ks != fit.ks else f"{fit.ks:.3f}",
            str(len(fit.warnings)) if fit.warnings else "",
        )  # fmt: skip
    return table


def _both(value: float, ends: tuple[float, float]) -> str:
    return f"{words.number(value)} [dim]{words.interval(ends, dash=True)}[/dim]"


def _gains(found: Calibration) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column(Text(f"budget{f' ({found.log.units})' if found.log.units else ''}"), justify="right")
    table.add_column("allocation")
    for heading in ("by the model", "by replay", "gain, model", "gain, replay", "held out"):
        table.add_column(heading, justify="right")
    for gain in found.gains:
        lines = [("even", gain.even), *([("as logged", gain.logged)] if gain.logged else []), ("best", gain.best)]
        for name, worth in lines:
            last = name == "best"
            table.add_row(
                f"{gain.budget:g}" if name == "even" else "",
                name,
                f"{worth.model:.3f}",
                "?" if worth.replay != worth.replay else f"{worth.replay:.3f}",
                _gain(gain.model_gain, gain.model_gain_interval, known=True) if last else "",
                _gain(gain.replay_gain, gain.replay_gain_interval, known=gain.replayed) if last else "",
                _gain(gain.held_out, words.UNKNOWN, known=gain.even.replay == 0.0) if last else "",
                style="bold" if last else "",
            )
    return table


def _gain(value: float, ends: tuple[float, float], *, known: bool) -> str:
    """A gain with its interval; where both allocations are known to bring nothing, there is none."""
    both = words.shares(ends, dash=True)
    text = words.share(value, words.NOTHING) if known else words.share(value)
    return text + (f" [dim]{both}[/dim]" if both else "")


def _say(console: Console, found: Calibration) -> None:
    """Print what to know beyond the tables."""
    gap = max(gain.gap for gain in found.gains)
    console.print(f"certificate: the best allocation is within {max(gap, 1e-12):.1g} of the model's optimum")
    advice = words.times_advice(found)
    if advice:
        console.print(Text(advice), soft_wrap=True)
    if found.left_out:
        console.print(f"{len(found.left_out)} arms were not selected", soft_wrap=True)
    if len(found.arms) > _TOLD_ARMS:
        console.print(f"{len(found.arms) - _TOLD_ARMS} more arms are on the page and in --json")
    if found.log.budgets is not None:
        console.print("rows are taken as independent, rounds or not: intervals of worth may be too narrow")
    for fit in found.arms[:_TOLD_ARMS]:
        if fit.warnings:
            said = f": {'; '.join(fit.warnings)}"
            console.print(Text.assemble(("warning ", "yellow"), (fit.name, "bold"), said), soft_wrap=True)
