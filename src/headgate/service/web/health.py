"""The routes of those who run the service: is it alive, can it work, how does it go; and signing in."""

from __future__ import annotations

from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from sqlalchemy import text

from headgate.service import views
from headgate.service.bodies import Health
from headgate.service.dashboard.pages import login_page
from headgate.service.store.keys import all_keys, match
from headgate.service.web import metrics
from headgate.service.web.errors import RESPONSES
from headgate.service.web.guard import COOKIE
from headgate.service.web.state import service_of

router = APIRouter(tags=["health"])
_SIGNED_IN = 12 * 3600


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def alive() -> Health:
    """Answer as long as the process does."""
    return Health(status="ok")


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", responses={503: RESPONSES[503]})
async def ready(request: Request) -> Health:
    """Answer if the database can be used."""
    await service_of(request).look(lambda connection: connection.execute(text("SELECT 1")).scalar())
    return Health(status="ok")


@router.get("/metrics", include_in_schema=False)
async def get_metrics(request: Request) -> Response:
    """Return the metrics."""
    content, kind = metrics.exposition(await service_of(request).look(views.allocators))
    return Response(content, media_type=kind)


@router.get("/login", include_in_schema=False)
async def login_form() -> Response:
    """Ask for a key."""
    return login_page(None)


@router.post("/login", include_in_schema=False)
async def login(request: Request) -> Response:
    """Keep a key that is good in a cookie that no script can read and no other site can send."""
    given = parse_qs((await request.body())[:1000].decode("utf-8", "replace")).get("key", [""])[0].strip()
    keys = {key.id: key for key in await service_of(request).look(all_keys)}
    if match(given, keys) is None:
        page = login_page("This key is not known, or was revoked.")
        page.status_code = 401
        return page
    response = RedirectResponse("/", 303)
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, given, _SIGNED_IN, httponly=True, samesite="strict", secure=secure)
    return response


@router.post("/logout", include_in_schema=False)
async def logout() -> Response:
    """Forget the key."""
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE)
    return response
