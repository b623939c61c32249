"""Criteo's raw attribution log: impressions up to the first click, user by user and campaign by campaign.

What a user saw of a campaign is one row: how often (the allocation), and which of these was the first to be clicked
(the threshold). Impressions of the very second of the first click are not before it, whatever their order in the file:
then the answer is the same on every engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import final

from headgate.calibration.engine import Engine, Table
from headgate.calibration.reading.screen import Clean, sample, tally
from headgate.calibration.reading.tables import open_table
from headgate.errors import InputError
from headgate.extras import extra
from headgate.laws import Floats

COLUMNS = ("timestamp", "uid", "campaign", "click")
ENOUGH = 400_000
"""A sample of budgets comes from the users of so many pairs of user and campaign."""
_PAIR = ("uid", "campaign")


@final
@dataclass(frozen=True, slots=True)
class Criteo:
    """The log with all its campaigns, or only with the `campaigns` that were clicked most."""

    campaigns: int | None = None

    def open(self, engine: Engine, source: str | Path, progress: Callable[[str], None]) -> Clean:
        """Read the log in one pass, and add up what each user saw of each campaign."""
        table = open_table(engine, source, columns=COLUMNS)
        progress("reading impressions")
        every = engine.keep(_parsed(table))
        judged = every.mutate(reason=_reason(every))
        read, dropped = tally(engine, source, judged)
        good = judged.filter(judged.reason.isnull()) if dropped else every
        progress("counting impressions up to the first click")
        if self.campaigns is not None:
            chosen = _most_clicked(good, self.campaigns, source)
            others = int(good.count(where=~good.campaign.isin(chosen)).execute())
            if others:
                dropped["impression of a campaign that was not chosen"] = others
            good = good.filter(good.campaign.isin(chosen))
        pairs = engine.keep(
            good.group_by(*_PAIR).agg(shown=good.count().cast("int32"), first=good.time.min(where=good.click))
        )
        won = engine.keep(_first_clicks(good, pairs))
        engine.drop(every)
        rows = extra("ibis").union(
            _rows(won, clicked=True), _rows(pairs.filter(pairs["first"].isnull()), clicked=False)
        )
        budgets = _budgets(pairs)
        return Clean(rows, "censored", read, dropped, True, "impressions", budgets, "impressions")


def _parsed(table: Table) -> Table:
    """Whole numbers, null where they are none."""
    yes, no = ("1", "0") if table.click.type().is_string() else (1, 0)
    click = table.click.cast("int8") if table.click.type().is_boolean() else table.click
    return table.select(
        time=table.timestamp.try_cast("int64"),
        uid=table.uid.try_cast("int64"),
        campaign=table.campaign.try_cast("int64"),
        click=extra("ibis").cases((click == yes, True), (click == no, False)),
    )


def _reason(rows: Table) -> Table:
    ibis = extra("ibis")
    return ibis.cases(
        (rows.time.isnull(), "timestamp missing or not a whole number"),
        (rows.time < 0, "timestamp negative"),
        (rows.uid.isnull(), "uid missing or not a whole number"),
        (rows.campaign.isnull(), "campaign missing or not a whole number"),
        (rows.click.isnull(), "click is neither 0 nor 1"),
        else_=ibis.null("string"),
    )


def _first_clicks(good: Table, pairs: Table) -> Table:
    """Of every pair with a click, how many impressions it took."""
    clicked = pairs.filter(pairs["first"].notnull())
    joined = good.inner_join(clicked, _PAIR)
    return joined.group_by(*_PAIR).agg(
        shown=joined.shown.max(), place=(joined.count(where=joined.time < joined["first"]) + 1).cast("int32")
    )


def _rows(pairs: Table, *, clicked: bool) -> Table:
    ibis = extra("ibis")
    return pairs.select(
        arm=pairs.campaign,
        allocation=pairs.shown.cast("float64"),
        success=ibis.literal(clicked),
        threshold=pairs.place.cast("float64") if clicked else ibis.null("float64"),
    )


def _budgets(pairs: Table) -> Floats:
    """How many impressions users saw: all of them, or of very many those whose number falls into a share of all."""
    size = int(pairs.count().execute())
    if size > ENOUGH:
        mixed = (pairs.uid.abs() % 2**31) * 2_654_435_761 % 2**32  # Knuth's multiplicative hash
        pairs = pairs.filter(mixed < int(2**32 * (ENOUGH / size)))
    return sample(pairs.group_by("uid").agg(total=pairs.shown.sum()))


def _most_clicked(good: Table, campaigns: int, source: object) -> list[int]:
    clicks = good.group_by("campaign").agg(n=good.count(where=good.click)).to_pandas()
    clicks = clicks[clicks.n > 0].sort_values(["n", "campaign"], ascending=[False, True])
    if len(clicks) < campaigns:
        raise InputError(f"{source} must have clicks on at least {campaigns} campaigns, got {len(clicks)}")
    return [int(name) for name in clicks.campaign[:campaigns]]
