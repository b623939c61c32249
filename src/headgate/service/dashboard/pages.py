"""Pages: templates that escape all they are given, sent with headers that let nothing else in."""

from __future__ import annotations

from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from headgate.service.dashboard.files import PLOTLY

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


def page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a template."""
    text = _TEMPLATES.get_template(template).render(plotly=PLOTLY, **values)
    return HTMLResponse(text, status, HEADERS)


def overview_page(base: str, signed_in: bool) -> HTMLResponse:
    """Return the first page; `base` is the address at which the visitor found it."""
    return page("overview.html", title="Allocators", base=base, signed_in=signed_in)


def allocator_page(name: str, base: str, signed_in: bool) -> HTMLResponse:
    """Return the page of an allocator."""
    return page("allocator.html", title=name, name=name, base=base, signed_in=signed_in)


def error_page(status: int, title: str, message: str, signed_in: bool) -> HTMLResponse:
    """Return a page that says what is wrong."""
    return page("error.html", status, title=title, message=message, signed_in=signed_in)


def login_page(message: str | None) -> HTMLResponse:
    """Return the form that asks for a key, with what was wrong with the last one."""
    return page("login.html", 200 if message is None else 401, title="Sign in", message=message, signed_in=False)
