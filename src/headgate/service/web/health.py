"""The routes of those who run the service: is it alive, can it work, how does it go."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy import text

from headgate.service import views
from headgate.service.bodies import Health
from headgate.service.web import metrics
from headgate.service.web.context import Here
from headgate.service.web.errors import RESPONSES

router = APIRouter(tags=["health"])


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def alive() -> Health:
    """Answer as long as the process does."""
    return Health(status="ok")


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", responses={503: RESPONSES[503]})
async def ready(service: Here) -> Health:
    """Answer if the database can be used."""
    await service.look(lambda connection: connection.execute(text("SELECT 1")).scalar())
    return Health(status="ok")


@router.get("/metrics", include_in_schema=False)
async def get_metrics(service: Here) -> Response:
    """Return the metrics."""
    content, kind = metrics.exposition(await service.look(views.allocators))
    return Response(content, media_type=kind)
