"""The OpenAPI schema, with what FastAPI cannot see: the guard asks for a key."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi


def install(app: FastAPI) -> None:
    """Let the app describe itself with its keys."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
            bearer = {"type": "http", "scheme": "bearer", "description": "A key made by `headgate keys create`."}
            schema["components"]["securitySchemes"] = {"key": bearer}
            schema["security"] = [{}, {"key": []}]  # without one, where the service asks for none
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way
