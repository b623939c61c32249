"""Edges in several processes, with delays, pushes lost and repeated, edges and the service killed: the sum is exact."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
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
TURNS = short_or_long(8, 40)
EDGE_PROCESS = """
import sys, time
import numpy as np
import headgate as hg
from headgate.client.errors import UnavailableError
from tests.service.edge.conftest import Losing, play
address, number, edges, turns, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
chance, client = np.random.default_rng(number), Losing(address, number)
mine = []
for place in range(edges):
    name = f"{folder}/{number}-{place}"
    edge = hg.Edge(client, "quiz", file=f"{name}.json")
    edge.pull()
    mine.append((edge, name, np.zeros((3, 4, 2, 129))))
print("begun", flush=True)
def push(edge, name, seen):
    np.save(f"{name}.npy", seen)  # what it saw in all, before it says so: a kill leaves both files
    edge.push()
for turn in range(turns):
    for place in chance.permutation(edges):
        edge, name, seen = mine[place]
        seen += play(edge, int(chance.integers(1, 6)), chance).bins
        time.sleep(chance.exponential(0.002))
        try:
            if not edge.unsent_push:
                push(edge, name, seen)
                edge.pull()
            else:
                edge.push()
        except UnavailableError:
            pass
for edge, name, seen in mine:
    np.save(f"{name}.npy", seen)
    while edge.unsent:
        try:
            edge.push()
        except UnavailableError:
            pass
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_edges(kind: str, postgres: Postgres, tmp_path: Path, figure: Callable[[str], None]) -> None:
    database = f"sqlite:///{tmp_path / 'headgate.db'}" if kind == "sqlite" else postgres.new()
    with Server(database) as server, Client(server.url, retry=Retry(deadline=60.0)) as client:
        client.put_allocator("quiz", ARMS, LAW, 30.0)
        arguments = [server.url, *map(str, (0, EDGES // PROCESSES, TURNS)), str(tmp_path)]
        running = []
        for number in range(PROCESSES):
            arguments[1] = str(number)
            process = subprocess.Popen(
                [sys.executable, "-c", EDGE_PROCESS, *arguments], stdout=subprocess.PIPE, text=True
            )
            running.append(process)
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
        server.kill()  # edges go on without it
        server.start().wait()
        killed = running[0]
        while client.edges("quiz") == []:
            pass
        killed.kill()
        killed.wait()
        for process in running[1:]:
            assert process.wait() == 0
        total = np.zeros((3, 4, 2, 129))
        for place in range(EDGES // PROCESSES):  # of the process that was killed: what its pushes had begun to say
            file = tmp_path / f"0-{place}"
            again = hg.Edge(client, "quiz", file=f"{file}.json")
            again.pull()
            again.push()
        pushed = {one.edge: one.trials for one in client.edges("quiz")}
        for file in tmp_path.glob("*-*.npy"):
            total += np.load(file)
        exported = hg.Evidence.from_dict(client.export_evidence("quiz"), ARMS)
        assert np.array_equal(exported.bins, total)
        checked = verified(server.database)
        for process in running:
            if process.stdout is not None:
                process.stdout.close()
    figure(f"{kind}: {len(pushed)} edges in {PROCESSES} processes, {int(total[:, 1, 0].sum()):,} results ({checked})")
