"""The dashboard's routes. None of them is in the API's schema."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool

from headgate.service.dashboard import files, pages
from headgate.service.dashboard.detail import detail
from headgate.service.dashboard.memory import Memory
from headgate.service.dashboard.overview import overview
from headgate.service.faults import NotFoundError, UnavailableError
from headgate.service.spec import Name
from headgate.service.views import row_of
from headgate.service.web.state import service_of

router = APIRouter(include_in_schema=False)
_FRESH = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_MOST_TIME = 2**62


@router.get("/")
async def first_page(request: Request) -> Response:
    """Show the allocators."""
    return pages.overview_page(_base(request), service_of(request).settings.keys)


@router.get("/data")
async def first_data(request: Request) -> Response:
    """Return what the first page shows."""
    memory = _memories(request)["overview"]
    return JSONResponse(await service_of(request).look(lambda c: overview(c, memory)), headers=_FRESH)


@router.get("/allocators/{name}")
async def allocator_page(name: Name, request: Request) -> Response:
    """Show an allocator."""
    service = service_of(request)
    keys = service.settings.keys
    try:
        await service.look(partial(row_of, name=name))
    except NotFoundError as error:
        return pages.error_page(404, "Not found", str(error), keys)
    except UnavailableError as error:
        return pages.error_page(503, "Not now", str(error), keys)
    return pages.allocator_page(name, _base(request), keys)


@router.get("/allocators/{name}/data")
async def allocator_data(
    name: Name,
    request: Request,
    find: Annotated[str, Query(max_length=100)] = "",
    have: Annotated[int, Query(ge=0, le=_MOST_TIME)] = 0,
) -> Response:
    """Return what the page of an allocator shows."""
    memory = _memories(request)["allocators"]
    found = await service_of(request).look(lambda c: detail(c, name, memory, find, have))
    return JSONResponse(found, headers=_FRESH)


@router.get("/static/{name}")
async def static(name: str, request: Request) -> Response:
    """Return a script or a style."""
    return await run_in_threadpool(files.answer, name, request)


@router.get("/favicon.ico")
async def icon(request: Request) -> Response:
    """Return the mark."""
    return files.answer("mark.svg", request)


def _memories(request: Request) -> dict[str, Memory]:
    state = request.app.state
    if not hasattr(state, "dashboard"):
        state.dashboard = {"overview": Memory(100), "allocators": Memory(16)}
    memories: dict[str, Memory] = state.dashboard
    return memories


def _base(request: Request) -> str:
    return str(request.base_url).rstrip("/")
