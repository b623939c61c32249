"""The routes of edges: what they decide with, and what they push."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response

from headgate.service import edges
from headgate.service.edge_bodies import EdgeId, Edges, LearnerBody, Push, PushAnswer, PushNumber
from headgate.service.engine import pushes
from headgate.service.service import Asks, Here
from headgate.service.spec import Name
from headgate.service.web.allocators import once, shown
from headgate.service.web.errors import CONFLICT, NOT_FOUND, RESPONSES
from headgate.service.web.lean import LeanRoute

_PREFIX, _TAGS = "/v1/allocators/{name}", ["edges"]
_MOST = 2**62
router = APIRouter(prefix=_PREFIX, tags=[*_TAGS], responses=RESPONSES | NOT_FOUND, dependencies=[Depends(once)])
lean = APIRouter(prefix=_PREFIX, tags=[*_TAGS], responses=RESPONSES | NOT_FOUND, route_class=LeanRoute)
Counter = Annotated[int | None, Query(ge=0, le=_MOST, description="What you have, to be told only what is new.")]


@router.get("/learner", response_model=LearnerBody, responses=CONFLICT)
async def get_learner(name: Name, service: Here, config: Counter = None, seq: Counter = None) -> Response:
    """Return what is needed to decide elsewhere as the service does: policy, arms and the sum of all evidence."""
    position = None if config is None or seq is None else (config, seq)
    return await shown(service, edges.learner, name, position)


@lean.put("/edges/{edge}/pushes/{number}", response_model=PushAnswer, responses=CONFLICT)
async def push(name: Name, edge: EdgeId, number: PushNumber, body: Push, service: Here, asker: Asks) -> str:
    """Take what an edge has seen since its last push, once for each number, and decisions of it that are over."""
    answer: PushAnswer = await service.change(pushes.push, name, edge, number, body, asker)
    return answer.model_dump_json()


@router.get("/edges", response_model=Edges)
async def get_edges(name: Name, service: Here) -> Response:
    """Return the edges of an allocator, and what they have pushed."""
    return await shown(service, edges.edges, name)
