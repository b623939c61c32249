"""The pages: one self-contained HTML file with figures, regrets, claims and configuration; the demo's is alike."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headgate import files
from headgate.experiments.base import LEVEL, Part, plain
from headgate.experiments.customers import Calls
from headgate.experiments.live import LiveQuiz
from headgate.experiments.report import interactive
from headgate.experiments.report.claim import all_claims, slips
from headgate.experiments.report.judge import mean_of
from headgate.figures.interactive import plotly_script
from headgate.figures.page import write_page
from headgate.laws import Floats
from headgate.simulation import Result

_PARTS = {
    "constant": "B = 700 s",
    "own": "B = the student's own time",
    "stochastic": "stochastic budgets",
    "adversarial": "adversarial budgets",
    "cure": "laws by the cure model, censored at the users' exposures",
}


def write_reproduction(place: Path, parts: Sequence[Part]) -> Path:
    """Write `index.html` from what is finished, and `claims.json` beside it."""
    finished = {part.experiment.name: part for part in parts}
    claims = all_claims(finished)
    files.write(place / "claims.json", json.dumps([asdict(c) for c in claims], indent=1, ensure_ascii=False))
    script = plotly_script()
    context: dict[str, Any] = {"title": "The paper reproduced", "claims": claims, "slips": slips(finished)}
    context |= {"plotly": script, "charts": interactive.charts if script else lambda _: ()}
    return write_page(place / "index.html", "experiments/report/page.html", **_shown(parts) | context)


def write_demo(place: Path, parts: Sequence[Part], quiz: Path, live: LiveQuiz, calls: Calls, why: str) -> Path:
    """Write the demo's `index.html`: the quiz solved, played live, calls to customers, and the races."""
    context = {"title": "Headgate: the demo", "quiz": quiz, "live": live, "calls": calls, "why": why}
    return write_page(place / "index.html", "experiments/report/demo.html", **context, **_shown(parts))


def _shown(parts: Sequence[Part]) -> dict[str, Any]:
    """What both pages are made of: the experiments, those among them with a figure, and how to put them in words."""
    versions = {name: version for part in parts for name, version in part.versions.items()}
    listed = [f"{name} {version}" for name, version in {"python": platform.python_version(), **versions}.items()]
    return {
        "parts": parts,
        "drawn": [part for part in parts if part.figure is not None and part.figure.is_file()],
        "versions": f"{', '.join(listed)}; {platform.platform()}",
        "level": f"{LEVEL:.0%}",
        "captions": _PARTS,
        "charts": lambda _: (),
        "duration": _duration,
        "regrets": _regrets,
        "configured": _configured,
    }


def _regrets(result: Result) -> list[tuple[str, ...]]:
    """The policies, the best first.

    Mean, interval and spread of regret; how much more it is than that of the best, over the same runs; what was
    realised; and the share of the optimum.
    """
    ranked = sorted(result.summary(LEVEL), key=lambda s: s.regret)
    least = result.regret[ranked[0].policy][:, -1]
    return [
        (
            s.policy,
            f"{s.regret:,.1f}",
            "" if math.isnan(s.low) else f"{s.low:,.1f} to {s.high:,.1f}",
            "" if math.isnan(s.spread) else f"{s.spread:,.1f}",
            "" if s is ranked[0] or least.size < 2 else _paired(result.regret[s.policy][:, -1] - least),
            f"{s.realised:,.1f}",
            f"{s.share:.1%}",
        )
        for s in ranked
    ]


def _paired(differences: Floats) -> str:
    more = mean_of(differences)
    return f"{more.value:+,.1f} ({more.low:+,.1f} to {more.high:+,.1f})"


def _configured(config: Any) -> str:
    """A configuration in one line: 'rounds 60, runs 2'."""
    texts = {key: " / ".join(map(str, v)) if isinstance(v, list) else v for key, v in plain(config).items()}
    return ", ".join(f"{key} {text}" for key, text in texts.items())


def _duration(seconds: float) -> str:
    """Say how long.

    >>> _duration(3.21), _duration(754.0)
    ('3.2 s', '12 min 34 s')
    """
    return f"{seconds:.1f} s" if seconds < 60.0 else f"{int(seconds // 60)} min {int(seconds % 60)} s"
