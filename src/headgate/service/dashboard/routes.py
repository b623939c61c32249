"""The dashboard's routes, and signing in. None of them is in the API's schema."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from headgate.service.dashboard import past
from headgate.service.dashboard.detail import detail
from headgate.service.dashboard.known import page_of
from headgate.service.dashboard.overview import overview
from headgate.service.dashboard.pages import file, page
from headgate.service.service import Asks, Here
from headgate.service.spec import Name
from headgate.service.store.keys import all_keys, key_of_token
from headgate.service.web.schema import reference
from headgate.service.web.sessions import COOKIE, begin

router = APIRouter(include_in_schema=False)
router.include_router(past.router)
_MOST_TIME = 2**62


@router.get("/")
async def first_page(request: Request, service: Here) -> Response:
    """Show the allocators."""
    return page("overview.html", request, title="Allocators", signed_in=service.settings.keys)


@router.get("/data")
async def first_data(service: Here, asker: Asks) -> Response:
    """Return what the first page shows."""
    return JSONResponse(await service.look(overview, service.memory, asker))


@router.get("/allocators/{name}")
async def allocator_page(name: Name, request: Request, service: Here) -> Response:
    """Show an allocator."""
    return await page_of("allocator.html", name, request, service, name)


@router.get("/allocators/{name}/data")
async def allocator_data(
    name: Name,
    service: Here,
    find: Annotated[str, Query(max_length=100)] = "",
    have: Annotated[int, Query(ge=0, le=_MOST_TIME)] = 0,
) -> Response:
    """Return what the page of an allocator shows."""
    return JSONResponse(await service.look(detail, name, service.memory, find, have))


@router.get("/docs")
async def api_page(request: Request, service: Here) -> Response:
    """Show what the API takes and answers."""
    described = request.app.openapi()
    content = await run_in_threadpool(reference, described)
    about = {"title": "API", "version": described["info"]["version"], "signed_in": service.settings.keys}
    return page("reference.html", request, **about, **content)


@router.get("/login")
async def login_form(request: Request) -> Response:
    """Ask for a key."""
    return page("login.html", request, title="Sign in", message=None)


@router.post("/login")
async def login(request: Request, service: Here) -> Response:
    """Begin a session for whoever has a key that is good."""
    tokens = parse_qs((await request.body())[:1000].decode("utf-8", "replace")).get("key", [""])
    keys = {one.id: one for one in await service.look(all_keys)}
    key = key_of_token(tokens[0].strip(), keys) if len(tokens) == 1 else None
    if key is None:
        request.scope["refused"] = "sign-in failed: the key is not known, or was revoked"
        message = "This key is not known, or was revoked."
        return page("login.html", request, 401, title="Sign in", message=message)
    headers = {"Set-Cookie": begin(key).cookie(secure=request.url.scheme == "https")}
    return RedirectResponse("/", 303, headers)


@router.post("/logout")
async def logout() -> Response:
    """End the session in this browser."""
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE)
    return response


@router.get("/static/{name}")
async def static(name: str, request: Request) -> Response:
    """Return a script or a style."""
    return await run_in_threadpool(file, name, request)


@router.get("/favicon.ico")
async def icon(request: Request) -> Response:
    """Return the mark."""
    return file("mark.svg", request)
