"""Figure "Criteo fit": impressions up to the first click of three campaigns; ours unless Criteo's log is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from headgate.datasets.criteo import campaigns
from headgate.experiments.base import Experiment, Outcome, Setting
from headgate.experiments.logged import impressions
from headgate.laws import DiscreteWeibull

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OURS = "Semi-synthetic campaigns of ours, not Criteo's data"
ARMS = 15


@final
@dataclass(frozen=True, slots=True)
class Config:
    """Which campaigns, how many clicks of each are drawn, how far the figure reaches."""

    names: tuple[str, ...] = ("c01", "c07", "c09")
    clicks: int = 5000
    most: int = 20


def run(config: Config, setting: Setting) -> Outcome:
    """Fit the campaigns of the log with the most clicks; without it, draw clicks from our own and fit them again."""
    path = setting.file(*impressions.FILES)
    if path is not None:
        seen = impressions.read(path, ARMS)
        best = sorted(range(ARMS), key=lambda arm: -int(seen.counts[arm].sum()))[: len(config.names)]
        logged = [_panel(seen.names[arm], seen.counts[arm]) for arm in best]
        return Outcome(f"Criteo's log, {path.name}", numbers={"panels": logged})
    problem = campaigns()
    rng = np.random.default_rng([setting.seed, 15])
    panels = []
    for name in config.names:
        arm = problem.arm(name)
        law, rate = problem.law.of_arm(arm), float(problem.rate[arm])
        counts = np.bincount(law.sample(rate, rng, config.clicks).astype(np.int64))[1:]
        truth = {"true_shape": float(law.shapes()["shape"]), "true_rate": rate}
        panels.append({**_panel(name, counts), **truth})
    return Outcome(OURS, numbers={"panels": panels})


def ours(outcome: Outcome) -> bool:
    """Whether the campaigns are made up."""
    return outcome.source == OURS


def _panel(name: str, counts: NDArray[np.int64]) -> dict[str, Any]:
    shape, rate = impressions.fit_discrete(counts.astype(np.float64))
    law, n = DiscreteWeibull(shape=shape), np.arange(1, counts.size + 1)
    off = float(np.max(np.abs(np.cumsum(counts) / counts.sum() - law.cdf(n, rate))))
    return {"name": name, "shape": shape, "rate": rate, "ks": off, "counts": counts.tolist()}


def draw(config: Config, outcome: Outcome, figure: Figure) -> None:
    """One panel for each campaign."""
    from headgate.figures import fit  # noqa: PLC0415  # an extra, and not light

    n = np.arange(1, config.most + 1)
    for axes, panel in zip(
        figure.subplots(1, len(config.names), squeeze=False)[0], outcome.numbers["panels"], strict=True
    ):
        counts = np.array(panel["counts"], dtype=np.float64)
        shares = np.zeros(config.most)
        shares[: min(counts.size, config.most)] = (counts / counts.sum())[: config.most]
        law = DiscreteWeibull(shape=panel["shape"])
        title = f"{panel['name']}: shape {panel['shape']:.2f}"
        fit.draw_counts(
            axes,
            shares,
            law.pdf(n, panel["rate"]),
            title,
            "simulated clicks (ours)" if ours(outcome) else "logged clicks",
        )


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
    quick=Config(),
    run=run,
    draw=draw,
    caption=caption,
    size=(11.0, 3.4),
    inputs=impressions.FILES,
)
