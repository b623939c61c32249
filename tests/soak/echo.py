"""The service with echo routes beside it: FastAPI that only parses and echoes the same bodies, in the same process."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI

from headgate.service.bodies import DecisionRequest, Outcome
from headgate.service.spec import DecisionId, Name
from headgate.service.web import app as service

router = APIRouter(prefix="/echo")


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
