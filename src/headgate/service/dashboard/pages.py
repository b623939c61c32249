"""Pages."""

from fastapi.responses import HTMLResponse


def login_page(message: str | None) -> HTMLResponse:
    """Placeholder."""
    return HTMLResponse(message or "")
