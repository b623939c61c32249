"""Self-contained HTML pages: one style, figures embedded, nothing from the network, every text escaped.

Templates stand beside what they show, in the rooms above; they extend `figures/page.html`.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from headgate import files

_TEMPLATES = Environment(
    loader=PackageLoader("headgate", ""),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def write_page(path: Path, template: str, **values: Any) -> Path:
    """Fill a template, named by its path within the package, and write it to a file; texts among values are escaped."""
    return files.write(path, _TEMPLATES.get_template(template).render(**values))


def _embedded(path: Path) -> str:
    """A PNG file as the address of an image within the page."""
    return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"


_TEMPLATES.filters["embedded"] = _embedded
