"""What a browser gets: templates that escape all they are given, with headers that let nothing else in; files.

Scripts and styles are our own, and plotly's from the installed package. Nothing comes from the network.
"""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response

from headgate.service.faults import NotFoundError

#: With its version, so that browsers may keep it for good.
PLOTLY = f"plotly-{version('plotly')}.js"
_OURS = (
    "dashboard.css",
    "plain.js",
    "overview.js",
    "allocator.js",
    "past.js",
    "charts.js",
    "drift.js",
    "arms.js",
    "mark.svg",
)
_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_SMALL = 1_000
_CSP = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",  # plotly styles what it draws
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": _CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_TEMPLATES = Environment(
    loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


def page(template: str, request: Request, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a template; `base` is the address at which the visitor found us."""
    shared = {"plotly": PLOTLY, "base": str(request.base_url).rstrip("/"), "signed_in": False}
    return HTMLResponse(_TEMPLATES.get_template(template).render(shared | values), status, HEADERS)


def file(name: str, request: Request) -> Response:
    """Return a script or a style; nothing, if the browser has it already."""
    if name != PLOTLY and name not in _OURS:
        raise NotFoundError(f"there is no file {name!r}")
    content, packed, headers = _read(name)
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", "") and len(content) > _SMALL:
        return Response(packed, headers=headers | {"Content-Encoding": "gzip"})
    return Response(content, headers=headers)


@cache
def _read(name: str) -> tuple[bytes, bytes, dict[str, str]]:
    """Return a file, the same packed, and the headers it is sent with."""
    ours = files(__package__) / "static" / name
    content = (files("plotly") / "package_data" / "plotly.min.js" if name == PLOTLY else ours).read_bytes()
    headers = {
        "Content-Type": _TYPES[name.rpartition(".")[2]],
        "ETag": f'"{hashlib.sha256(content).hexdigest()[:20]}"',
        "Cache-Control": "public, max-age=31536000, immutable" if name == PLOTLY else "no-cache",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Vary": "Accept-Encoding",
    }
    return content, gzip.compress(content, 6), headers
