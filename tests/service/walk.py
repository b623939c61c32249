"""How far a request walks: the files and the calls of headgate's own code for one decision and one outcome.

`python -m tests.service.walk` prints both walks. A call is a frame of a function of ours that is entered for the first
time, whoever called it; a coroutine that goes on after a pause is not counted again. `test_walk.py` holds the service
to what it is: look here before a layer is added.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from types import FrameType
from typing import Any, Self
from unittest.mock import patch

import httpx

import headgate
from headgate.service.settings import Settings
from headgate.service.web.app import create_app
from tests.service.harness import QUIZ, results

_ROOT = str(Path(headgate.__file__).parent)


class Walk:
    """What is called while it is open."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self._frames: dict[int, FrameType] = {}

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        self._frames.clear()

    def _note(self, frame: FrameType, event: str, _argument: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(_ROOT) and id(frame) not in self._frames:
            self._frames[id(frame)] = frame  # kept, so that no other frame gets its id
            self.calls[f"{file[len(_ROOT) + 1 :]}:{frame.f_code.co_qualname}"] += 1

    @property
    def files(self) -> set[str]:
        """The files that were passed."""
        return {name.partition(":")[0] for name in self.calls}

    @property
    def functions(self) -> set[str]:
        """The functions that were passed: what a reader has to look up."""
        return {name for name in self.calls if not name.endswith(("comp>", "genexpr>", "lambda>"))}

    def within(self, room: str) -> set[str]:
        """The functions of one room that were passed."""
        return {name for name in self.functions if name.startswith(room)}

    def __str__(self) -> str:
        lines = [f"  {count:3d} {name}" for name, count in self.calls.items()]
        within = self.within("service/")
        totals = f"{len(self.files)} files, {len(self.functions)} functions, {self.calls.total()} calls"
        files = {name.partition(":")[0] for name in within}
        totals += f"; of the service itself {len(files)} files, {len(within)} functions"
        return "\n".join([totals, *lines])


async def walks(database: str) -> tuple[Walk, Walk]:
    """Return the walks of one decision and of one outcome, in a service that has answered some before."""
    app = create_app(Settings(database=database, keys=False))
    transport = httpx.ASGITransport(app)
    async with AsyncExitStack() as stack:
        with patch("headgate.service.web.app._beside", return_value=()):  # upkeep would be counted too
            await stack.enter_async_context(app.router.lifespan_context(app))
        client = await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1"))
        await client.put("/v1/allocators/quiz", json=QUIZ)
        for i in range(5):
            with Walk() as deciding:
                answer = await client.post("/v1/allocators/quiz/decisions", json={"budget": 20.0})
            made = answer.raise_for_status().json()
            said = {"results": results(made["allocation"], {"q1", "q2"} if i % 2 else {"q3"})}
            with Walk() as reporting:
                answer = await client.post(f"/v1/decisions/{made['decision_id']}/outcome", json=said)
            answer.raise_for_status()
    return deciding, reporting


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for title, walk in zip(("decision", "outcome"), asyncio.run(walks(f"sqlite:///{folder}/walk.db")), strict=True):
            print(f"{title}: {walk}")
