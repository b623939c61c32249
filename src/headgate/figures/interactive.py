"""Charts to hover and to zoom, inside of a page: plotly, from the installed package.

The script is written into the page once, so nothing comes from the network. Without plotly (it comes with the extra
`service`) a page has its figures as pictures only. `figures/macros.html` puts a chart and the script into a page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, NamedTuple


class Chart(NamedTuple):
    """A chart of a page."""

    id: str
    title: str
    data: str
    """Traces and layout as JSON that may stand in a page."""


def plotly_script() -> str | None:
    """Return plotly's JavaScript, or None where plotly is not installed."""
    if find_spec("plotly") is None:
        return None
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def chart(name: str, title: str, traces: list[dict[str, Any]], layout: dict[str, Any]) -> Chart:
    """Return a chart of plotly's traces and layout; its JSON cannot end the element it stands in."""
    data = {"traces": traces, "layout": layout}
    text = json.dumps(data, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return Chart(name, title, text.replace("<", "\\u003c").replace("&", "\\u0026"))


def short(values: Iterable[float]) -> list[float]:
    """Return numbers with six digits, which is more than a screen shows."""
    return [float(f"{value:.6g}") for value in values]
