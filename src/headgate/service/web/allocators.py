"""The routes of allocators: create, look, change, estimates, history, evidence."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from headgate.service import views
from headgate.service.bodies import Allocator, Allocators, Estimates, EvidenceBody, History, ImportAnswer
from headgate.service.engine import changes
from headgate.service.spec import AllocatorSpec, ArmName, ArmSpec, DecisionId, Name
from headgate.service.web.context import Actor, Here, once
from headgate.service.web.errors import CONFLICT, NOT_FOUND, RESPONSES

router = APIRouter(prefix="/v1/allocators", tags=["allocators"], responses=RESPONSES, dependencies=[Depends(once)])
_MOST_ROUND = 2**62


@router.get("")
async def list_allocators(service: Here) -> Allocators:
    """Return all allocators by name, archived ones too."""
    return Allocators(allocators=await service.look(views.allocators))


@router.put("/{name}", responses=CONFLICT | {201: {"model": Allocator, "description": "Created"}})
async def put_allocator(name: Name, body: AllocatorSpec, service: Here, actor: Actor, response: Response) -> Allocator:
    """Create an allocator. The same body again is 200 and changes nothing, another one is refused."""
    made = await service.change(changes.create, actor, name, body)
    response.status_code = 201 if made else 200
    return await service.look(views.allocator, name)


@router.get("/{name}", responses=NOT_FOUND)
async def get_allocator(name: Name, service: Here) -> Allocator:
    """Return an allocator as it stands."""
    return await service.look(views.allocator, name)


@router.post("/{name}/archive", responses=NOT_FOUND)
async def archive_allocator(name: Name, service: Here, actor: Actor) -> Allocator:
    """Let it make no more decisions. Outcomes still count, and everything can still be read."""
    await service.change(changes.archive, actor, name)
    return await service.look(views.allocator, name)


@router.post("/{name}/arms", responses=NOT_FOUND | CONFLICT)
async def add_arm(name: Name, body: ArmSpec, service: Here, actor: Actor) -> Allocator:
    """Add an arm, or bring a retired one back with all that is known of it."""
    await service.change(changes.add_arm, actor, name, body)
    return await service.look(views.allocator, name)


@router.post("/{name}/arms/{arm:path}/retire", responses=NOT_FOUND | CONFLICT)
async def retire_arm(name: Name, arm: ArmName, service: Here, actor: Actor) -> Allocator:
    """Give an arm nothing any more. What is still heard of it counts."""
    await service.change(changes.retire_arm, actor, name, arm)
    return await service.look(views.allocator, name)


@router.get("/{name}/estimates", responses=NOT_FOUND)
async def get_estimates(
    name: Name,
    service: Here,
    budget: Annotated[
        float | None,
        Query(ge=0.0, allow_inf_nan=False, description="For the best allocation; by default max_budget."),
    ] = None,
    level: Annotated[float, Query(gt=0.0, lt=1.0, description="The intervals' coverage.")] = 0.9,
) -> Estimates:
    """Return what is known of every arm, with intervals, and the best allocation by it."""
    return await service.look(views.estimates, name, budget, level)


@router.get("/{name}/history", responses=NOT_FOUND)
async def get_history(
    name: Name,
    service: Here,
    before: Annotated[int | None, Query(ge=0, le=_MOST_ROUND, description="Only rounds before this one.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> History:
    """Return decisions and their outcomes, newest first, a page at a time."""
    return await service.look(views.history, name, before, limit)


@router.get("/{name}/evidence", responses=NOT_FOUND)
async def get_evidence(name: Name, service: Here) -> EvidenceBody:
    """Export all that has been seen; another allocator with the same max_budget can import it."""
    return await service.look(views.evidence, name)


@router.put("/{name}/evidence/{import_id}", responses=NOT_FOUND | CONFLICT)
async def put_evidence(
    name: Name, import_id: DecisionId, body: EvidenceBody, service: Here, actor: Actor
) -> ImportAnswer:
    """Import evidence from elsewhere, once for each `import_id`: the same again changes nothing."""
    answer: ImportAnswer = await service.change(changes.import_evidence, actor, name, import_id, body)
    return answer
