"""What a route is given besides the request's own fields: the service, and who asks."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from headgate.service.faults import RefusedError
from headgate.service.service import Service


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _actor(request: Request) -> str:
    return str(request.scope.get("actor", "anyone on this machine"))


async def once(request: Request) -> None:
    """Refuse a query that gives a parameter twice: it does not say which of them counts."""
    for name in request.query_params:
        if len(request.query_params.getlist(name)) > 1:
            raise RefusedError(f"{name} must be given once, got it several times", name)


Here = Annotated[Service, Depends(_service)]
"""The service that a request came to."""
Actor = Annotated[str, Depends(_actor)]
"""Who asks, for the audit log."""
