"""Figures that are drawn but not rendered, for tests of something else: pixels take most of a second a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from headgate import files
from headgate.figures import style


def _draw_only(path: str | Path, size: tuple[float, float], draw: Callable[[Figure], None]) -> Path:
    style.suffix_of(path)
    draw(Figure(figsize=size))
    return files.write(path, b"")


@contextmanager
def unrendered() -> Iterator[None]:
    """Let every figure be an empty file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(style, "write", _draw_only)
        yield
