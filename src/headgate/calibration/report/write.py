"""Everything a calibration leaves in a folder: the problem, the evidence, the numbers, the figures and the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import headgate
from headgate import files
from headgate.calibration.replay import LEAST, stops
from headgate.calibration.report import advice, differing, words
from headgate.calibration.report.arm_figure import draw_arm
from headgate.calibration.report.chart import draw_chart
from headgate.calibration.report.curves import curves_of
from headgate.calibration.report.data import as_data
from headgate.calibration.report.figures import draw_gains, draw_overview
from headgate.calibration.report.forest import draw_forest
from headgate.figures.interactive import plotly_script
from headgate.figures.page import write_page

if TYPE_CHECKING:
    from headgate.calibration.calibration import Calibration
    from headgate.calibration.fitting.choose import ArmFit

MOST = 40  # arms that are drawn one by one: of more, those with the most rows
_ARM = re.compile(r"arm-\d{3,}(-[A-Za-z0-9._-]*)?\.png")


def write(result: Calibration, folder: Path) -> Path:
    """Write problem.toml, evidence.json, calibration.json, figures/ and calibration.html; return the page's path."""
    figures = folder / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    for old in figures.iterdir():
        if _ARM.fullmatch(old.name):  # of a run before, perhaps of other arms
            old.unlink()
    files.write(folder / "problem.toml", result.problem.to_toml())
    evidence = result.log.evidence.to_dict(result.log.names)
    files.write(folder / "evidence.json", json.dumps(evidence, ensure_ascii=False))
    files.write(folder / "calibration.json", json.dumps(as_data(result), indent=1, ensure_ascii=False, allow_nan=False))
    drawn = sorted(sorted(range(len(result.arms)), key=lambda i: -result.arms[i].rows)[:MOST])
    fits = [(result.arms[i], draw_arm(result, i, figures / file_name(i, result.arms[i].name))) for i in drawn]
    curves, script = curves_of(result), plotly_script()
    return write_page(
        folder / "calibration.html",
        "calibration/report/page.html",
        title=words.name_of(result.reading.source),
        result=result,
        advices=[advice.advice(gain, result.log.units) for gain in result.gains],
        allocations=_allocations(result),
        warnings=advice.warning_lines(result),
        plotly=script,
        chart=draw_chart(result, curves) if script else None,
        gain_rows=[map(words.joined, line) for gain in result.gains for line in words.gain_cells(gain, "?")],
        arm_rows=[map(words.joined, words.arm_cells(arm)) for arm in result.arms],
        fits=[(arm.name, path, _caption(arm)) for arm, path in fits],
        overview=draw_overview(result, curves, figures / "overview.png"),
        gains=draw_gains(result, figures / "gains.png"),
        forest=None if result.features is None else draw_forest(result.features, figures / "features.png"),
        differing=differing,
        **_tables(result),
        gap=words.gap(result),
        times=words.times_advice(result),
        stopped=stops(result.log),
        least=LEAST,
        version=headgate.__version__,
    )


def _allocations(result: Calibration) -> list[tuple[str, list[str], list[list[str]]]]:
    """For each budget its caption, and a table of what every arm gets and earns."""
    units = f" {result.log.units}" if result.log.units else ""
    return [
        (
            f"{gain.budget:g}{units}",
            advice.allocation_heads(gain),
            advice.allocation_cells(gain, result.problem.names),
        )
        for gain in result.gains
    ]


def _tables(result: Calibration) -> dict[str, list[list[str]]]:
    """The lines of what is said of rounds that differ."""
    features, rounds = result.features, result.rounds
    tables = {
        "coefficient_rows": [differing.coefficient_cells(c) for c in features.coefficients] if features else [],
        "feature_rows": differing.feature_gain_cells(features) if features else [],
        "round_rows": differing.round_gain_cells(rounds) if rounds else [],
    }
    return {name: [[words.joined(cell) for cell in line] for line in lines] for name, lines in tables.items()}


def _caption(arm: ArmFit) -> str:
    others = [f"{name} {value - min(arm.aic.values()):+.1f}" for name, value in list(arm.aic.items())[:4]]
    caption = f"AIC against the best: {', '.join(others)}. " if len(arm.aic) > 1 else ""
    return caption + " ".join(warning[0].upper() + warning[1:] + "." for warning in arm.warnings)


def file_name(number: int, name: str) -> str:
    """A safe name for an arm's figure.

    >>> file_name(3, "clasp/2.1.3 <h10>")
    'arm-003-clasp-2.1.3-h10.png'
    """
    safe = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.")[:40]
    return f"arm-{number:03d}{'-' if safe else ''}{safe}.png"
