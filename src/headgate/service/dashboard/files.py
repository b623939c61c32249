"""Scripts and styles: our own, and plotly's from the installed package. Nothing comes from the network."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from headgate.service.faults import NotFoundError

#: With its version, so that browsers may keep it for good.
PLOTLY = f"plotly-{version('plotly')}.js"
_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_OURS = ("dashboard.css", "plain.js", "overview.js", "allocator.js", "charts.js", "arms.js", "mark.svg")
_SMALL = 1_000


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    packed: bytes
    tag: str
    kind: str
    forever: bool


def answer(name: str, request: Request) -> Response:
    """Return a file; nothing, if the browser has it already."""
    if name != PLOTLY and name not in _OURS:
        raise NotFoundError(f"there is no file {name!r}")
    file = _read(name)
    headers = {
        "ETag": file.tag,
        "Cache-Control": "public, max-age=31536000, immutable" if file.forever else "no-cache",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Vary": "Accept-Encoding",
    }
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    body = file.content
    if "gzip" in request.headers.get("accept-encoding", "") and len(body) > _SMALL:
        body, headers["Content-Encoding"] = file.packed, "gzip"
    return Response(body, headers=headers, media_type=file.kind)


@cache
def _read(name: str) -> _File:
    ours = name != PLOTLY
    source = files(__package__) / "static" / name if ours else files("plotly") / "package_data" / "plotly.min.js"
    content = source.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
    return _File(content, gzip.compress(content, 6), tag, _TYPES[name.rpartition(".")[2]], not ours)
