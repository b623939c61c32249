"""Lean routes: those of every round, answered with as little between the bytes and the endpoint as will do.

FastAPI parses JSON, then resolves dependencies, then validates, and Starlette walks through five layers before that:
more than the decision itself costs. A lean route is in the OpenAPI schema like all others, but the guard hands it the
request directly, and its body goes from bytes to its model in one step.
"""

from __future__ import annotations

import inspect
from typing import Any, get_type_hints

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from headgate.service.store.keys import ANYBODY
from headgate.service.web import errors

_JSON = b"application/json"


class LeanRoute(APIRoute):
    """A route whose endpoint takes path parameters by name, `body`, `service` and `asker`, and returns a text."""

    def __init__(self, path: str, endpoint: Any, **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        hints = get_type_hints(inspect.unwrap(endpoint), include_extras=True)
        self._body = TypeAdapter(hints["body"])
        self._path = {name: TypeAdapter(hints[name]) for name in self.param_convertors}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, with an error of ours too."""
        try:
            message = await receive()
            raw: bytes = message.get("body", b"")
            while message.get("more_body"):
                message = await receive()
                raw += message.get("body", b"")
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
            if not kind.lower().startswith(_JSON):  # a foreign page can send a form here, but not JSON
                words = f"content-type must be {_JSON.decode()}"
                raise RequestValidationError([{"loc": ("body",), "msg": words, "type": "json"}])
            place = "body"
            try:
                values = {"body": self._body.validate_json(raw)}
                for place, adapter in self._path.items():
                    values[place] = adapter.validate_python(scope["path_params"][place])
            except ValidationError as wrong:
                details = wrong.errors(include_url=False, include_context=False, include_input=False)
                raise RequestValidationError(
                    [{**e, "loc": (place, *(e["loc"] or (place,)))} for e in details]
                ) from wrong
            many = getattr(values["body"], "many", 1)
            if many > 1 and "charge" in scope:
                scope["charge"](many - 1)
            here = {"service": scope["app"].state.service, "asker": scope.get("asker", ANYBODY)}
            text: str = await self.endpoint(**values, **here)
        except errors.EXPECTED as error:
            await errors.become(error)(scope, receive, send)
            return
        content = text.encode()
        head = [(b"content-type", _JSON), (b"content-length", b"%d" % len(content))]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": content})
