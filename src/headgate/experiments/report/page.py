"""The page: one self-contained HTML file with figures, regrets, claims and configuration."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path

from headgate import files
from headgate.experiments.base import LEVEL, plain
from headgate.experiments.part import Part
from headgate.experiments.report import figures_claims, theory_claims  # noqa: F401  # figures first on the page
from headgate.experiments.report.claim import Claim, Verdict, all_claims
from headgate.experiments.report.slips import slips
from headgate.figures.page import document, image, row
from headgate.simulation import Result

_SIGN = {
    Verdict.HOLDS: ("ok", "✓"),
    Verdict.ONLY: ("only", "◐"),
    Verdict.FAILS: ("no", "✗"),
    Verdict.OPEN: ("open", "○"),
}
_PARTS = {
    "constant": "B = 700 s",
    "own": "B = the student's own time",
    "stochastic": "stochastic budgets",
    "adversarial": "adversarial budgets",
}


def write_page(place: Path, parts: Sequence[Part]) -> Path:
    """Write `index.html` from what is finished, and `claims.json` beside it."""
    finished = {part.experiment.name: part for part in parts}
    claims = all_claims(finished)
    figures = [part for part in parts if part.figure is not None]
    body = [
        _head(parts, claims),
        "<nav>"
        + "".join(f'<a href="#{p.experiment.name}">{escape(p.experiment.title)}</a>' for p in figures)
        + "</nav>",
        *(_figure(part) for part in figures),
        _claims(claims),
        _slips(slips(finished)),
        _configuration(parts),
    ]
    files.write(place / "claims.json", json.dumps([asdict(c) for c in claims], indent=1, ensure_ascii=False))
    return files.write(place / "index.html", document("The paper reproduced", body))


def write_demo_page(place: Path, parts: Sequence[Part], quiz: Path) -> Path:
    """Write the demo's `index.html`: the quiz solved, and the races."""
    body = [
        "<header><p class='over'>Headgate</p><h1>A budget, some options, and what comes out</h1>"
        "<p>An option pays if it is active and gets enough; when it fails, nobody says which it was. Below: the best "
        "split of a quiz's time when everything is known, and four policies that know nothing and learn.</p></header>",
        "<section><h2>When everything is known</h2>"
        f"<figure>{image(quiz, 'The best split of the quiz')}<figcaption>Every curve is "
        "the chance of a right answer against the time given. At the best split all questions that are asked share one "
        "slope, the price of a second; the others get nothing.</figcaption></figure></section>",
        *(_figure(part) for part in parts),
        _configuration(parts),
    ]
    return files.write(place / "index.html", document("Headgate: the demo", body))


def _head(parts: Sequence[Part], claims: Sequence[Claim]) -> str:
    seconds = sum(part.seconds for part in parts)
    counts = [(verdict, sum(c.verdict is verdict for c in claims)) for verdict in Verdict]
    tally = " ".join(f'<span class="{_SIGN[v][0]} chip">{_SIGN[v][1]} {n} {escape(v)}</span>' for v, n in counts if n)
    return (
        "<header><p class='over'>Headgate</p><h1>Learning to Allocate Resources with Censored Feedback, "
        "reproduced</h1><p>Every figure of the paper run again, with the algorithm as it is written, with the "
        "constants that bring the paper's curves back, with the baselines, and with Thompson sampling on the cure "
        "model. Below the figures: each claim, what we found, and the number that shows it.</p><p "
        f"class='tally'>{tally}</p><p class='quiet'>{sum(p.figure is not None for p in parts)} figures, "
        f"{_duration(seconds)} of computing.</p></header>"
    )


def _figure(part: Part) -> str:
    if part.figure is None or not part.figure.is_file():
        return ""
    e = part.experiment
    caption = e.caption(part.config, part.outcome)
    tables = "".join(
        _table(key, result) for key, result in part.outcome.results.items() if not key.startswith("delta-")
    )
    details = f"<details open><summary>Final regrets</summary>{tables}</details>" if tables else ""
    return (
        f'<section id="{e.name}"><h2>{escape(e.title)}</h2><p class="quiet">{escape(e.paper)}. Data: '
        f"{escape(part.outcome.source)}. {_duration(part.seconds)}.</p>"
        f"<figure>{image(part.figure, e.title)}"
        f"<figcaption>{escape(caption)}</figcaption></figure>{details}</section>"
    )


def _table(key: str, result: Result) -> str:
    rows = sorted(result.summary(LEVEL), key=lambda s: s.regret)
    head = ("policy", "regret", f"{LEVEL:.0%} interval", "sd", "realised", "of optimum")
    cells = [
        (
            s.policy,
            f"{s.regret:,.1f}",
            "" if math.isnan(s.low) else f"{s.low:,.1f} to {s.high:,.1f}",
            "" if math.isnan(s.spread) else f"{s.spread:,.1f}",
            f"{s.realised:,.1f}",
            f"{s.share:.1%}",
        )
        for s in rows
    ]
    title = f"<caption>{escape(_PARTS[key])}</caption>" if key in _PARTS else ""
    body = row(head, "th") + "".join(row(c) for c in cells)
    return f'<div class="wide"><table class="numbers">{title}{body}</table></div>'


def _claims(claims: Sequence[Claim]) -> str:
    items = "".join(
        f'<article class="{_SIGN[c.verdict][0]}"><div><h3>{escape(c.where)}</h3><p '
        f'class="says">{escape(c.says)}</p></div>'
        f'<div><span class="chip {_SIGN[c.verdict][0]}">{_SIGN[c.verdict][1]} {escape(c.verdict)}</span>'
        f"<p>{escape(c.found)}</p></div></article>"
        for c in claims
    )
    return f'<section id="claims"><h2>The claims, one by one</h2>{items}</section>'


def _slips(found: Sequence[str]) -> str:
    if not found:
        return ""
    return f"<section><h2>Slips</h2><ul>{''.join(f'<li>{escape(text)}</li>' for text in found)}</ul></section>"


def _configuration(parts: Sequence[Part]) -> str:
    rows = ""
    for part in parts:
        config = ", ".join(f"{key} {_plain(value)}" for key, value in plain(part.config).items())
        rows += row((part.experiment.name, config, str(part.seed), _duration(part.seconds)))
    versions = {name: v for part in parts for name, v in part.versions.items()}
    listed = ", ".join(f"{name} {v}" for name, v in {"python": platform.python_version(), **versions}.items())
    return (
        '<section><h2>Configuration</h2><div class="wide"><table>'
        f"{row(('experiment', 'configuration', 'seed', 'time'), 'th')}{rows}</table></div><p>Regret is the expected "
        "reward of the optimum less that of what was played, added up over rounds; “realised” counts successes in "
        "the same world instead. Intervals are of the mean, by Student's t over runs. Every policy meets the same "
        "random numbers.</p>"
        f'<p class="quiet">{escape(listed)}; {escape(platform.platform())}.</p></section>'
    )


def _plain(value: object) -> str:
    return " / ".join(map(str, value)) if isinstance(value, list) else str(value)


def _duration(seconds: float) -> str:
    """Say how long.

    >>> _duration(3.21), _duration(754.0)
    ('3.2 s', '12 min 34 s')
    """
    return f"{seconds:.1f} s" if seconds < 60.0 else f"{int(seconds // 60)} min {int(seconds % 60)} s"
