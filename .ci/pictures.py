"""The pictures of docs/ and of the README: `make pictures` makes them all again, from the package's own functions.

Those of worked logs need the data beside the repository, the dashboard needs Chromium; what is not at hand is said and
left as it is. Names make only some: `python .ci/pictures.py edges dashboard`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import headgate as hg
from headgate.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
DATA = ROOT.parent / "shared" / "data"
# Of each worked log: its file, the options of `headgate calibrate` as in docs/examples, and which figure becomes which
# picture.
_EDNET = "--format ednet-pseudo --times all --law weibull -b 200 -b 400"
LOGS = (
    (
        "ednet_pseudo_users.csv",
        _EDNET,
        {"overview": "ednet-curves", "gains": "ednet-gains", "arm-*-q4135": "ednet-q4135"},
    ),
    ("ednet_pseudo_users.csv", f"{_EDNET} --trim 0.025,0.975", {"arm-*-q4135": "ednet-q4135-trimmed"}),
    (
        "aslib_runs.csv.gz",
        "--arm algorithm --success ok --threshold runtime --allocation cutoff --units s --where scenario=BNSL-2016"
        " --round instance_id -b 20 -b 200 -b 2000",
        {"overview": "aslib-curves", "gains": "aslib-gains", "arm-*-ilp-141": "aslib-ilp-141"},
    ),
    (
        "bank_marketing.csv",
        "--arm month --success y --threshold campaign --allocation campaign --units calls --whole -b 6 -b 12 -b 24",
        {"overview": "bank-curves", "gains": "bank-gains", "arm-*-aug": "bank-aug"},
    ),
)


def arm(figure: Figure) -> None:
    """Thresholds, the curve, and what is seen."""
    law, p, rate = hg.Weibull(1.8), 0.7, 1 / 20
    x = np.linspace(0.0, 60.0, 300)
    left, middle, right = figure.subplots(1, 3)
    left.fill_between(x, p * law.pdf(x, rate), color=style.BLUE, alpha=0.3)
    left.set(title="thresholds of the active", xlabel="threshold", yticks=[])
    middle.plot(x, p * law.cdf(x, rate), color=style.BLUE)
    middle.axhline(p, color=style.QUIET, lw=0.8, ls="--")
    middle.set(title="chance of a success", xlabel="allocation", ylim=(0, 1))
    middle.annotate("activation p", (1, p + 0.02), color=style.QUIET)
    rng = np.random.default_rng(3)
    given = rng.uniform(5.0, 55.0, 24)
    needs = np.where(rng.random(24) < p, law.sample(np.full(24, rate), rng), np.inf)
    won = needs <= given
    row = np.arange(24)
    right.hlines(row, 0, np.where(won, needs, given), color=style.FAINT)
    right.plot(needs[won], row[won], "o", color=style.GREEN, ms=4, label="threshold seen")
    right.plot(given[~won], row[~won], "x", color=style.VERMILLION, ms=4, label="failed: why?")
    right.set(title="what is seen", xlabel="allocation", yticks=[], xlim=(-1, 90))
    right.legend(loc="lower right", fontsize=7)


def ridge(figure: Figure) -> None:
    """Two arms that agree up to 20."""
    axes, law, x = figure.subplots(), hg.Weibull(1.8), np.linspace(0.0, 80.0, 300)
    slow = 1 / 45
    seen = np.linspace(0.0, 20.0, 60)
    goal = 0.9 * law.cdf(seen, slow)
    grid = [(p, r) for p in np.linspace(0.2, 0.5, 61) for r in np.geomspace(1 / 45, 1 / 15, 121)]
    p, r = min(grid, key=lambda pair: float(np.abs(pair[0] * law.cdf(seen, pair[1]) - goal).max()) + (pair[0] > 0.4))
    axes.axvspan(0, 20, color=style.FAINT, alpha=0.5, lw=0)
    axes.plot(x, 0.9 * law.cdf(x, slow), color=style.BLUE, label="p = 0.9, slow")
    axes.plot(x, p * law.cdf(x, r), color=style.VERMILLION, label=f"p = {p:.2f}, fast")
    axes.set(xlabel="allocation", ylabel="chance of a success", ylim=(0, 1))
    axes.annotate("all that was tried", (1, 0.93), color=style.QUIET)
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.08))


def shapes(figure: Figure) -> None:
    """The same budget on concave and on S-shaped arms: even, and best."""
    for axes, law, title in zip(
        figure.subplots(1, 2, sharey=True), (hg.Exponential(), hg.Weibull(3.0)), ("concave", "S-shaped"), strict=True
    ):
        problem, x = hg.Problem(law, [0.9, 0.8], [1 / 14, 1 / 20]), np.linspace(0.0, 40.0, 300)
        best, budget = problem.solve(24.0), 24.0
        even = float(problem.expected_reward([budget / 2] * 2))
        for i, colour in enumerate((style.BLUE, style.ORANGE)):
            axes.plot(x, problem.activation[i] * law.cdf(x, problem.rate[i]), color=colour)
            for amount, mark in ((budget / 2, "o"), (float(best.x[i]), "*")):
                height = problem.activation[i] * float(law.cdf(amount, problem.rate[i]))
                axes.plot(
                    amount,
                    height,
                    mark,
                    color=colour,
                    ms=11 if mark == "*" else 6,
                    mfc="white" if mark == "o" else colour,
                )
        axes.set(
            xlabel="allocation", title=f"{title}: even (o) {even:.2f}, best (*) {float(best.value):.2f}", ylim=(0, 1)
        )


def quiz() -> None:
    """The demo's quiz: solved, and one student's live round."""
    from headgate.experiments.live import play_quiz
    from headgate.figures import draw_allocation

    problem = hg.datasets.ednet_quiz()
    title = "20 questions, 400 seconds: where the time should go"
    draw_allocation(problem, problem.solve(400.0), IMAGES / "quiz.png", title=title)
    play_quiz(problem, (400.0,), IMAGES / "live.png", drawn=400.0, rounds=20, runs=1)


def logs() -> None:
    """Worked logs, where their data is."""
    for file, options, wanted in LOGS:
        if not (DATA / file).exists():
            print(f"{', '.join(wanted.values())}: left as they are, ../shared/data/{file} is not here")
            continue
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            command = [sys.executable, "-m", "headgate.cli", "calibrate", str(DATA / file)]
            subprocess.run([*command, *shlex.split(options), "--out", str(out)], check=True)
            for figure, image in wanted.items():
                (source,) = (out / "figures").glob(f"{figure}.png")
                shutil.copy(source, IMAGES / f"{image}.png")


def model() -> None:
    """The model in three pictures."""
    for name, size, draw in (
        ("model-arm", (9.0, 2.8), arm),
        ("model-ridge", (6.0, 3.2), ridge),
        ("model-shapes", (8.0, 3.2), shapes),
    ):
        style.write(IMAGES / f"{name}.png", size, draw)


def edges() -> None:
    """Regret against the number of edges; the table of docs/service.md is what this prints. Takes minutes."""
    from headgate.bench.edges import draw

    for line, means in draw(IMAGES / "edges.png").items():
        print(line, [round(mean) for mean in means])


def dashboard() -> None:
    """The dashboard of a simulated classroom, after two minutes of it, in Chromium."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        print("dashboard.png: left as it is, there is no Chromium here")
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "headgate.cli", "serve", "--demo", "--port", "0"]
        database = {"HEADGATE_DATABASE": f"sqlite:///{folder}/headgate.db"}
        server = subprocess.Popen(
            command, env=os.environ | database, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True
        )
        try:
            address = next(found[0] for line in server.stdout or () if (found := re.search(r"http://[\d.:]+", line)))
            with sync_playwright() as playwright:
                opened = playwright.chromium.launch(
                    executable_path=browser, args=["--no-sandbox", "--disable-background-networking"]
                )
                page = opened.new_page(viewport={"width": 1360, "height": 1500})
                page.goto(address)
                page.wait_for_timeout(120_000)  # the classroom learns
                page.goto(f"{address}/allocators/classroom")
                page.wait_for_selector("html[data-shown]", state="attached")
                page.wait_for_timeout(2_000)
                page.screenshot(path=IMAGES / "dashboard.png")
                opened.close()
        finally:
            server.terminate()
            server.wait()


MADE: dict[str, tuple[Callable[[], None], tuple[str, ...]]] = {
    "model": (model, ("model-arm", "model-ridge", "model-shapes")),
    "quiz": (quiz, ("quiz", "live")),
    "logs": (logs, tuple(image for _, _, wanted in LOGS for image in wanted.values())),
    "edges": (edges, ("edges",)),
    "dashboard": (dashboard, ("dashboard",)),
}
"""What makes which pictures; a test compares it with docs/images."""


def main() -> None:
    """Make them all, or those that are named."""
    for name in sys.argv[1:] or MADE:
        make, pictures = MADE[name]
        make()
        print(f"{name}: {', '.join(f'docs/images/{picture}.png' for picture in pictures)}")


if __name__ == "__main__":
    main()
