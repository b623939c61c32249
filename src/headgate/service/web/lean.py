"""Lean routes, for what is asked every round: the body goes from bytes to its model in one step.

FastAPI parses JSON, then resolves dependencies, then validates; half of a decision's time would go there. These
routes take path parameters, one body and the request, and are in the OpenAPI schema like all others.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, get_type_hints

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError

_JSON = "application/json"


class LeanRoute(APIRoute):
    """A route whose endpoint takes path parameters by name, `body` and `request`, and returns a response."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        endpoint: Any = self.endpoint
        hints = get_type_hints(inspect.unwrap(endpoint), include_extras=True)
        body = TypeAdapter(hints["body"])
        path = {name: TypeAdapter(hints[name]) for name in self.param_convertors}

        async def handle(request: Request) -> Response:
            kind = request.headers.get("content-type", "")
            if not kind.lower().startswith(_JSON):  # a foreign page can send a form here, but not JSON
                raise RequestValidationError(
                    [{"loc": ("body",), "msg": f"content-type must be {_JSON}", "type": "json"}]
                )
            raw, place = await request.body(), "body"
            try:
                values = {"body": body.validate_json(raw)}
                for place, adapter in path.items():
                    values[place] = adapter.validate_python(request.path_params[place])
            except ValidationError as wrong:
                errors = wrong.errors(include_url=False, include_context=False, include_input=False)
                raise RequestValidationError(
                    [{**e, "loc": (place, *(e["loc"] or (place,)))} for e in errors]
                ) from wrong
            answer: Response = await endpoint(**values, request=request)
            return answer

        return handle
