"""Figure "Criteo fit": impressions up to the first click of three campaigns; ours unless Criteo's log is given.

The log may not be shipped: 16.5 million impressions with timestamp, user, campaign and click among their columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from headgate.calibration.fitting.choose import ArmFit, fit_arms
from headgate.calibration.fitting.points import of_rows
from headgate.calibration.log import Rows
from headgate.calibration.reading import Criteo, read_log
from headgate.datasets.criteo import campaigns
from headgate.experiments.base import Experiment, Outcome, Setting
from headgate.figures import fit
from headgate.laws import DiscreteWeibull

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

FILES = ("criteo_attribution_dataset.tsv.gz", "criteo_attribution_dataset.tsv")
OURS = "Semi-synthetic campaigns of ours, not Criteo's data"
ARMS = 15


@final
@dataclass(frozen=True, slots=True)
class Config:
    """Which campaigns, how many clicks of each are drawn, how far the figure reaches."""

    names: tuple[str, ...] = ("c01", "c07", "c09")
    clicks: int = 5000
    most: int = 20


def fit_clicks(rows: Rows, names: Sequence[str]) -> list[ArmFit]:
    """Fit a discrete Weibull law to each campaign's first clicks as the paper does: given that there was one.

    The activation is the share of users who clicked: a lower bound, since more impressions might have won more.
    """
    points = of_rows(rows, len(names), "successes", whole=True)
    return fit_arms(points, names, law=DiscreteWeibull.name, whole=True)


def run(config: Config, setting: Setting) -> Outcome:
    """Fit the campaigns of the log with the most clicks; without it, draw clicks from our own and fit them again."""
    path = setting.file(*FILES)
    if path is not None:
        log = read_log(path, Criteo(campaigns=ARMS))
        fits = sorted(fit_clicks(log.rows, log.names), key=lambda fit: -fit.successes)[: len(config.names)]
        return Outcome(f"Criteo's log, {path.name}", numbers={"panels": [_panel(fit) for fit in fits]})
    problem, rng = campaigns(), np.random.default_rng([setting.seed, 15])
    panels = []
    for name in config.names:
        arm = problem.arm(name)
        law, rate = problem.law.of_arm(arm), float(problem.rate[arm])
        needed, count = np.unique(law.sample(rate, rng, config.clicks), return_counts=True)
        same = np.ones(needed.size)
        rows = Rows(0 * count, np.inf * same, same > 0.0, needed, count)
        truth = {"true_shape": float(law.shapes()["shape"]), "true_rate": rate}
        panels.append({**_panel(fit_clicks(rows, [name])[0]), **truth})
    return Outcome(OURS, numbers={"panels": panels})


def ours(outcome: Outcome) -> bool:
    """Whether the campaigns are made up."""
    return outcome.source == OURS


def _panel(fit: ArmFit) -> dict[str, Any]:
    place, clicks = fit.points.seen[:, 0].astype(np.int64), fit.points.seen_weight[:, 0]
    counts = np.bincount(place, weights=clicks).astype(np.int64)[1:]
    return {"name": fit.name, "shape": fit.shape, "rate": fit.rate, "ks": fit.ks, "counts": counts.tolist()}


def draw(config: Config, outcome: Outcome, figure: Figure) -> None:
    """One panel for each campaign."""
    n = np.arange(1, config.most + 1)
    source = "simulated clicks (ours)" if ours(outcome) else "logged clicks"
    every = figure.subplots(1, len(config.names), squeeze=False)[0]
    for axes, panel in zip(every, outcome.numbers["panels"], strict=True):
        counts = np.array(panel["counts"], dtype=np.float64)
        shares = np.zeros(config.most)
        shares[: counts.size] = (counts / counts.sum())[: config.most]
        law, title = DiscreteWeibull(shape=panel["shape"]), f"{panel['name']}: shape {panel['shape']:.2f}"
        fit.draw_counts(axes, shares, law.pdf(n, panel["rate"]), title, source)


def caption(config: Config, outcome: Outcome) -> str:
    """Say whose data this is."""
    if not ours(outcome):
        return f"{outcome.source}: the three campaigns with the most clicks, and discrete Weibull laws fitted to them."
    return (
        f"{outcome.source}. {config.clicks:,} clicks of each of three campaigns, drawn from their discrete Weibull "
        "laws and fitted again by maximum likelihood. Criteo's log may not be shipped, so this shows the form of the "
        "paper's figure and that the fit finds the truth, not that Criteo's campaigns follow such a law."
    )


EXPERIMENT = Experiment(
    name="criteo-fit",
    title="Campaigns: impressions up to the first click",
    paper="Figure “Criteo fit”: discrete Weibull laws for three campaigns",
    full=Config(),
    run=run,
    draw=draw,
    caption=caption,
    size=(11.0, 3.4),
    inputs=FILES,
)
