"""The routes of every round, which are lean ones: decide, and take reports of what came of it.

A decision is known by its allocator and its id. Where only one allocator has such an id, of those that exist for who
asks, the id alone will do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from headgate.service import bodies, view_bodies, views
from headgate.service.engine.requests import Decide, LiveStep, Report
from headgate.service.service import Asks, Here
from headgate.service.spec import DecisionId, Name
from headgate.service.web.errors import CONFLICT, NOT_FOUND, RESPONSES, detail_of
from headgate.service.web.lean import LeanRoute
from headgate.service.why import why

StepNumber = Annotated[int, Field(ge=0, le=1_000_000)]


router = APIRouter(prefix="/v1", tags=["decisions"], responses=RESPONSES | NOT_FOUND)
lean = APIRouter(prefix="/v1", tags=["decisions"], responses=RESPONSES | NOT_FOUND, route_class=LeanRoute)


@lean.post("/allocators/{name}/decisions", response_model=bodies.Decision, responses=CONFLICT)
async def decide(name: Name, body: bodies.DecisionRequest, service: Here, asker: Asks) -> str:
    """Split a budget. The decision is durable before the answer leaves; the same id gets the same answer."""
    text: str = await service.queue.ask(Decide(name, body, asker=asker))
    return text


@lean.post("/allocators/{name}/decisions/batch", response_model=bodies.Decisions)
async def decide_many(name: Name, body: bodies.ManyDecisions, service: Here, asker: Asks) -> str:
    """Split many budgets at once; every one has its own status."""
    requests = [Decide(name, one, len(body.decisions), asker) for one in body.decisions]
    return _many("decision", await service.queue.ask_all(requests))


@lean.post("/allocators/{name}/live", response_model=bodies.Live, responses=CONFLICT)
async def open_live(name: Name, body: bodies.LiveRequest, service: Here, asker: Asks) -> str:
    """Begin a live round: its first step. What a success leaves over goes to the other arms."""
    text: str = await service.queue.ask(Decide(name, body, asker=asker))
    return text


@lean.post("/allocators/{name}/live/{live_id}/steps/{number}", response_model=bodies.Live, responses=CONFLICT)
async def report_step_of(
    name: Name, live_id: DecisionId, number: StepNumber, body: bodies.StepReport, service: Here, asker: Asks
) -> str:
    """Report a step of a live round and get the next; the same again gets the same answer."""
    text: str = await service.queue.ask(LiveStep(live_id, number, body, name, asker))
    return text


@lean.post("/live/{live_id}/steps/{number}", response_model=bodies.Live, responses=CONFLICT)
async def report_step(
    live_id: DecisionId, number: StepNumber, body: bodies.StepReport, service: Here, asker: Asks
) -> str:
    """Report a step of the only live round of that id; 409 where several allocators have one."""
    text: str = await service.queue.ask(LiveStep(live_id, number, body, asker=asker))
    return text


@router.get("/allocators/{name}/live/{live_id}")
async def get_live_of(name: Name, live_id: DecisionId, service: Here, asker: Asks) -> bodies.Live:
    """Return where a live round stands: the step that is to be reported next."""
    return await service.look(views.live, live_id, name, asker)


@router.get("/live/{live_id}", responses=CONFLICT)
async def get_live(live_id: DecisionId, service: Here, asker: Asks) -> bodies.Live:
    """Return where the only live round of that id stands; 409 where several allocators have one."""
    return await service.look(views.live, live_id, None, asker)


@router.get("/allocators/{name}/decisions/{decision_id}")
async def get_decision_of(name: Name, decision_id: DecisionId, service: Here, asker: Asks) -> view_bodies.HistoryItem:
    """Return a decision and what has been reported of it."""
    return await service.look(views.decision, decision_id, name, asker)


@router.get("/decisions/{decision_id}", responses=CONFLICT)
async def get_decision(decision_id: DecisionId, service: Here, asker: Asks) -> view_bodies.HistoryItem:
    """Return the only decision of that id; 409 where several allocators have one."""
    return await service.look(views.decision, decision_id, None, asker)


@router.get("/allocators/{name}/decisions/{decision_id}/why", responses=CONFLICT)
async def get_why_of(name: Name, decision_id: DecisionId, service: Here, asker: Asks) -> view_bodies.Why:
    """Return why a decision is as it is: per arm the estimate then, the draw, the marginal; and the price."""
    return await service.look(why, decision_id, name, asker)


@router.get("/decisions/{decision_id}/why", responses=CONFLICT)
async def get_why(decision_id: DecisionId, service: Here, asker: Asks) -> view_bodies.Why:
    """Return why the only decision of that id is as it is; 409 also where several allocators have one."""
    return await service.look(why, decision_id, None, asker)


@lean.post(
    "/allocators/{name}/decisions/{decision_id}/outcome", response_model=bodies.OutcomeAnswer, responses=CONFLICT
)
async def report_of(name: Name, decision_id: DecisionId, body: bodies.Outcome, service: Here, asker: Asks) -> str:
    """Hear what came of a decision: whole or in parts, early or late. The first word wins, a repeat changes nothing."""
    text: str = await service.queue.ask(Report(decision_id, body, allocator=name, asker=asker))
    return text


@lean.post("/decisions/{decision_id}/outcome", response_model=bodies.OutcomeAnswer, responses=CONFLICT)
async def report(decision_id: DecisionId, body: bodies.Outcome, service: Here, asker: Asks) -> str:
    """Hear what came of the only decision of that id; 409 also where several allocators have one."""
    text: str = await service.queue.ask(Report(decision_id, body, asker=asker))
    return text


@lean.post("/outcomes", response_model=bodies.Outcomes)
async def report_many(body: bodies.ManyOutcomes, service: Here, asker: Asks) -> str:
    """Hear of many decisions at once; every one has its own status."""
    reports = [Report(one.decision_id, one, allocator=one.allocator, asker=asker) for one in body.outcomes]
    return _many("outcome", await service.queue.ask_all(reports))


def _many(member: str, answers: Iterable[str | Exception]) -> str:
    """Return the answers in one body, each with its status."""
    texts = []
    for one in answers:
        status, name, text = 200, member, one
        if isinstance(one, Exception):
            status, detail = detail_of(one)
            name, text = "error", json.dumps(detail)
        texts.append(f'{{"status":{status},"{name}":{text}}}')
    return f'{{"answers":[{",".join(texts)}]}}'
