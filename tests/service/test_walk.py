"""A request walks straight: guard, route, queue, batch, answer. A layer that only forwards would be noticed here.

A decision also stores the draw it was made by, for `why`; a report finds out whose decision it is of. The guard stands
before all layers of FastAPI and Starlette, and hands a request to its route itself.
"""

from __future__ import annotations

import asyncio

from tests.service.walk import Walk, walks


def _of_the_service(walk: Walk) -> tuple[int, int]:
    within = walk.within("service/")
    return len({name.partition(":")[0] for name in within}), len(within)


def test_a_decision_and_an_outcome_walk_straight(sqlite_url: str) -> None:
    deciding, reporting = asyncio.run(walks(sqlite_url))
    files, functions = _of_the_service(deciding)
    assert (files <= 10, functions <= 26) == (True, True), deciding
    files, functions = _of_the_service(reporting)
    assert (files <= 10, functions <= 31) == (True, True), reporting
