"""The routes of every round: decide, and hear what came of it."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from headgate.service import views
from headgate.service.bodies import (
    Decision,
    DecisionRequest,
    Decisions,
    HistoryItem,
    ManyDecisions,
    ManyOutcomes,
    Outcome,
    OutcomeAnswer,
    Outcomes,
)
from headgate.service.engine.requests import Decide, Report, Reported
from headgate.service.spec import DecisionId, Name
from headgate.service.web.errors import CONFLICT, NOT_FOUND, RESPONSES, detail_of, status_of
from headgate.service.web.lean import LeanRoute
from headgate.service.web.state import service_of

router = APIRouter(prefix="/v1", tags=["decisions"], responses=RESPONSES | NOT_FOUND)
lean = APIRouter(prefix="/v1", tags=["decisions"], responses=RESPONSES | NOT_FOUND, route_class=LeanRoute)


@lean.post("/allocators/{name}/decisions", response_model=Decision, responses=CONFLICT)
async def decide(name: Name, body: DecisionRequest, request: Request) -> Response:
    """Split a budget. The decision is durable before the answer leaves; the same id gets the same answer."""
    return _json(await service_of(request).writer.ask(Decide(name, body)))


@lean.post("/allocators/{name}/decisions/batch", response_model=Decisions)
async def decide_many(name: Name, body: ManyDecisions, request: Request) -> Response:
    """Split many budgets at once; every one has its own status."""
    found = await service_of(request).writer.ask_all([Decide(name, one) for one in body.decisions])
    texts = [f'{{"status":200,"decision":{one}}}' if isinstance(one, str) else _refusal(one) for one in found]
    return _json(f'{{"answers":[{",".join(texts)}]}}')


@router.get("/decisions/{decision_id}")
async def get_decision(decision_id: DecisionId, request: Request) -> HistoryItem:
    """Return a decision and what has been heard of it."""
    return await service_of(request).look(lambda connection: views.decision(connection, decision_id))


@lean.post("/decisions/{decision_id}/outcome", response_model=OutcomeAnswer, responses=CONFLICT)
async def report(decision_id: DecisionId, body: Outcome, request: Request) -> Response:
    """Hear what came of a decision: whole or in parts, early or late. The first word wins, a repeat changes nothing."""
    heard = await service_of(request).writer.ask(Report(decision_id, body))
    return _json(json.dumps(_outcome(decision_id, heard)))


@lean.post("/outcomes", response_model=Outcomes)
async def report_many(body: ManyOutcomes, request: Request) -> Response:
    """Hear of many decisions at once; every one has its own status."""
    reports = [Report(one.decision_id, one) for one in body.outcomes]
    found = await service_of(request).writer.ask_all(reports)
    texts = [
        json.dumps({"status": 200, "outcome": _outcome(one.decision_id, heard)})
        if isinstance(heard, Reported)
        else _refusal(heard)
        for one, heard in zip(reports, found, strict=True)
    ]
    return _json(f'{{"answers":[{",".join(texts)}]}}')


def _json(text: str) -> Response:
    return Response(text, media_type="application/json")


def _refusal(error: Exception) -> str:
    return json.dumps({"status": status_of(error), "error": detail_of(error)})


def _outcome(decision_id: str, heard: Reported) -> dict[str, Any]:
    return {
        "decision_id": decision_id,
        "accepted": heard.accepted,
        "repeated": heard.repeated,
        "complete": heard.complete,
        "late": heard.late,
    }
