"""The routes of what is done to the log itself: reports are taken back, rows of a subject go."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query

from headgate.service.engine import removals, retractions
from headgate.service.record_bodies import RemovalAnswer, RetractionAnswer, RetractionRequest, Retractions
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


@router.delete("/subjects/{subject}", responses=CONFLICT)
async def delete_subject(
    name: Name,
    subject: DecisionId,
    service: Here,
    actor: Actor,
    evidence: Annotated[
        Literal["keep", "subtract"], Query(description="Whether what was learned of it stays in the sums.")
    ] = "keep",
) -> RemovalAnswer:
    """Remove every decision of a subject, with what was reported of it, for good. Again, nothing is left to do."""
    answer: RemovalAnswer = await service.change(removals.forget, actor, name, subject, evidence)
    return answer
