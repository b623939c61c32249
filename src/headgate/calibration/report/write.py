"""Everything a calibration leaves in a folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from headgate import files
from headgate.calibration.report.arm_figure import draw_arm
from headgate.calibration.report.data import as_data
from headgate.calibration.report.figures import draw_gains, draw_overview
from headgate.calibration.report.page import page

if TYPE_CHECKING:
    from headgate.calibration.calibration import Calibration

MOST = 40  # arms that are drawn one by one: of more, those with the most rows
_ARM = re.compile(r"arm-\d{3,}(-[A-Za-z0-9._-]*)?\.png")


def write(result: Calibration, folder: Path) -> Path:
    """Write problem.toml, calibration.json, figures/ and calibration.html; return the page's path."""
    figures = folder / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    for old in figures.iterdir():
        if _ARM.fullmatch(old.name):  # of a run before, perhaps of other arms
            old.unlink()
    files.write(folder / "problem.toml", result.problem.to_toml())
    files.write(folder / "calibration.json", json.dumps(as_data(result), indent=1, ensure_ascii=False, allow_nan=False))
    overview = draw_overview(result, figures / "overview.png")
    gains = draw_gains(result, figures / "gains.png")
    drawn = sorted(sorted(range(len(result.arms)), key=lambda i: -result.arms[i].rows)[:MOST])
    arms = {
        i: draw_arm(
            result.arms[i], figures / file_name(i, result.arms[i].name), units=result.log.units, level=result.level
        )
        for i in drawn
    }
    return files.write(folder / "calibration.html", page(result, overview, gains, arms))


def file_name(number: int, name: str) -> str:
    """A safe name for an arm's figure.

    >>> file_name(3, "clasp/2.1.3 <h10>")
    'arm-003-clasp-2.1.3-h10.png'
    """
    safe = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.")[:40]
    return f"arm-{number:03d}{'-' if safe else ''}{safe}.png"
