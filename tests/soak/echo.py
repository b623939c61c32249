"""The service with echo routes beside it: FastAPI that only parses and echoes the same bodies, in the same process.

The bodies are written as anybody would, with models: a yardstick that changed with what it measures would be none.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, FastAPI
from pydantic import Field

from headgate.service.bodies import DecisionRequest
from headgate.service.spec import MOST_ARMS, Amount, Body, DecisionId, Name
from headgate.service.web import app as service

router = APIRouter(prefix="/echo")


class ArmResult(Body):
    success: Annotated[bool, Field(strict=True)]
    threshold: Amount | None = None
    amount: Amount | None = None


class Outcome(Body):
    results: dict[Annotated[str, Field(max_length=100)], ArmResult] = Field(max_length=MOST_ARMS)
    spent: Amount | None = None


@router.post("/allocators/{name}/decisions")
async def decide(name: Name, body: DecisionRequest) -> DecisionRequest:
    return body


@router.post("/decisions/{decision_id}/outcome")
async def report(decision_id: DecisionId, body: Outcome) -> Outcome:
    return body


def create_app() -> FastAPI:
    """Return the service's app with the echo's routes, which are matched first."""
    app = service.create_app()
    app.router.routes[:0] = router.routes
    return app
