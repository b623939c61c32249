"""The dashboard's routes, and signing in. None of them is in the API's schema."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from headgate.service.dashboard import files, pages
from headgate.service.dashboard.detail import detail
from headgate.service.dashboard.memory import Memory
from headgate.service.dashboard.overview import overview
from headgate.service.faults import NotFoundError, UnavailableError
from headgate.service.spec import Name
from headgate.service.store.keys import all_keys, match
from headgate.service.views import row_of
from headgate.service.web.context import Here
from headgate.service.web.guard import COOKIE

router = APIRouter(include_in_schema=False)
_FRESH = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_MOST_TIME = 2**62
_SIGNED_IN = 12 * 3600  # seconds


@router.get("/")
async def first_page(request: Request, service: Here) -> Response:
    """Show the allocators."""
    return pages.overview_page(_base(request), service.settings.keys)


@router.get("/data")
async def first_data(request: Request, service: Here) -> Response:
    """Return what the first page shows."""
    return JSONResponse(await service.look(overview, _memories(request)["overview"]), headers=_FRESH)


@router.get("/allocators/{name}")
async def allocator_page(name: Name, request: Request, service: Here) -> Response:
    """Show an allocator."""
    keys = service.settings.keys
    try:
        await service.look(row_of, name)
    except NotFoundError as error:
        return pages.error_page(404, "Not found", str(error), keys)
    except UnavailableError as error:
        return pages.error_page(503, "Not now", str(error), keys)
    return pages.allocator_page(name, _base(request), keys)


@router.get("/allocators/{name}/data")
async def allocator_data(
    name: Name,
    request: Request,
    service: Here,
    find: Annotated[str, Query(max_length=100)] = "",
    have: Annotated[int, Query(ge=0, le=_MOST_TIME)] = 0,
) -> Response:
    """Return what the page of an allocator shows."""
    shown = await service.look(detail, name, _memories(request)["allocators"], find, have)
    return JSONResponse(shown, headers=_FRESH)


@router.get("/login")
async def login_form() -> Response:
    """Ask for a key."""
    return pages.login_page(None)


@router.post("/login")
async def login(request: Request, service: Here) -> Response:
    """Keep a key that is good in a cookie that no script can read and no other site can send."""
    key = parse_qs((await request.body())[:1000].decode("utf-8", "replace")).get("key", [""])[0].strip()
    if match(key, {one.id: one for one in await service.look(all_keys)}) is None:
        return pages.login_page("This key is not known, or was revoked.")
    response = RedirectResponse("/", 303)
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, key, _SIGNED_IN, httponly=True, samesite="strict", secure=secure)
    return response


@router.post("/logout")
async def logout() -> Response:
    """Forget the key."""
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE)
    return response


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
