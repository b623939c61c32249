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


def write(path: str | Path, size: tuple[float, float], draw: Callable[[Figure], None]) -> Path:
    """Draw a figure of `size` inches in Headgate's style and write it to `path`, whose folder must exist."""
    suffix = suffix_of(path)
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08))
        draw(figure)
        content = io.BytesIO()
        figure.savefig(content, format=suffix[1:], dpi=160, metadata=_METADATA[suffix], facecolor="white")
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


def label_ends(axes: Axes, ends: list[tuple[float, str, str]], inches: float) -> None:
    """Label curves where they leave the axes on the right, with a thin line from each end to its label.

    `ends` has the height, label and colour of each; `inches` is how high the axes are.
    """
    size = 8.0
    left, right = axes.get_xlim()
    low, high = axes.get_ylim()
    places = spread([end[0] for end in ends], apart=(high - low) * 1.25 * size / 72.0 / inches)
    span = right - left
    for (height, label, color), place in zip(ends, places, strict=True):
        leader = [right, right + 0.035 * span]
        axes.plot(leader, [height, place], color=color, linewidth=0.5, clip_on=False, zorder=1)
        axes.text(right + 0.042 * span, place, label, color=color, fontsize=size, va="center")
