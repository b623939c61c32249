"""Errors become HTTP here, all of them, in one form: nothing of the inside is shown."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Scope

from headgate.errors import BudgetError, HeadgateError, InputError, UnsupportedError
from headgate.service.bodies import Error
from headgate.service.faults import TooManyError, UnavailableError

_log = logging.getLogger("headgate.service")
_MOST_FIELDS = 100
_LATER = frozenset({429, 503})  # what may be asked again, and when
_CODES = {
    400: "bad-request",
    401: "unauthorized",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    409: "conflict",
    413: "too-large",
    422: "invalid",
    429: "too-many-requests",
    503: "unavailable",
}

#: What any route may answer besides its own answer, for the schema.
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": Error, "description": words}
    for status, words in {
        400: "The request is not HTTP or JSON as it should be",
        401: "A key is needed, or this one is not known",
        403: "The key may not do this",
        413: "The body is too large",
        422: "A field breaks a rule",
        429: "The key's rate limit is reached",
        503: "The database cannot be used now; ask again with the same ids",
    }.items()
}
NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"model": Error, "description": "There is no such thing"}}
CONFLICT: dict[int | str, dict[str, Any]] = {409: {"model": Error, "description": "It contradicts what is stored"}}


def detail_of(error: Exception) -> tuple[int, dict[str, Any]]:
    """Return the status that an error of ours becomes, and what it says, for the body of an answer."""
    status = 422 if isinstance(error, InputError | UnsupportedError) else getattr(error, "status", 500)
    message, fields = str(error), []
    if isinstance(error, UnavailableError):  # where the database is, is nobody's business
        _log.warning("%s", error)
        message = "not now: ask again with the same ids"
    if status == 422:
        place = "budget" if isinstance(error, BudgetError) else getattr(error, "field", "body")
        fields = [{"field": place, "rule": message}]
    return status, {"code": _CODES.get(status, "error"), "message": message, "fields": fields}


def refusal(error: Exception) -> JSONResponse:
    """Return the answer that an error of ours becomes."""
    status, detail = detail_of(error)
    seconds = error.seconds if isinstance(error, TooManyError) else 0.0
    return JSONResponse({"error": detail}, status, {"Retry-After": f"{int(seconds) + 1}"} if status in _LATER else None)


def answer(status: int, message: str, headers: Mapping[str, str] | None = None, fields: Any = ()) -> JSONResponse:
    """Return an error in the form of all errors."""
    detail = {"code": _CODES.get(status, "error"), "message": message, "fields": fields}
    return JSONResponse({"error": detail}, status, headers)


EXPECTED = (HeadgateError, RequestValidationError, HTTPException, ClientDisconnect)
"""What a request may deserve; anything else is an error of ours."""


def install(app: FastAPI) -> None:
    """Give the app its handlers."""
    for kind in EXPECTED:
        app.add_exception_handler(kind, _expected)
    app.add_exception_handler(Exception, _unexpected)


async def _expected(_request: Request, error: Exception) -> Response:
    return become(error)


def become(error: Exception) -> Response:
    """Return the answer that an error becomes."""
    if isinstance(error, HeadgateError):
        return refusal(error)
    if isinstance(error, RequestValidationError):
        return _invalid(error.errors())
    if isinstance(error, HTTPException):
        if error.status_code == 400:
            return answer(422, "the body must be JSON", fields=[{"field": "body", "rule": "must be JSON"}])
        return answer(error.status_code, str(error.detail), error.headers)
    # Whoever asked has gone, or was too slow: nobody reads this, and it is no error of ours.
    return answer(400, "the body did not arrive")


def _invalid(wrong: Iterable[Any]) -> Response:
    fields = [{"field": _place(item), "rule": _text(item["msg"])} for item in islice(wrong, _MOST_FIELDS)]
    return answer(422, "; ".join(f"{item['field']}: {item['rule']}" for item in fields[:3]), fields=fields)


def _place(item: Mapping[str, Any]) -> str:
    """Return where a field is, without the parts that only say how its type is checked."""
    parts = () if item.get("type") == "json_invalid" else item["loc"][1:]
    return ".".join(_text(part) for part in parts if not re.search(r"[\[(]|Spec$", str(part))) or "body"


def _text(value: object) -> str:
    """Return text that can be sent, whatever was in the request."""
    return str(value).encode("utf-8", "replace").decode()[:300]


def _unexpected(request: Request, error: Exception) -> Response:
    return unexpected(request.scope, error)


def unexpected(scope: Scope, error: Exception) -> Response:
    """Return the answer that an error of ours becomes, and write it down."""
    _log.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
    return answer(500, "an error of the service: it has been logged, nothing of the request was stored")
