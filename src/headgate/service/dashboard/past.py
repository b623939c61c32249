"""The page of an allocator's past: estimates over time, a small chart an arm by the clock, and the latest decisions."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from sqlalchemy import Connection

from headgate.service import clock, views
from headgate.service.dashboard.known import page_of
from headgate.service.dashboard.overview import remembered
from headgate.service.memory import Memory
from headgate.service.service import Here
from headgate.service.spec import Name
from headgate.service.store.rows import row_of

router = APIRouter(include_in_schema=False)
MOST_ARMS = 24
"""Arms that have a chart: those that the latest snapshot knows first."""
_POINTS = 120
_DECISIONS = 50


def past(connection: Connection, name: str, memory: Memory) -> dict[str, Any]:
    """Return snapshots by the clock, arm by arm, and the latest decisions with what was heard of them.

    A snapshot of an arm is activation, its interval, rate, its interval, and the best allocation; null before it came.
    """
    row = row_of(connection, name)
    _, taken = remembered(connection, row, memory, _POINTS)
    names = list(taken[-1].arms)[:MOST_ARMS] if taken else []
    latest = views.history(connection, name, None, _DECISIONS)
    return {
        "name": name,
        "at": [clock.as_text(then.taken_at) for then in taken],
        "arms": {arm: [then.arms.get(arm) for then in taken] for arm in names},
        "others": len(taken[-1].arms) - len(names) if taken else 0,
        "decisions": [
            {
                "id": item.decision.decision_id,
                "round": item.round,
                "at": item.decision.model_dump(mode="json")["created_at"],
                "budget": item.decision.budget,
                "allocation": item.decision.allocation or {},
                "won": [arm for arm, result in item.results.items() if result["success"]],
                "heard": len(item.results),
                "complete": item.complete,
            }
            for item in latest.items
        ],
    }


@router.get("/allocators/{name}/past")
async def past_page(name: Name, request: Request, service: Here) -> Response:
    """Show an allocator's past."""
    return await page_of("past.html", name, request, service, f"{name}, past")


@router.get("/allocators/{name}/past/data")
async def past_data(name: Name, service: Here) -> Response:
    """Return what the page shows."""
    return JSONResponse(await service.look(past, name, service.memory))
