"""Figure "EdNet fit": response times of question q4135 against the fitted truncated Weibull law."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from headgate.calibration.fitting.choose import fit_arms
from headgate.calibration.fitting.points import of_rows
from headgate.calibration.log import Rows
from headgate.calibration.reading import read_log
from headgate.calibration.report.arm_figure import draw_panels
from headgate.datasets import ednet_quiz
from headgate.experiments.base import Experiment, Outcome, Setting
from headgate.experiments.logged.ednet import FILE
from headgate.figures import style
from headgate.laws import Weibull

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True, slots=True)
class Config:
    """Which question, and which share of its times is kept."""

    question: str = "q4135"
    low: float = 0.025
    high: float = 0.975


def run(config: Config, setting: Setting) -> Outcome:
    """Fit the law to the times within the quantiles; without data, only the law in the package."""
    path = setting.file(FILE)
    if path is None:
        quiz = ednet_quiz()
        arm = quiz.arm(config.question)
        law, rate = quiz.law.of_arm(arm), float(quiz.rate[arm])
        parameters = {"shape": float(law.shapes()["shape"]), "scale": 1.0 / rate}
        ends = {"low": 0.0, "high": float(law.quantile(0.995, rate))}
        return Outcome("the law in the package, fitted to all times; no data given", numbers={**parameters, **ends})
    log = read_log(path, "ednet-pseudo")
    points = of_rows(log.rows, log.arms, "all", trim=(config.low, config.high))
    fits = {fit.name: fit for fit in fit_arms(points, log.names, law=Weibull.name)}
    chosen = fits[config.question]
    own = points.only([log.names.index(config.question)])
    numbers = {
        "shape": chosen.shape,
        "scale": 1.0 / chosen.rate,
        "low": chosen.kept[0],
        "high": chosen.kept[1],
        "ks": chosen.ks,
        "kept": chosen.rows,
        "ks_of_all": {name: fit.ks for name, fit in fits.items()},
        "times": np.repeat(own.thresholds[:, 0], own.threshold_weight[:, 0].astype(np.int64)).tolist(),
    }
    return Outcome(f"{path.name}, all questions fitted", numbers=numbers)


def draw(config: Config, outcome: Outcome, figure: Figure) -> None:
    """Density, distribution function and, of data, quantiles."""
    n = outcome.numbers
    if "times" not in n:
        law, rate = Weibull(shape=float(n["shape"])), 1.0 / float(n["scale"])
        grid = np.linspace(0.0, float(n["high"]), 400)
        curves = {"Density": law.pdf(grid, rate), "Distribution function": law.cdf(grid, rate)}
        for axes, (title, curve) in zip(figure.subplots(1, 2), curves.items(), strict=True):
            axes.plot(grid, curve, color=style.BLUE, linewidth=1.8, label="fitted law")
            axes.set(xlim=(0.0, grid[-1]), ylim=(0.0, None), title=title, xlabel="seconds")
            axes.legend(loc="best")
        return
    times, count = np.unique(n["times"], return_counts=True)
    rows = Rows(0 * count, np.full(times.size, np.inf), count > 0, times, count)
    points = replace(of_rows(rows, 1, "all"), low=np.array([n["low"]]), high=np.array([n["high"]]))
    draw_panels(figure, fit_arms(points, [config.question], law=Weibull.name)[0], units="s")


def caption(config: Config, outcome: Outcome) -> str:
    """Say what is drawn, and how far the law is from the data."""
    n = outcome.numbers
    law = f"Weibull law with shape {n['shape']:.3f} and scale {n['scale']:.2f} s"
    if "times" not in n:
        return (
            f"Question {config.question}: the {law} in the package. The response times may not be shipped: give "
            f"--data DIR with {FILE} to see them against the law."
        )
    return (
        f"Question {config.question}: {n['kept']:,} response times between their {config.low:.1%} and "
        f"{config.high:.1%} quantiles, and the truncated {law}; the largest difference of the distribution functions "
        f"(Kolmogorov and Smirnov) is {n['ks']:.3f}."
    )


EXPERIMENT = Experiment(
    name="ednet-fit",
    title="EdNet: how long an answer takes",
    paper="Figure “EdNet fit”: a truncated Weibull law captures q4135",
    full=Config(),
    run=run,
    draw=draw,
    caption=caption,
    size=(11.0, 3.6),
    inputs=(FILE,),
)
