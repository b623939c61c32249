"""Results as tables: data frames of whatever library is there, and HTML for notebooks.

A result that derives from `Shown` writes `columns` and `plot`; `to_frame` and its HTML follow. Neither pandas nor
polars is needed to import this, and neither is installed with Headgate alone.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Mapping
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from headgate.errors import InputError, UnsupportedError

Library = Literal["pandas", "polars"]
LIBRARIES: tuple[Library, ...] = ("pandas", "polars")
_ROWS = 12  # the most rows of a table in a notebook


class Shown:
    """A result that people look at: a short text, a data frame, a table in a notebook, and a figure."""

    __slots__ = ()

    @abstractmethod
    def columns(self) -> dict[str, Any]:
        """Return a tidy table as columns of one length."""

    @abstractmethod
    def plot(self, path: Any = None) -> Any:
        """Return a figure of matplotlib, or write it to a .png, .pdf or .svg file and return its path."""

    def to_frame(self, library: Library | None = None) -> Any:
        """Return `columns()` as a data frame.

        Parameters
        ----------
        library
            "pandas" or "polars"; by default the one that has been imported, else one that is installed, pandas first.
        """
        return frame(self.columns(), library)

    def _repr_html_(self) -> str:
        """Show the result in a notebook: its text, and the first rows of its table."""
        return html(repr(self), self.columns())


def frame(columns: Mapping[str, Any], library: Library | None = None) -> Any:
    """Return columns as a data frame of pandas or polars."""
    if library is not None and library not in LIBRARIES:
        raise InputError(f"library must be one of {', '.join(LIBRARIES)}, got {library!r}")
    chosen = library or _present()
    if chosen is None or find_spec(chosen) is None:
        raise UnsupportedError(
            f"a data frame needs {chosen or 'pandas or polars'}: pip install {chosen or 'pandas'}; "
            "columns() needs neither"
        )
    plain = {name: values.tolist() if hasattr(values, "tolist") else list(values) for name, values in columns.items()}
    return import_module(chosen).DataFrame(plain)


def _present() -> Library | None:
    """Return the library to use: imported before installed."""
    imported = [name for name in LIBRARIES if name in sys.modules]
    return next((name for name in (*imported, *LIBRARIES) if find_spec(name) is not None), None)


def html(title: str, columns: Mapping[str, Any]) -> str:
    """Return a table of the first rows as HTML, plain enough for every notebook's own style.

    >>> html("One", {"arm": ["<a>"], "x": [1.23456789]})
    '<div><pre>One</pre><table><tr><th>arm</th><th>x</th></tr><tr><td>&lt;a&gt;</td><td>1.235</td></tr></table></div>'
    """
    rows = list(zip(*columns.values(), strict=True))
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row) + "</tr>" for row in rows[:_ROWS]
    )
    more = f"<p>{len(rows) - _ROWS:,} more rows: <code>to_frame()</code></p>" if len(rows) > _ROWS else ""
    return f"<div><pre>{escape(title)}</pre><table><tr>{head}</tr>{body}</table>{more}</div>"


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
