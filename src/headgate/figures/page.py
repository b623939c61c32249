"""Self-contained HTML pages: one style, figures embedded, nothing from the network, every text escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

_STYLE = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")


def document(title: str, body: Sequence[str]) -> str:
    """Return a whole page; `body` is HTML, the title is text."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )


def row(cells: Iterable[str], tag: str = "td") -> str:
    """Return a table row of texts."""
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def image(path: Path, alt: str) -> str:
    """Return a PNG file as an image within the page."""
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return f'<img alt="{escape(alt)}" src="data:image/png;base64,{data}">'
