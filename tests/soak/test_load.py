"""Load: pairs of decision and outcome with durable answers, beside an echo of the same bodies on the same server."""

from __future__ import annotations

import os
import sqlite3
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from headgate.client import Client
from headgate.service.settings import Settings
from tests.soak.conftest import short_or_long
from tests.soak.load import BUDGET, LAW, arms, load, quiz
from tests.soak.servers import Server, verified

pytestmark = pytest.mark.soak

RUNS = 3
LEAST, MOST = short_or_long(0.25, 0.5), short_or_long(15.0, 5.0)
CLIENTS = 64
TURNS = short_or_long(3, 9)
SECONDS = short_or_long(2, 4)
LOGGED = short_or_long(200_000, 1_000_000)
COMMAND = [sys.executable, "-m", "uvicorn", "--factory", "tests.soak.echo:create_app", "--no-access-log",
           "--log-level", "warning"]  # fmt: skip


@contextmanager
def serving(file: Path) -> Iterator[Server]:
    """Run the service with the echo, with an allocator and some rounds behind it."""
    database = f"sqlite:///{file}"
    before = dict(os.environ)
    Settings(database=database, keys=False).to_environment()
    try:
        with Server(database, command=COMMAND) as server:
            with Client(server.url) as client:
                client.put_allocator(quiz(), arms(), LAW, BUDGET)
            load(server.port, "/v1", 2.0)
            load(server.port, "/echo", 1.0)
            yield server
    finally:
        os.environ.clear()
        os.environ.update(before)


@dataclass(frozen=True, slots=True)
class Tails:
    """The p99 of ours and of the echo, in seconds."""

    ours: float
    echo: float

    def __str__(self) -> str:
        return f"{1e3 * self.ours:.1f} ms, the echo's {1e3 * self.echo:.1f} ms: {self.ours / self.echo:.1f} times"


@dataclass(frozen=True, slots=True)
class Beside:
    """Ours beside the echo, medians of turns: pairs a second, and the p99 at half of the rate that each can serve."""

    ours: float
    echo: float
    ratio: float
    tails: Tails

    @property
    def met(self) -> bool:
        """Whether it is as fast as it must be."""
        return self.ratio >= LEAST and self.tails.ours <= MOST * self.tails.echo

    def __str__(self) -> str:
        return (
            f"{self.ours:,.0f} pairs/s, the echo {self.echo:,.0f}: {self.ratio:.2f} of it (wanted: 0.5); "
            f"p99 at half the rate {self.tails} (wanted: 5)"
        )


def beside(port: int) -> Beside:
    """Measure both in turn; at half the rate, pairs come whether it is ready for them or not."""
    turns = [
        (load(port, "/v1", SECONDS, CLIENTS).rate, load(port, "/echo", SECONDS, CLIENTS).rate) for _ in range(TURNS)
    ]
    ours, echo = (statistics.median(rates) for rates in zip(*turns, strict=True))
    tails = [
        Tails(*(load(port, p, SECONDS, CLIENTS, rate / 2.0).p99 for p, rate in (("/v1", ours), ("/echo", echo))))
        for _ in range(TURNS)
    ]
    return Beside(ours, echo, statistics.median(a / b for a, b in turns), _middle(tails))


def _middle(found: list[Tails]) -> Tails:
    return Tails(statistics.median(one.ours for one in found), statistics.median(one.echo for one in found))


def test_load_sqlite(tmp_path: Path, figure: Callable[[str], None]) -> None:
    """At least half as many pairs a second as the echo; p99 at half load at most 5 times the echo's.

    Other work on the machine disturbs the one that waits for the disk more than the one that does not. So of up to
    `RUNS` runs one must meet both, all are shown, and the short form only looks for what a machine cannot explain.
    """
    found: list[Beside] = []
    with serving(tmp_path / "headgate.db") as server:
        while not (found and found[-1].met) and len(found) < RUNS:
            found.append(beside(server.port))
            figure(f"run {len(found)}: {found[-1]}")
        verified(server.database)
    assert found[-1].met


def test_load_with_a_long_log(tmp_path: Path, figure: Callable[[str], None]) -> None:
    """Many decisions in the log slow it by at most a tenth.

    The log is copied, what has been seen is not: a hundred times the same would look like a law that does not fit, and
    a learner that doubts its law decides more slowly. So `verify` is not asked here; `test_load_sqlite` asks it.
    """
    short, long = tmp_path / "short.db", tmp_path / "long.db"
    for file in (short, long):
        with serving(file):
            pass
    logged = double(long, LOGGED)
    slower: list[float] = []
    with serving(short) as a, serving(long) as b:
        while not (slower and slower[-1] <= 0.1) and len(slower) < RUNS:
            rates = [(load(a.port, "/v1", SECONDS).rate, load(b.port, "/v1", SECONDS).rate) for _ in range(TURNS)]
            slower.append(1.0 - statistics.median(many / few for few, many in rates))
            figure(
                f"run {len(slower)}: {statistics.median(many for _, many in rates):,.0f} pairs/s with {logged:,} "
                f"decisions in the log, {statistics.median(few for few, _ in rates):,.0f} with few: "
                f"{slower[-1]:.1%} slower (at most 10%)"
            )
    assert slower[-1] <= 0.1


def double(file: Path, wanted: int) -> int:
    """Double the log until it holds so many decisions; evidence stays as it is."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA cache_size=-500000")
        columns = {
            table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            for table in ("decisions", "reports", "waiting")
        }
        (number,) = connection.execute("SELECT decisions FROM allocators").fetchone()
        while number < wanted:
            longer = f"id || 'x{number}'"
            new = {"round": f"round + {number}", "id": longer, "answer": f"replace(answer, id, {longer})"}
            for table, names in columns.items():
                values = ", ".join(new.get(name, name) for name in names)
                connection.execute(f"INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM {table}")  # noqa: S608  # names of ours
            counters = ("decisions", "complete", "reward", "budget_units", "given_units", "late")
            connection.execute(f"UPDATE allocators SET {', '.join(f'{name} = {name} * 2' for name in counters)}")  # noqa: S608  # names of columns, from here
            connection.commit()
            number *= 2
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return int(number)
