"""Figure "Criteo fit": impressions up to the first click of three campaigns; ours unless Criteo's log is given.

The log may not be shipped: 16.5 million impressions with timestamp, user, campaign and click among their columns.
Beside the paper's fit, which looks at clickers alone, stands the cure model, which counts everybody; and both are
tried on a generated log whose truth is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from headgate.calibration.fitting.choose import ArmFit
from headgate.calibration.reading import Criteo, read_log
from headgate.calibration.report.arm_figure import draw_counts
from headgate.datasets.criteo import campaigns
from headgate.experiments.base import Experiment, Outcome, Setting, Table
from headgate.experiments.logged.exposures import CLICKERS, CURE, compare, described, draw_log, fit_both
from headgate.figures import style
from headgate.laws import DiscreteWeibull

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FILES = ("criteo_attribution_dataset.tsv.gz", "criteo_attribution_dataset.tsv")
OURS = "Semi-synthetic campaigns of ours, not Criteo's data"
ARMS = 15


@final
@dataclass(frozen=True, slots=True)
class Config:
    """Which campaigns are drawn, how many users see each campaign of the generated log, how far the figure reaches."""

    names: tuple[str, ...] = ("c01", "c07", "c11")
    pairs: int = 100_000
    most: int = 20


def run(config: Config, setting: Setting) -> Outcome:
    """Fit the campaigns of the log with the most clicks, or our own without it; and the generated log in any case."""
    problem, path = campaigns(), setting.file(*FILES)
    made = fit_both(draw_log(problem, config.pairs, np.random.default_rng([setting.seed, 15])), problem.names or ())
    generated = compare(problem, config.pairs, made)
    if path is not None:
        log = read_log(path, Criteo(campaigns=ARMS))
        fits, source = fit_both(log.rows, log.names), f"Criteo's log, {path.name}"
    else:
        fits, source = made, OURS
    pairs = list(zip(fits[CLICKERS], fits[CURE], strict=True))
    if path is not None:
        pairs = sorted(pairs, key=lambda both: -both[0].successes)[: len(config.names)]
    else:
        pairs = [both for both in pairs if both[0].name in config.names]
    return Outcome(source, numbers={"panels": [_panel(*both) for both in pairs], "generated": generated})


def ours(outcome: Outcome) -> bool:
    """Whether the campaigns are made up."""
    return outcome.source == OURS


def _panel(clickers: ArmFit, cure: ArmFit) -> dict[str, Any]:
    place, clicks = clickers.points.thresholds[:, 0].astype(np.int64), clickers.points.threshold_weight[:, 0]
    counts = np.bincount(place, weights=clicks).astype(np.int64)[1:]
    return {
        "name": clickers.name, "ks": clickers.ks, "counts": counts.tolist(),
        CLICKERS: described(clickers), CURE: described(cure),
    }  # fmt: skip


def draw(config: Config, outcome: Outcome, figure: Figure) -> None:
    """For each campaign clickers and their law above, and the chance of a click by both fits below."""
    n = np.arange(1, config.most + 1)
    source = "simulated clicks (ours)" if ours(outcome) else "logged clicks"
    truth = {row["name"]: row for row in outcome.numbers["generated"]["campaigns"]} if ours(outcome) else {}
    above, below = figure.subplots(2, len(config.names), squeeze=False)
    for top, bottom, panel in zip(above, below, outcome.numbers["panels"], strict=True):
        counts = np.array(panel["counts"], dtype=np.float64)
        shares, fit = np.zeros(config.most), panel[CLICKERS]
        shares[: counts.size] = (counts / counts.sum())[: config.most]
        draw_counts(top, shares, DiscreteWeibull(shape=fit["shape"]).pdf(n, fit["rate"]), source)
        top.set(title=f"{panel['name']}: shape {fit['shape']:.2f}, distance {panel['ks']:.3f}")
        top.set(xlabel="impressions up to the first click")
        top.legend(loc="upper right")
        _draw_chances(bottom, n, panel, panel["name"] if panel["name"] in truth else None)


def _draw_chances(axes: Axes, n: Any, panel: dict[str, Any], true: str | None) -> None:
    """The chance of a click within n impressions, p G(n): by clickers alone, by the cure model, and in truth."""
    if true is not None:
        known = campaigns()
        arm = known.arm(true)
        chance = known.activation[arm] * known.law.of_arm(arm).cdf(n, float(known.rate[arm]))
        axes.plot(n, chance, color=style.INK, linewidth=4.0, alpha=0.25, label="truth")
    for how, color, label in ((CLICKERS, style.VERMILLION, "clickers alone"), (CURE, style.BLUE, "cure model")):
        fit = panel[how]
        chance = fit["p"] * DiscreteWeibull(shape=fit["shape"]).cdf(n, fit["rate"])
        axes.plot(n, chance, color=color, linewidth=1.8, label=label)
    axes.set(xlabel="impressions given", ylabel="chance of a click", ylim=(0.0, None), xlim=(1, n[-1]))
    axes.legend(loc="lower right")


def caption(config: Config, outcome: Outcome) -> str:
    """Say whose data this is, and what a small distance is worth."""
    data = (
        f"{outcome.source}: what {config.pairs:,} users saw and did of each of three campaigns, whose truth is known. "
        "Criteo's log may not be shipped, so this shows the form of the paper's figure, not that Criteo's campaigns "
        "follow such a law."
        if ours(outcome)
        else f"{outcome.source}: the three campaigns with the most clicks."
    )
    return (
        f"{data} Above: first clicks and the discrete Weibull law fitted to clickers alone, as in the paper. Below: "
        "what both fits say of giving a user n impressions. A small distance among clickers proves nothing: they are "
        "those who needed no more impressions than they were shown, and their law is another one."
    )


def tables(config: Config, outcome: Outcome) -> list[Table]:  # noqa: ARG001  # every experiment's
    """Both fits beside the truth of the generated log, and what their x* earn by it."""
    generated = outcome.numbers["generated"]
    head = ("campaign", "p", "by clickers", "by the cure model", "typical impressions", "by clickers",
            "by the cure model", "distance among clickers")  # fmt: skip
    rows = [
        (
            row["name"],
            f"{row['p']:.2f}", f"{row[CLICKERS]['p']:.3f}", _interval(row[CURE], "p", ".3f"),
            f"{row['typical']:.1f}", f"{row[CLICKERS]['typical']:.2f}", _interval(row[CURE], "typical", ".2f"),
            f"{row[CLICKERS]['distance']:.4f}",
        )
        for row in generated["campaigns"]
    ]  # fmt: skip
    earned = [
        (
            f"{row['budget']:g}",
            f"{row['best']:.3f}",
            f"{row[CLICKERS] / row['best']:.1%}",
            f"{row[CURE] / row['best']:.1%}",
        )
        for row in generated["earned"]
    ]
    drawn = f"A generated log of {generated['pairs']:,} users a campaign, with 95% intervals of the cure model"
    worth = ("impressions of a user", "best split, clicks", "x* of clickers' fit", "x* of the cure model's")
    return [Table(drawn, head, rows), Table("What the x* of each fit earns by the truth", worth, earned)]


def _interval(fit: dict[str, Any], what: str, form: str) -> str:
    low, high = fit[f"{what}_interval"]
    return f"{fit[what]:{form}} ({low:{form}} to {high:{form}})"


EXPERIMENT = Experiment(
    name="criteo-fit",
    title="Campaigns: impressions up to the first click",
    paper="Figure “Criteo fit”: discrete Weibull laws for three campaigns",
    full=Config(),
    run=run,
    draw=draw,
    caption=caption,
    size=(11.0, 6.6),
    inputs=FILES,
    tables=tables,
)
