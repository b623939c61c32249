"""A log of Criteo's size, read and added up, against DuckDB merely reading and counting it."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np

from headgate.bench.criteo_log import write_criteo
from headgate.bench.ednet_log import write_users
from headgate.bench.harness import AtMost, Result, benchmark, once, process, sized
from headgate.calibration.reading import read_log
from headgate.extras import extra
from headgate.laws import DiscreteWeibull
from headgate.problem import Problem

ROWS = 16_500_000
CAMPAIGNS = 675
REPEATS = 3
_STUDENTS = """
import sys
from headgate.calibration import write_pseudo_students
write_pseudo_students(sys.argv[1], sys.argv[2], select=20, interactions=int(sys.argv[3]))
"""
_READ = """
import sys
from headgate.calibration.reading import read_log
read_log(sys.argv[1], "criteo")
"""


def many_campaigns() -> Problem:
    """As many campaigns as Criteo's log has, or so."""
    rng = np.random.default_rng(5)
    return Problem(
        DiscreteWeibull(shape=rng.uniform(0.6, 1.2, CAMPAIGNS)),
        activation=rng.uniform(0.05, 0.9, CAMPAIGNS),
        rate=1.0 / rng.uniform(1.0, 8.0, CAMPAIGNS),
    )


_FOLDERS: list[TemporaryDirectory[str]] = []  # removed when the process ends


def _log() -> Path:
    """The log of both benchmarks, written once."""
    if not _FOLDERS:
        folder = TemporaryDirectory(prefix="headgate-bench-")
        write_criteo(Path(folder.name) / "criteo.tsv.gz", ROWS, seed=1, problem=many_campaigns())
        _FOLDERS.append(folder)
    return Path(_FOLDERS[0].name) / "criteo.tsv.gz"


def count(path: Path) -> tuple[int, int]:
    """Let DuckDB read the file and count it by campaign and user: how many there are, of how many rows."""
    with extra("duckdb").connect() as connection:
        query = "SELECT campaign, uid, count(*) AS n FROM read_csv(?) GROUP BY campaign, uid"
        pairs, rows = connection.execute(f"SELECT count(*), sum(n) FROM ({query})", [str(path)]).fetchone()  # noqa: S608  # our own text
    return int(pairs), int(rows)


def _timed(function: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and seconds of the processor, which others who are busy do not add to."""
    before = process_time()
    return once(function, 1), process_time() - before


@benchmark("logs: 16.5 million impressions added up, against DuckDB counting them")
def criteo() -> Result:
    """Read, screen, find first clicks and add up evidence, against a plain GROUP BY of the same file."""
    path = _log()
    log = read_log(path, "criteo")
    same = count(path) == (int(log.rows.count.sum()), log.reading.used)
    times = [(_timed(lambda: read_log(path, "criteo")), _timed(lambda: count(path))) for _ in range(REPEATS)]
    (ours, ours_cpu), (reference, cpu) = (
        (statistics.median(wall), statistics.median(busy))
        for wall, busy in (zip(*t, strict=True) for t in zip(*times, strict=True))
    )
    note = (
        f"{ROWS:,} rows, {log.arms} campaigns; may take 1.5 times as long; processor time: {ours_cpu / cpu:.2f} times"
    )
    return Result(ours, reference, required=1.0 / 1.5, note=note, holds=same)


@benchmark("memory: 16.5 million impressions added up")
def memory() -> AtMost:
    """Peak memory of a process that reads the log; the reference is the size of the file."""
    path = _log()
    megabytes, size = process(_READ, str(path)).megabytes, path.stat().st_size / 2**20
    return AtMost(megabytes, size, 2048.0, note="MB at the most; the reference is the compressed file")


@benchmark("memory: EdNet's user files to the paper's table, part by part")
def ednet() -> AtMost:
    """Peak memory of a process that makes pseudo-students from generated users: in full 300,000 files."""
    users = sized(6000, 300_000)
    with TemporaryDirectory(prefix="headgate-bench-") as folder:
        place = write_users(Path(folder) / "kt3", users)
        usage = process(_STUDENTS, str(place), f"{folder}/table.csv", str(min(users // 4, 5000)))
    note = f"MB at the most; {users:,} files, {1e3 * usage.cpu / users:.2f} CPU s a thousand files"
    return AtMost(usage.megabytes, float("nan"), 2048.0, note=note)
