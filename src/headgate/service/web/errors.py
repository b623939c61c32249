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

from headgate.errors import BudgetError, HeadgateError, InputError, UnsupportedError
from headgate.service.bodies import Error
from headgate.service.faults import RefusedError, ServiceError, UnavailableError

_log = logging.getLogger("headgate.service")
_MOST_FIELDS = 100
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


def status_of(error: Exception) -> int:
    """Return the status that an error becomes."""
    if isinstance(error, ServiceError):
        return error.status
    return 422 if isinstance(error, InputError | UnsupportedError) else 500


def detail_of(error: Exception) -> dict[str, Any]:
    """Return what an error says, for the body of an answer."""
    status = status_of(error)
    fields = []
    if status == 422:
        fields = [{"field": _field(error), "rule": str(error)}]
    if isinstance(error, UnavailableError):  # where the database is, is nobody's business
        _log.warning("%s", error)
        return {"code": error.code, "message": "not now: ask again with the same ids", "fields": []}
    return {"code": _CODES.get(status, "error"), "message": str(error), "fields": fields}


def _field(error: Exception) -> str:
    if isinstance(error, RefusedError):
        return error.field
    return "budget" if isinstance(error, BudgetError) else "body"


def answer(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return an error in the form of all errors."""
    detail = {"code": _CODES.get(status, "error"), "message": message, "fields": []}
    return JSONResponse({"error": detail}, status, headers)


def install(app: FastAPI) -> None:
    """Give the app its handlers."""
    app.add_exception_handler(HeadgateError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)


def _ours(_request: Request, error: Exception) -> Response:
    status = status_of(error)
    headers = {"Retry-After": "1"} if isinstance(error, UnavailableError) else None
    return JSONResponse({"error": detail_of(error)}, status, headers)


def _invalid(_request: Request, error: Exception) -> Response:
    found: Iterable[Any] = error.errors() if isinstance(error, RequestValidationError) else ()
    fields = [{"field": _place(item), "rule": _text(item["msg"])} for item in islice(found, _MOST_FIELDS)]
    message = "; ".join(f"{item['field']}: {item['rule']}" for item in fields[:3])
    return JSONResponse({"error": {"code": "invalid", "message": message, "fields": fields}}, 422)


def _place(item: Mapping[str, Any]) -> str:
    """Return where a field is, without the parts that only say how its type is checked."""
    parts = () if item.get("type") == "json_invalid" else item["loc"][1:]
    return ".".join(_text(part) for part in parts if not re.search(r"[\[(]|Spec$", str(part))) or "body"


def _text(value: object) -> str:
    """Return text that can be sent, whatever was in the request."""
    return str(value).encode("utf-8", "replace").decode()[:300]


def _http(_request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        return answer(500, "an error of the service")
    if error.status_code == 400:
        fields = [{"field": "body", "rule": "must be JSON"}]
        return JSONResponse({"error": {"code": "invalid", "message": "the body must be JSON", "fields": fields}}, 422)
    return answer(error.status_code, str(error.detail), error.headers)


def _unexpected(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return answer(500, "an error of the service: it has been logged, nothing of the request was stored")
