"""Load: pairs of decision and outcome with durable answers, beside an echo of the same bodies on the same server."""

from __future__ import annotations

import os
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from headgate.client import Client
from headgate.service.settings import Settings
from tests.service.damage import Cells, changed
from tests.soak.conftest import LONG, Postgres, short_or_long
from tests.soak.load import BUDGET, LAW, Measured, arms, load, quiz
from tests.soak.servers import Server, verified

pytestmark = pytest.mark.soak

RUNS = 3
TURNS = short_or_long(3, 9)
SECONDS = short_or_long(2, 4)
LOGGED = short_or_long(200_000, 1_000_000)
VERIFIED = short_or_long(50_000, 1_000_000)
VERIFY = """
import sys, time
from pathlib import Path
from headgate.cli import main
sys.argv[0] = "headgate"
try:
    main()
except SystemExit as end:
    assert end.code == 0
peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
print(time.process_time(), int(peak) * 1024 / 1e6, file=sys.stderr)
"""
"""Verifies, and says at last how many CPU seconds that took and how many MB: its own, not those of who started it."""
COMMAND = [sys.executable, "-m", "uvicorn", "--factory", "tests.soak.echo:create_app", "--no-access-log",
           "--log-level", "warning"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scene:
    """Whom the service is asked by, and for what."""

    share: float
    """Of the echo's pairs a second that ours are wanted to be."""
    clients: int = 64
    arms: int = 20
    allocators: int = 1

    def load(self, port: int, prefix: str, rate: float | None = None, seconds: float = SECONDS) -> Measured:
        """Send pairs for some time."""
        return load(port, prefix, seconds, self.clients, rate, self.arms, self.allocators)


SCENES = {
    "20 arms": Scene(0.75),
    "500 arms": Scene(0.6, arms=500),
    "100 allocators": Scene(0.5, allocators=100),
    "one client": Scene(0.3, clients=1),
}
"""The first is measured always, the others in the long form."""
TAIL = 4.0
"""How many times the echo's p99 ours may be, each at half of the rate that it can serve."""
UNEXPLAINED = short_or_long(3.0, 2.0)
"""How far a share or a tail may be off before it fails: what other work on the machine does not explain."""


@contextmanager
def serving(file: Path, scene: Scene) -> Iterator[Server]:
    """Run the service with the echo, with allocators and some rounds behind it."""
    database = f"sqlite:///{file}"
    before = dict(os.environ)
    Settings(database=database, keys=False).to_environment()
    try:
        with Server(database, command=COMMAND) as server:
            with Client(server.url) as client:
                for place in range(scene.allocators):
                    client.put_allocator(quiz(place), arms(scene.arms), LAW, BUDGET)
            scene.load(server.port, "/v1", seconds=2.0)
            scene.load(server.port, "/echo", seconds=1.0)
            yield server
    finally:
        os.environ.clear()
        os.environ.update(before)


@dataclass(frozen=True, slots=True)
class Beside:
    """Ours beside the echo, medians of turns: pairs a second, and the p99 in seconds at half of the rate of each."""

    scene: Scene
    ours: float
    echo: float
    share: float
    tail: float
    echo_tail: float

    @property
    def met(self) -> bool:
        """Whether it is as fast as any machine lets it be."""
        return self.share >= self.scene.share / UNEXPLAINED and self.tail <= UNEXPLAINED * TAIL * self.echo_tail

    def __str__(self) -> str:
        return (
            f"{self.ours:,.0f} pairs/s, the echo {self.echo:,.0f}: {self.share:.2f} of it "
            f"(wanted: {self.scene.share}); p99 at half the rate {1e3 * self.tail:.1f} ms, "
            f"the echo's {1e3 * self.echo_tail:.1f} ms: {self.tail / self.echo_tail:.1f} times (wanted: {TAIL:g})"
        )


def beside(port: int, scene: Scene) -> Beside:
    """Measure both in turn; at half the rate, pairs come whether it is ready for them or not."""
    turns = [(scene.load(port, "/v1").rate, scene.load(port, "/echo").rate) for _ in range(TURNS)]
    ours, echo = (statistics.median(rates) for rates in zip(*turns, strict=True))
    tails = [(scene.load(port, "/v1", ours / 2.0).p99, scene.load(port, "/echo", echo / 2.0).p99) for _ in range(TURNS)]
    tail, echo_tail = (statistics.median(found) for found in zip(*tails, strict=True))
    return Beside(scene, ours, echo, statistics.median(a / b for a, b in turns), tail, echo_tail)


def seconds_to_sync(folder: Path) -> float:
    """Return how long the disk takes to keep 4 KiB, the median of 100 times."""
    took = []
    with (folder / "sync").open("wb", buffering=0) as file:
        for _ in range(100):
            file.write(bytes(4096))
            began = time.perf_counter()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - began)
    return statistics.median(took)


@pytest.mark.parametrize("name", list(SCENES) if LONG else ["20 arms"])
def test_load_sqlite(name: str, tmp_path: Path, figure: Callable[[str], None]) -> None:
    """So many pairs a second, and such a p99 at half load, beside the echo.

    Other work on the machine disturbs the one that waits for the disk more than the one that does not. So of up to
    `RUNS` runs one must meet both by far, and all are shown. One client waits for the disk twice a pair, and at any
    load a request may have to wait until the batch before it is kept: no service that keeps what it answers is faster.
    """
    scene, found = SCENES[name], list[Beside]()
    with serving(tmp_path / "headgate.db", scene) as server:
        while not (found and found[-1].met) and len(found) < RUNS:
            found.append(beside(server.port, scene))
            figure(f"{name}, run {len(found)}: {found[-1]}")
        verified(server.database)
    sync = seconds_to_sync(tmp_path)
    without = 1.0 / found[-1].echo / (1.0 / found[-1].ours - 2.0 * sync)
    alone = f"; without two of these a pair, {without:.2f} of the echo" if scene.clients == 1 else ""
    figure(f"{name}: the disk takes {1e3 * sync:.1f} ms to keep anything{alone}")
    assert found[-1].met or scene.clients == 1


