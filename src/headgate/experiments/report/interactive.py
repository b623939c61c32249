"""Regret curves to hover, to zoom, and to switch between logarithmic and linear axes: plotly, inside of the page."""

from __future__ import annotations

from typing import Any

import numpy as np

from headgate.experiments import curves
from headgate.experiments.base import Part
from headgate.experiments.logged.ednet import measure_of
from headgate.figures.interactive import Chart, chart, short
from headgate.figures.regret import Curve
from headgate.simulation import Result

_DASHES = {"-": "solid", "--": "dash", ":": "dot"}
_BAND = 0.13  # opacity of the band of one standard deviation


def charts(part: Part) -> list[Chart]:
    """Return a chart for each simulation of an experiment; its title is the simulation's key."""
    return [_chart(part, key, result) for key, result in part.outcome.results.items() if not key.startswith("delta-")]


def _chart(part: Part, key: str, result: Result) -> Chart:
    measure = measure_of(part.outcome) if part.experiment.name == "ednet" else "regret"
    lines = curves.of_result(result, measure)
    arms, limit = getattr(part.config, "arms", None), part.outcome.numbers.get("information_limit")
    if arms is not None:
        lines += curves.references(result.rounds, int(arms), None if limit is None else float(limit))
    axis = {"type": "log", "gridcolor": "#e1e5e8", "zeroline": False}
    buttons = [
        {"label": kind, "method": "relayout", "args": [{"xaxis.type": short, "yaxis.type": short}]}
        for kind, short in (("logarithmic axes", "log"), ("linear axes", "linear"))
    ]
    layout = {
        "height": 460, "margin": {"l": 60, "r": 10, "t": 40, "b": 45}, "hovermode": "x unified",
        "paper_bgcolor": "#fff", "plot_bgcolor": "#fff",
        "xaxis": axis | {"title": {"text": "round"}},
        "yaxis": axis | {"title": {"text": "answers lost to x*" if measure == "realised" else "expected regret"}},
        "updatemenus": [
            {"type": "buttons", "direction": "right", "x": 0, "xanchor": "left", "y": 1.13, "buttons": buttons}
        ],
    }  # fmt: skip
    traces = [trace for line in lines for trace in _traces(line)]
    return chart(f"chart-{part.experiment.name}-{key}", key, traces, layout)


def _traces(line: Curve) -> list[dict[str, Any]]:
    """A curve, and the band of one standard deviation that comes and goes with it."""
    shared = {"legendgroup": line.label, "name": line.label}
    mean, rounds = short(line.mean), [int(t) for t in line.rounds]
    look = {"color": line.color, "width": line.width, "dash": _DASHES[line.line]}
    traces: list[dict[str, Any]] = [{**shared, "x": rounds, "y": mean, "mode": "lines", "line": look}]
    if line.spread is not None:
        ends = [*short(line.mean + line.spread), *short(np.maximum(line.mean - line.spread, 0.1 * line.mean))[::-1]]
        band = {"x": rounds + rounds[::-1], "y": ends, "fill": "toself", "fillcolor": line.color, "opacity": _BAND}
        quiet = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
        traces.append(shared | band | quiet)
    return traces
