"""What a route is given besides the request's own fields: the service, and who asks."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from headgate.service.service import Service


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _actor(request: Request) -> str:
    return str(request.scope.get("actor", "anyone on this machine"))


Here = Annotated[Service, Depends(_service)]
"""The service that a request came to."""
Actor = Annotated[str, Depends(_actor)]
"""Who asks, for the audit log."""