def test_load_with_a_long_log(tmp_path: Path, figure: Callable[[str], None]) -> None:
    """Many decisions in the log slow it by at most a tenth.

    The log is copied, what has been seen is not: a hundred times the same would look like a law that does not fit, and
    a learner that doubts its law decides more slowly. So `verify` is not asked here; `test_load_sqlite` asks it.
    """
    short, long, scene = tmp_path / "short.db", tmp_path / "long.db", SCENES["20 arms"]
    for file in (short, long):
        with serving(file, scene):
            pass
    logged = double(long, LOGGED)
    slower: list[float] = []
    with serving(short, scene) as a, serving(long, scene) as b:
        while not (slower and slower[-1] <= 0.1) and len(slower) < RUNS:
            rates = [(scene.load(a.port, "/v1").rate, scene.load(b.port, "/v1").rate) for _ in range(TURNS)]
            slower.append(1.0 - statistics.median(many / few for few, many in rates))
            figure(
                f"run {len(slower)}: {statistics.median(many for _, many in rates):,.0f} pairs/s with {logged:,} "
                f"decisions in the log, {statistics.median(few for few, _ in rates):,.0f} with few: "
                f"{slower[-1]:.1%} slower (at most 10%)"
            )
    assert slower[-1] <= 0.1


def test_verify_of_a_long_log(tmp_path: Path, figure: Callable[[str], None]) -> None:
    """A million decisions are verified in less than 60 CPU seconds and 300 MB; memory does not grow with the log.

    What is loaded before the first row is read differs by machine: 200 MB of it, and what fails is half as much again.
    """
    file = tmp_path / "long.db"
    with serving(file, SCENES["20 arms"]):
        pass
    logged = double(file, VERIFIED, evidence=True)
    command = [sys.executable, "-c", VERIFY, "verify", f"sqlite:///{file}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, megabytes = map(float, done.stderr.splitlines()[-1].split())
    figure(
        f"{logged:,} decisions verified in {seconds:.0f} CPU s, {1e6 * seconds / logged:.0f} s a million (wanted: 60), "
        f"with {megabytes:.0f} MB (wanted: 300)"
    )
    assert f"{logged:,} decisions of 1 allocator: all as the log says" in done.stdout
    assert megabytes < 1.5 * 300.0


def double(file: Path, wanted: int, *, evidence: bool = False) -> int:
    """Double the log until it holds so many decisions; `evidence` follows, or stays as it is."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA cache_size=-500000")
        columns = {
            table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            for table in ("decisions", "reports", "waiting")
        }
        number, reports = connection.execute("SELECT decisions, reports FROM allocators").fetchone()
        while number < wanted:
            longer = f"id || 'x{number}'"
            new = {"round": f"round + {number}", "id": longer, "answer": f"replace(answer, id, {longer})"}
            new |= {"place": f"place + {reports}", "after": f"after + {number}"}
            for table, names in columns.items():
                values = ", ".join(new.get(name, name) for name in names)
                connection.execute(f"INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM {table}")  # noqa: S608  # names of ours
            counters = ("decisions", "reports", "complete", "reward", "budget_units", "given_units", "late")
            connection.execute(f"UPDATE allocators SET {', '.join(f'{name} = {name} * 2' for name in counters)}")  # noqa: S608  # names of columns, from here
            if evidence:
                for seq, cells in connection.execute("SELECT seq, cells FROM evidence").fetchall():
                    connection.execute("UPDATE evidence SET cells = ? WHERE seq = ?", (changed(cells, _twice), seq))
            connection.commit()
            number, reports = 2 * number, 2 * reports
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return int(number)


def _twice(cells: Cells) -> Cells:
    for name in ("number", "total"):
        cells[name] *= 2
    return cells


WARM = 5.0
"""Seconds after which every worker has met every allocator."""


def test_workers_share_postgresql(postgres: Postgres, figure: Callable[[str], None]) -> None:
    """Three workers take at most 1.5 times the CPU of one for a pair: they hardly hinder each other."""
    scene = Scene(0.0, clients=32, allocators=30)
    found: dict[int, list[float]] = {1: [], 3: []}
    for workers in (1, 3) * short_or_long(1, 3):
        with Server(postgres.new(), workers) as server:
            while postgres.connections() < workers:
                time.sleep(0.1)
            with Client(server.url) as client:
                for place in range(scene.allocators):
                    client.put_allocator(quiz(place), arms(scene.arms), LAW, BUDGET)
            scene.load(server.port, "/v1", seconds=WARM)
            before = server.cpu_seconds()
            done = scene.load(server.port, "/v1", seconds=2.0 * SECONDS)
            found[workers].append((server.cpu_seconds() - before) / done.pairs)
            verified(server.database)
    one, three = (1e3 * statistics.median(found[workers]) for workers in (1, 3))
    figure(f"{one:.2f} CPU ms a pair with one worker, {three:.2f} with three: {three / one:.2f} times (wanted: 1.5)")
    assert three <= 1.5 * UNEXPLAINED * one
