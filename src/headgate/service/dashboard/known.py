"""A page about one allocator, or the page that says why there is none."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import Response

from headgate.service.dashboard.pages import page
from headgate.service.faults import NotFoundError, UnavailableError
from headgate.service.service import Service
from headgate.service.store.rows import row_of
from headgate.service.web.errors import detail_of


async def page_of(template: str, name: str, request: Request, service: Service, title: str) -> Response:
    """Show a template about an allocator that exists."""
    signed_in = service.settings.keys
    try:
        await service.look(row_of, name)
    except (NotFoundError, UnavailableError) as error:
        missing = "Not found" if isinstance(error, NotFoundError) else "Not now"
        status, words = detail_of(error)  # which keep to themselves where the database is
        return page("error.html", request, status, title=missing, message=words["message"], signed_in=signed_in)
    return page(template, request, title=title, name=name, signed_in=signed_in)
