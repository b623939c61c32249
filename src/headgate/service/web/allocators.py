"""The routes of allocators: create, look, change, estimates, history, evidence."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from headgate.service import views
from headgate.service.bodies import Allocator, Allocators, Estimates, EvidenceBody, History, ImportAnswer
from headgate.service.engine import changes
from headgate.service.engine.requests import Change
from headgate.service.spec import AllocatorSpec, ArmName, ArmSpec, DecisionId, Name
from headgate.service.web.errors import CONFLICT, NOT_FOUND, RESPONSES
from headgate.service.web.state import actor_of, service_of

router = APIRouter(prefix="/v1/allocators", tags=["allocators"], responses=RESPONSES)
_MOST_ROUND = 2**62


@router.get("")
async def list_allocators(request: Request) -> Allocators:
    """Return all allocators by name, archived ones too."""
    return Allocators(allocators=await service_of(request).look(views.allocators))


@router.put("/{name}", responses=CONFLICT | {201: {"model": Allocator, "description": "Created"}})
async def put_allocator(name: Name, body: AllocatorSpec, request: Request, response: Response) -> Allocator:
    """Create an allocator. The same body again is 200 and changes nothing, another one is refused."""
    service, actor = service_of(request), actor_of(request)
    made = await service.writer.ask(Change(lambda c: changes.create(c, actor, name, body)))
    response.status_code = 201 if made else 200
    return await service.look(lambda c: views.allocator(c, name))


@router.get("/{name}", responses=NOT_FOUND)
async def get_allocator(name: Name, request: Request) -> Allocator:
    """Return an allocator as it stands."""
    return await service_of(request).look(lambda c: views.allocator(c, name))


@router.post("/{name}/archive", responses=NOT_FOUND)
async def archive_allocator(name: Name, request: Request) -> Allocator:
    """Let it make no more decisions. Outcomes still count, and everything can still be read."""
    service, actor = service_of(request), actor_of(request)
    await service.writer.ask(Change(lambda c: changes.archive(c, actor, name)))
    return await service.look(lambda c: views.allocator(c, name))


@router.post("/{name}/arms", responses=NOT_FOUND | CONFLICT)
async def add_arm(name: Name, body: ArmSpec, request: Request) -> Allocator:
    """Add an arm, or bring a retired one back with all that is known of it."""
    service, actor = service_of(request), actor_of(request)
    await service.writer.ask(Change(lambda c: changes.add_arm(c, actor, name, body)))
    return await service.look(lambda c: views.allocator(c, name))


@router.post("/{name}/arms/{arm:path}/retire", responses=NOT_FOUND | CONFLICT)
async def retire_arm(name: Name, arm: ArmName, request: Request) -> Allocator:
    """Give an arm nothing any more. What is still heard of it counts."""
    service, actor = service_of(request), actor_of(request)
    await service.writer.ask(Change(lambda c: changes.retire_arm(c, actor, name, arm)))
    return await service.look(lambda c: views.allocator(c, name))


@router.get("/{name}/estimates", responses=NOT_FOUND)
async def get_estimates(
    name: Name,
    request: Request,
    budget: Annotated[
        float | None,
        Query(ge=0.0, allow_inf_nan=False, description="For the best allocation; by default max_budget."),
    ] = None,
    level: Annotated[float, Query(gt=0.0, lt=1.0, description="The intervals' coverage.")] = 0.9,
) -> Estimates:
    """Return what is known of every arm, with intervals, and the best allocation by it."""
    return await service_of(request).look(lambda c: views.estimates(c, name, budget, level))


@router.get("/{name}/history", responses=NOT_FOUND)
async def get_history(
    name: Name,
    request: Request,
    before: Annotated[int | None, Query(ge=0, le=_MOST_ROUND, description="Only rounds before this one.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> History:
    """Return decisions and their outcomes, newest first, a page at a time."""
    return await service_of(request).look(lambda c: views.history(c, name, before, limit))


@router.get("/{name}/evidence", responses=NOT_FOUND)
async def get_evidence(name: Name, request: Request) -> EvidenceBody:
    """Export all that has been seen; another allocator with the same max_budget can import it."""
    return await service_of(request).look(lambda c: views.evidence(c, name))


@router.put("/{name}/evidence/{import_id}", responses=NOT_FOUND | CONFLICT)
async def put_evidence(name: Name, import_id: DecisionId, body: EvidenceBody, request: Request) -> ImportAnswer:
    """Import evidence from elsewhere, once for each `import_id`: the same again changes nothing."""
    service, actor = service_of(request), actor_of(request)
    answer: ImportAnswer = await service.writer.ask(
        Change(lambda c: changes.import_evidence(c, actor, name, import_id, body))
    )
    return answer
