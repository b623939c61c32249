"""Edges in several processes, with delays, pushes lost and repeated, edges and the service killed: the sum is exact."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import headgate as hg
from headgate.client import Client, Retry
from tests.service.edge.conftest import ARMS, LAW
from tests.soak.conftest import Postgres, short_or_long
from tests.soak.servers import Server, verified

pytestmark = pytest.mark.soak

EDGES = short_or_long(24, 200)
PROCESSES = short_or_long(2, 4)
EACH = EDGES // PROCESSES
TURNS = short_or_long(8, 40)
EDGE_PROCESS = """
import os, sys, time
import numpy as np
import headgate as hg
from headgate.client.errors import UnavailableError
from tests.service.edge.conftest import Losing, play
address, number, edges, turns, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
chance, client = np.random.default_rng(number), Losing(address, number)
mine = []
for place in range(edges):
    label = f"{number}x{place}"
    edge = hg.Edge(client, "quiz", file=f"{folder}/{label}.json", label=label)
    edge.pull()
    mine.append((edge, f"{folder}/{label}", np.zeros((3, 4, 2, 129))))
print("begun", flush=True)
def push(edge, name, seen, turn):
    np.save(f"{name}.part.npy", seen)  # what it saw in all, whole or not at all: a kill may come at any moment
    os.replace(f"{name}.part.npy", f"{name}.{turn:03}.seen.npy")
    edge.push()
    os.replace(f"{name}.{turn:03}.seen.npy", f"{name}.{turn:03}.acknowledged.npy")
for turn in range(turns):
    for place in chance.permutation(edges):
        edge, name, seen = mine[place]
        seen += play(edge, int(chance.integers(1, 6)), chance).bins
        time.sleep(chance.exponential(0.002))
        try:
            push(edge, name, seen, turn)
            edge.pull()
        except UnavailableError:
            pass
for edge, name, seen in mine:
    while edge.unsent:
        try:
            push(edge, name, seen, turns)
        except UnavailableError:
            pass
"""


def seen_by(folder: Path, label: str, trials: int) -> np.ndarray:
    """What an edge had seen when it made the last push that the service has: not before the last acknowledged one."""
    files = sorted(folder.glob(f"{label}.*.npy"))
    acknowledged = max((place for place, file in enumerate(files) if "acknowledged" in file.name), default=0)
    found = [seen for file in files[acknowledged:] if (seen := np.load(file))[:, 1, 0].sum() == trials]
    assert found, f"edge {label}: the service has {trials} results, which is nothing that it pushed"
    return np.asarray(found[0])


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_edges(kind: str, postgres: Postgres, tmp_path: Path, figure: Callable[[str], None]) -> None:
    database = f"sqlite:///{tmp_path / 'headgate.db'}" if kind == "sqlite" else postgres.new()
    with Server(database) as server, Client(server.url, retry=Retry(deadline=60.0)) as client, ExitStack() as stack:
        client.put_allocator("quiz", ARMS, LAW, 30.0)
        running = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", EDGE_PROCESS, server.url, *map(str, (number, EACH, TURNS, tmp_path))],
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for number in range(PROCESSES)
        ]
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
        server.kill()  # edges go on without it
        server.start().wait()
        while client.edges("quiz") == []:
            pass
        running[0].kill()
        assert [process.wait() for process in running] == [-signal.SIGKILL, *[0] * (PROCESSES - 1)]
        for place in range(EACH):  # what the process that was killed could not push
            again = hg.Edge(client, "quiz", file=tmp_path / f"0x{place}.json")
            again.pull()
            again.push()
        pushed = {one.edge.partition("-")[0]: one.trials for one in client.edges("quiz")}
        assert pushed.keys() >= {f"{number}x{place}" for number in range(1, PROCESSES) for place in range(EACH)}
        total = sum((seen_by(tmp_path, label, trials) for label, trials in pushed.items()), np.zeros((3, 4, 2, 129)))
        exported = hg.Evidence.from_dict(client.export_evidence("quiz"), ARMS)
        assert np.array_equal(exported.bins, total)
        checked = verified(server.database)
    figure(f"{kind}: {len(pushed)} edges in {PROCESSES} processes, {int(total[:, 1, 0].sum()):,} results ({checked})")
