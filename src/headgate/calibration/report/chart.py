"""The response curves to hover and to zoom, the best allocation marked on them, by budget: a chart for plotly."""

from __future__ import annotations

from html import escape
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from headgate.figures import style
from headgate.figures.interactive import Chart, chart, short

if TYPE_CHECKING:
    from headgate.calibration.calibration import Calibration
    from headgate.calibration.report.curves import ArmCurve, Curves

_BAND = 0.15  # opacity of a band
_SHOWN = 6  # arms that are drawn at first, where there are more: the others wait in the legend


def draw_chart(result: Calibration, curves: Curves) -> Chart:
    """Return lines with bands, dots with intervals, and diamonds at the best allocation of a budget."""
    traces: list[dict[str, Any]] = []
    marks: list[int] = []
    for number, (arm, color) in enumerate(zip(curves.arms, cycle(style.CYCLE), strict=False)):
        shared = {"legendgroup": str(number), "visible": True if number < _SHOWN else "legendonly"}
        traces += [{**trace, **shared} for trace in _of_arm(result, curves, arm, color)]
        marks.append(len(traces) - 1)
    axis = {"gridcolor": "#e1e5e8", "zeroline": False, "automargin": True}
    layout = {
        "height": 560, "margin": {"l": 45, "r": 10, "t": 50, "b": 40}, "hovermode": "closest",
        "paper_bgcolor": "#fff", "plot_bgcolor": "#fff",
        "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"},
        "xaxis": axis | {
            "title": {"text": style.with_units("amount", result.log.units), "standoff": 6},
            "type": "log" if curves.logarithmic else "linear",
        },
        "yaxis": axis | {"title": {"text": "probability of success"}, "rangemode": "tozero"},
        "updatemenus": [_budgets(result, curves, marks)],
    }  # fmt: skip
    return chart("chart-curves", "Response curves", traces, layout)


def _of_arm(result: Calibration, curves: Curves, arm: ArmCurve, color: str) -> list[dict[str, Any]]:
    name = escape(arm.name, quote=False)  # plotly reads names as a little HTML
    x, steps = short(curves.x), {"shape": "hv" if result.log.whole else "linear"}
    line: dict[str, Any] = {"x": x, "y": short(arm.model), "mode": "lines", "name": name}
    line |= {"line": steps | {"color": color, "width": 2}}
    traces = [line]
    if arm.low is not None and arm.high is not None:
        traces.append({
            "x": x + x[::-1], "y": short(arm.high) + short(arm.low)[::-1], "mode": "lines", "fill": "toself",
            "fillcolor": color, "opacity": _BAND, "line": steps | {"width": 0}, "hoverinfo": "skip",
            "showlegend": False,
        })  # fmt: skip
    known = np.isfinite(arm.share)
    share = arm.share[known]
    traces.append({
        "x": short(arm.dots[known]), "y": short(share), "mode": "markers", "name": f"{name}, counted",
        "marker": {"color": color, "size": 6}, "showlegend": False,
        "error_y": {
            "type": "data", "symmetric": False, "array": short(arm.share_high[known] - share),
            "arrayminus": short(share - arm.share_low[known]), "thickness": 1, "width": 0,
        },
    })  # fmt: skip
    best = result.gains[-1].best
    traces.append({
        "x": short(best.x[[arm.arm]]), "y": short(best.model_by_arm[[arm.arm]]), "mode": "markers",
        "name": f"{name}, best", "showlegend": False,
        "marker": {"symbol": "diamond", "color": color, "size": 12, "line": {"color": "#222", "width": 1.5}},
    })  # fmt: skip
    return traces


def _budgets(result: Calibration, curves: Curves, marks: list[int]) -> dict[str, Any]:
    """Buttons that move the diamonds to the best allocation of another budget."""
    units = f" {result.log.units}" if result.log.units else ""
    buttons = [
        {
            "label": f"best of {gain.budget:g}{units}",
            "method": "restyle",
            "args": [
                {
                    "x": [short(gain.best.x[[arm.arm]]) for arm in curves.arms],
                    "y": [short(gain.best.model_by_arm[[arm.arm]]) for arm in curves.arms],
                },
                marks,
            ],
        }
        for gain in result.gains
    ]
    return {
        "type": "dropdown", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom",
        "active": len(buttons) - 1, "buttons": buttons,
    }  # fmt: skip
