"""The routes of what is done to the log itself: reports are taken back."""

from __future__ import annotations

from fastapi import APIRouter, Depends

from headgate.service.engine import retractions
from headgate.service.record_bodies import RetractionAnswer, RetractionRequest, Retractions
from headgate.service.service import Actor, Asks, Here
from headgate.service.spec import DecisionId, Name
from headgate.service.web.allocators import once
from headgate.service.web.errors import CONFLICT, NOT_FOUND, RESPONSES

router = APIRouter(
    prefix="/v1/allocators/{name}", tags=["records"], responses=RESPONSES | NOT_FOUND, dependencies=[Depends(once)]
)


@router.put("/retractions/{retraction_id}", responses=CONFLICT)
async def put_retraction(
    name: Name, retraction_id: DecisionId, body: RetractionRequest, service: Here, actor: Actor, asker: Asks
) -> RetractionAnswer:
    """Take back what a key reported, or what was reported in a time, once for each id: evidence follows exactly.

    Decisions whose reports are taken back wait for new ones. The same again changes nothing.
    """
    answer: RetractionAnswer = await service.change(retractions.retract, actor, name, retraction_id, body, asker)
    return answer


@router.get("/retractions")
async def list_retractions(name: Name, service: Here) -> Retractions:
    """Return what was taken back, the first retraction first."""
    return await service.look(retractions.retractions, name)
