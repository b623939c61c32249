"""The routes of allocators: create, look, change, estimates, history, evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel

from headgate.service import views
from headgate.service.bodies import EvidenceBody, ImportAnswer, NewAllocator
from headgate.service.comparison import LEVEL, compare
from headgate.service.engine import changes, versions
from headgate.service.faults import RefusedError
from headgate.service.service import Actor, Asks, Here, Service
from headgate.service.spec import AllocatorChange, ArmName, ArmSpec, DecisionId, Name, Versions
from headgate.service.view_bodies import Allocator, Allocators, Comparison, DecisionLog, Estimates, History
from headgate.service.web.errors import CONFLICT, NOT_FOUND, RESPONSES

_MOST_ROUND = 2**62


async def once(request: Request) -> None:
    """Refuse a query that gives a parameter twice: it does not say which of them counts."""
    for name in request.query_params:
        if len(request.query_params.getlist(name)) > 1:
            raise RefusedError(f"{name} must be given once, got it several times", name)


async def shown(service: Service, view: Callable[..., BaseModel], *args: Any) -> Response:
    """Look, and write the answer in the same thread: a page of a thousand decisions would stop the event loop."""
    text = await service.look(lambda connection: view(connection, *args).model_dump_json())
    return Response(text, media_type="application/json")


router = APIRouter(prefix="/v1/allocators", tags=["allocators"], responses=RESPONSES, dependencies=[Depends(once)])


@router.get("", response_model=Allocators)
async def list_allocators(service: Here, asker: Asks) -> Response:
    """Return all allocators by name, archived ones too; for a key that is bound to some, those."""
    return await shown(service, lambda connection: Allocators(allocators=views.allocators(connection, asker)))


@router.put("/{name}", responses=CONFLICT | {201: {"model": Allocator, "description": "Created"}})
async def put_allocator(
    name: Name, body: NewAllocator, service: Here, actor: Actor, asker: Asks, response: Response
) -> Allocator:
    """Create an allocator. The same body again is 200 and changes nothing, another one is refused."""
    is_new = await service.change(changes.create, actor, name, body.spec(), body.evidence, asker)
    response.status_code = 201 if is_new else 200
    return await service.look(views.allocator, name)


@router.get("/{name}", responses=NOT_FOUND)
async def get_allocator(name: Name, service: Here) -> Allocator:
    """Return an allocator as it stands."""
    return await service.look(views.allocator, name)


@router.get("/{name}/versions", responses=NOT_FOUND)
async def list_versions(name: Name, service: Here) -> Versions:
    """Return what has changed it, the first change first."""
    return await service.look(versions.versions, name)


@router.post("/{name}/versions", responses=NOT_FOUND | CONFLICT)
async def change_allocator(name: Name, body: AllocatorChange, service: Here, actor: Actor) -> Allocator:
    """Change law, policy, baseline, or limits, values and laws of arms, from the next decision on. Evidence is kept.

    The same again changes nothing.
    """
    await service.change(versions.change, actor, name, body)
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


@router.get("/{name}/estimates", response_model=Estimates, responses=NOT_FOUND)
async def get_estimates(
    name: Name,
    service: Here,
    budget: Annotated[
        float | None,
        Query(ge=0.0, allow_inf_nan=False, description="For the best allocation; by default max_budget."),
    ] = None,
    level: Annotated[float, Query(gt=0.0, lt=1.0, description="The intervals' coverage.")] = 0.9,
) -> Response:
    """Return what is known of every arm, with intervals, and the best allocation by it."""
    return await shown(service, views.estimates, name, budget, level)


@router.get("/{name}/comparison", responses=NOT_FOUND)
async def get_comparison(
    name: Name,
    service: Here,
    level: Annotated[float, Query(gt=0.0, lt=1.0, description="The intervals' coverage.")] = LEVEL,
) -> Comparison:
    """Return whether it is better than its baseline: the difference of value per decision, with intervals."""
    return await service.look(compare, name, level)


@router.get("/{name}/history", response_model=History, responses=NOT_FOUND)
async def get_history(
    name: Name,
    service: Here,
    before: Annotated[int | None, Query(ge=0, le=_MOST_ROUND, description="Only rounds before this one.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Return decisions and their outcomes, newest first, a page at a time."""
    return await shown(service, views.history, name, before, limit)


@router.get("/{name}/decisions", response_model=DecisionLog, responses=NOT_FOUND)
async def get_decisions(
    name: Name,
    service: Here,
    after: Annotated[int | None, Query(ge=0, le=_MOST_ROUND, description="Only rounds after this one.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Return decisions and their outcomes in the order in which they were made, a page at a time."""
    return await shown(service, views.decisions, name, after, limit)


@router.get("/{name}/evidence", response_model=EvidenceBody, responses=NOT_FOUND)
async def get_evidence(name: Name, service: Here) -> Response:
    """Export all that has been seen; another allocator with the same max_budget can import it."""
    return await shown(service, views.evidence, name)


@router.put("/{name}/evidence/{import_id}", responses=NOT_FOUND | CONFLICT)
async def put_evidence(
    name: Name, import_id: DecisionId, body: EvidenceBody, service: Here, actor: Actor, asker: Asks
) -> ImportAnswer:
    """Import evidence from elsewhere, once for each `import_id`: the same again changes nothing."""
    answer: ImportAnswer = await service.change(changes.import_evidence, actor, name, import_id, body, "", asker)
    return answer
