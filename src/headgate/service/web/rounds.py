"""The routes of every round: decide, and take reports of what came of it.

They are lean: a body goes from bytes to its model in one step. FastAPI parses JSON, then resolves dependencies, then
validates; half of a decision's time would go there.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from typing import Any, get_type_hints

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError

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
from headgate.service.engine.records import Decide, Receipt, Report
from headgate.service.spec import DecisionId, Name
from headgate.service.web.context import Here
from headgate.service.web.errors import CONFLICT, NOT_FOUND, RESPONSES, detail_of, status_of

_JSON = "application/json"


class LeanRoute(APIRoute):
    """A route whose endpoint takes path parameters by name, `body` and `service`, and returns the text of its answer.

    It is in the OpenAPI schema like all others.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        endpoint: Any = self.endpoint
        hints = get_type_hints(inspect.unwrap(endpoint), include_extras=True)
        body = TypeAdapter(hints["body"])
        path = {name: TypeAdapter(hints[name]) for name in self.param_convertors}

        async def handle(request: Request) -> Response:
            kind = request.headers.get("content-type", "")
            if not kind.lower().startswith(_JSON):  # a foreign page can send a form here, but not JSON
                raise RequestValidationError(
                    [{"loc": ("body",), "msg": f"content-type must be {_JSON}", "type": "json"}]
                )
            raw, place = await request.body(), "body"
            try:
                values = {"body": body.validate_json(raw)}
                for place, adapter in path.items():
                    values[place] = adapter.validate_python(request.path_params[place])
            except ValidationError as wrong:
                errors = wrong.errors(include_url=False, include_context=False, include_input=False)
                raise RequestValidationError(
                    [{**e, "loc": (place, *(e["loc"] or (place,)))} for e in errors]
                ) from wrong
            text = await endpoint(**values, service=request.app.state.service)
            return Response(text, media_type=_JSON)

        return handle


router = APIRouter(prefix="/v1", tags=["decisions"], responses=RESPONSES | NOT_FOUND)
lean = APIRouter(prefix="/v1", tags=["decisions"], responses=RESPONSES | NOT_FOUND, route_class=LeanRoute)


@lean.post("/allocators/{name}/decisions", response_model=Decision, responses=CONFLICT)
async def decide(name: Name, body: DecisionRequest, service: Here) -> str:
    """Split a budget. The decision is durable before the answer leaves; the same id gets the same answer."""
    text: str = await service.queue.ask(Decide(name, body))
    return text


@lean.post("/allocators/{name}/decisions/batch", response_model=Decisions)
async def decide_many(name: Name, body: ManyDecisions, service: Here) -> str:
    """Split many budgets at once; every one has its own status."""
    answers = await service.queue.ask_all([Decide(name, one) for one in body.decisions])
    texts = [f'{{"status":200,"decision":{one}}}' if isinstance(one, str) else _refusal(one) for one in answers]
    return f'{{"answers":[{",".join(texts)}]}}'


@router.get("/decisions/{decision_id}")
async def get_decision(decision_id: DecisionId, service: Here) -> HistoryItem:
    """Return a decision and what has been reported of it."""
    return await service.look(views.decision, decision_id)


@lean.post("/decisions/{decision_id}/outcome", response_model=OutcomeAnswer, responses=CONFLICT)
async def report(decision_id: DecisionId, body: Outcome, service: Here) -> str:
    """Hear what came of a decision: whole or in parts, early or late. The first word wins, a repeat changes nothing."""
    receipt = await service.queue.ask(Report(decision_id, body))
    return json.dumps({"decision_id": decision_id, **asdict(receipt)})


@lean.post("/outcomes", response_model=Outcomes)
async def report_many(body: ManyOutcomes, service: Here) -> str:
    """Hear of many decisions at once; every one has its own status."""
    answers = await service.queue.ask_all([Report(one.decision_id, one) for one in body.outcomes])
    texts = [
        json.dumps({"status": 200, "outcome": {"decision_id": one.decision_id, **asdict(answer)}})
        if isinstance(answer, Receipt)
        else _refusal(answer)
        for one, answer in zip(body.outcomes, answers, strict=True)
    ]
    return f'{{"answers":[{",".join(texts)}]}}'


def _refusal(error: Exception) -> str:
    return json.dumps({"status": status_of(error), "error": detail_of(error)})
