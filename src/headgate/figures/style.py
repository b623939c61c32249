"""How every figure looks, and how it is written to a file."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from headgate import files
from headgate.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, told apart with any colour vision.
BLUE, VERMILLION, ORANGE, GREEN = "#0072B2", "#D55E00", "#E69F00", "#009E73"
CYCLE = (BLUE, VERMILLION, GREEN, ORANGE, "#CC79A7", "#56B4E9", "#7A5C00", "#444444")
"""For lines that are told apart by colour alone, again and again."""
INK, QUIET, FAINT = "#222222", "#8A8A8A", "#D9D9D9"

_STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.0,
    "text.color": INK,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11.0,
    "axes.titleweight": "bold",
    "axes.titlepad": 10.0,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "svg.hashsalt": "headgate",
    "pdf.fonttype": 42,
}

# Without dates the same figure is the same file.
_METADATA: dict[str, dict[str, None]] = {
    ".png": {},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}


def suffix_of(path: str | Path) -> str:
    """Return how the figure will be written: .png, .pdf or .svg, or raise."""
    suffix = Path(path).suffix.lower()
    if suffix not in _METADATA:
        raise InputError(f"a figure's file name must end in {', '.join(_METADATA)}, got {str(path)!r}")
    return suffix


class Picture(Figure):
    """A figure that every notebook shows, whatever backend matplotlib has."""

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=110, facecolor="white")
        return content.getvalue()


def show(path: str | Path | None, size: tuple[float, float], draw: Callable[[Figure], None]) -> Any:
    """Draw a figure of `size` inches and return it; if there is a path, write it there and return that."""
    if path is not None:
        return write(path, size, draw)
    with mpl.rc_context(_STYLE):
        figure = Picture(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08))
        draw(figure)
    return figure


def write(path: str | Path, size: tuple[float, float], draw: Callable[[Figure], None]) -> Path:
    """Draw a figure of `size` inches in Headgate's style and write it to `path`, whose folder must exist."""
    suffix = suffix_of(path)
    with mpl.rc_context(_STYLE):
        layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08)
        figure = Figure(figsize=size, dpi=160)
        draw(figure)
        layout.execute(figure)  # here: a figure that has a layout engine is drawn a second time for it
        content = io.BytesIO()
        figure.savefig(content, format=suffix[1:], metadata=_METADATA[suffix], facecolor="white")
    return files.write(path, content.getvalue())


def spread(heights: list[float], apart: float) -> list[float]:
    """Move heights up and down as little as is simple, so that neighbours are at least `apart`.

    Each run of crowded heights becomes an evenly spaced block around its own mean.

    >>> spread([0.0, 0.0, 5.0], apart=1.0)
    [-0.5, 0.5, 5.0]
    """
    order = sorted(range(len(heights)), key=heights.__getitem__)
    blocks: list[list[int]] = []  # arms in order of height; a block is centred on the mean of its heights
    bottoms: list[float] = []
    for arm in order:
        block = [arm]
        while True:
            middle = sum(heights[i] for i in block) / len(block)
            bottom = middle - apart * (len(block) - 1) / 2.0
            if not blocks or bottoms[-1] + apart * len(blocks[-1]) <= bottom:
                break
            block = blocks.pop() + block
            bottoms.pop()
        blocks.append(block)
        bottoms.append(bottom)
    placed = dict.fromkeys(order, 0.0)
    for block, bottom in zip(blocks, bottoms, strict=True):
        for place, arm in enumerate(block):
            placed[arm] = bottom + apart * place
    return [placed[i] for i in range(len(heights))]


def _not_below(heights: list[float], apart: float) -> list[float]:
    """Lift what lies below 0, and what would then be too close to it.

    >>> _not_below([-0.5, 0.25, 3.0], apart=0.5)
    [0.0, 0.5, 3.0]
    """
    lifted = list(heights)
    least = 0.0
    for place in sorted(range(len(heights)), key=heights.__getitem__):
        lifted[place] = max(heights[place], least)
        least = lifted[place] + apart
    return lifted


def label_ends(axes: Axes, ends: list[tuple[float, str, Any]], inches: float, size: float = 8.0) -> None:
    """Label curves where they leave the axes on the right, with a thin line from each end to its label.

    `ends` has the height, label and colour of each; `inches` is how high the axes are. A height beyond the axes counts
    as their end. Limits and scales must be set before.
    """
    low, right = axes.get_ylim()[0], axes.get_xlim()[1]
    within = axes.transScale + axes.transLimits  # from data to shares of the axes
    heights = [min(max(float(within.transform((right, max(end, low)))[1]), 0.0), 1.0) for end, _, _ in ends]
    places = spread(heights, apart=1.3 * size / 72.0 / inches)
    above = max(0.0, max(places) - 1.0)
    places = _not_below([place - above for place in places], apart=1.3 * size / 72.0 / inches)
    for (_, label, color), height, place in zip(ends, heights, places, strict=True):
        leader = [height, place]
        axes.plot([1.0, 1.025], leader, color=color, linewidth=0.6, clip_on=False, transform=axes.transAxes)
        text = label.replace("$", r"\$")  # a name is text, not mathematics
        axes.text(1.032, place, text, color=color, fontsize=size, va="center", transform=axes.transAxes)


def with_units(what: str, units: str | None) -> str:
    """The label of an axis.

    >>> with_units("budget", "s"), with_units("budget", None)
    ('budget (s)', 'budget')
    """
    return f"{what} ({units})" if units else what
