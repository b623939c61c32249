"""`kill -9` in the middle of live rounds: every step is handed out once, and what was reported is what is learned."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.soak.conftest import Postgres, short_or_long
from tests.soak.servers import Server, verified

pytestmark = pytest.mark.soak

KILLS = short_or_long(5, 100)
PLAYERS = 6
SPEC = {"arms": ["a", "b", "c", "d"], "law": {"name": "weibull", "shape": 1.6}, "max_budget": 30.0}
IN_ORDER = SPEC | {"policy": {"name": "thompson", "discount": 0.99}}


class Players:
    """Threads that play live rounds until told to stop, asking again whatever was not answered, of any server."""

    def __init__(self, servers: list[Server]) -> None:
        self.servers = servers
        self.rounds = self.steps = self.asked_again = 0
        self.wrong: list[str] = []
        self.stopping = threading.Event()
        self._lock = threading.Lock()

    def ask(self, path: str, body: Any, chance: random.Random, method: str = "POST") -> Any:
        """Return the answer, whenever it comes."""
        while True:
            url = chance.choice(self.servers).url + path
            data = None if body is None else json.dumps(body).encode()
            sent = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)  # noqa: S310  # loopback
            try:
                with urllib.request.urlopen(sent, timeout=10.0) as answer:  # noqa: S310  # loopback
                    return json.loads(answer.read())
            except urllib.error.HTTPError as error:
                with error:
                    if error.code != 503:
                        raise AssertionError(f"{path}: {error.code} {error.read()!r}") from error
            except (OSError, http.client.HTTPException):  # it was killed before or while it answered
                pass
            with self._lock:
                self.asked_again += 1
            self.stopping.wait(0.05)

    def play(self, player: int) -> None:
        """Play one round after the other."""
        chance = random.Random(player)  # noqa: S311  # not a secret
        number = 0
        try:
            while not self.stopping.is_set():
                name, key = chance.choice(["sums", "order"]), f"p{player}-{number}"
                shown = self.ask(f"/v1/allocators/{name}/live", {"budget": 30.0, "decision_id": key}, chance)
                while not shown["done"]:
                    step = shown["step"]
                    told = {"success": chance.random() < 0.4, "spent": step["amount"] * chance.random()}
                    path = f"/v1/live/{key}/steps/{step['number']}"
                    shown = self.ask(path, told, chance)
                    if chance.random() < 0.2 and self.ask(path, told, chance) != shown:
                        self.wrong.append(f"{path} was answered in two ways")
                    self.steps += 1
                number += 1
                self.rounds += 1
        except AssertionError as error:
            self.wrong.append(str(error))


def kill_and_verify(servers: list[Server], say: Callable[[str], None]) -> None:
    chance, players = random.Random(KILLS), Players(servers)  # noqa: S311  # not a secret
    for server in servers:
        server.start()
    try:
        for server in servers:
            server.wait()
        for name, spec in (("sums", SPEC), ("order", IN_ORDER)):
            players.ask(f"/v1/allocators/{name}", spec, chance, "PUT")
        threads = [threading.Thread(target=players.play, args=(i,)) for i in range(PLAYERS)]
        for thread in threads:
            thread.start()
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.3, 1.5))
            server = chance.choice(servers)
            server.kill()
            server.start().wait()
        players.stopping.set()
        for thread in threads:
            thread.join()
        assert players.wrong == []
        checked = verified(servers[0].database)
    finally:
        players.stopping.set()
        for server in servers:
            server.kill()
    assert players.rounds > 0
    say(f"{KILLS} kills, {players.rounds} rounds, {players.steps} steps, {players.asked_again} asked again ({checked})")


def test_live_rounds_sqlite(tmp_path: Path, figure: Callable[[str], None]) -> None:
    kill_and_verify([Server(f"sqlite:///{tmp_path / 'headgate.db'}")], figure)


def test_live_rounds_postgresql_with_2_workers(postgres: Postgres, figure: Callable[[str], None]) -> None:
    database = postgres.new()
    kill_and_verify([Server(database) for _ in range(2)], figure)
