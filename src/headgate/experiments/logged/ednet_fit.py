"""Figure "EdNet fit": response times of question q4135 against the fitted truncated Weibull law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy import optimize

from headgate.datasets import ednet_quiz
from headgate.experiments.base import Experiment, Outcome, Setting
from headgate.experiments.logged import answers
from headgate.laws import Floats, Weibull

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True, slots=True)
class Config:
    """Which question, and which share of its times is kept."""

    question: str = "q4135"
    low: float = 0.025
    high: float = 0.975


def fit_truncated(times: Floats, low: float, high: float) -> tuple[float, float]:
    """Shape and scale of largest likelihood for a Weibull law seen only within [low, high]."""

    def loss(theta: Floats) -> float:
        law, rate = Weibull(shape=float(np.exp(theta[0]))), float(np.exp(-theta[1]))
        inside = float(law.cdf(high, rate) - law.cdf(low, rate))
        return float(times.size * np.log(max(inside, 1e-300)) - np.sum(law.log_pdf(times, rate)))

    found = optimize.minimize(loss, [0.3, float(np.log(times.mean()))], method="Nelder-Mead", options={"xatol": 1e-8})
    return float(np.exp(found.x[0])), float(np.exp(found.x[1]))


def run(config: Config, setting: Setting) -> Outcome:
    """Fit the law to the times within the quantiles; without data, only the law in the package."""
    quiz = ednet_quiz()
    arm = quiz.arm(config.question)
    path = setting.file(answers.FILE)
    if path is None:
        law = quiz.law.of_arm(arm)
        shape, scale = float(law.shapes()["shape"]), 1.0 / float(quiz.rate[arm])
        known = {"shape": shape, "scale": scale, "low": 0.0, "high": float(law.quantile(0.995, 1.0 / scale))}
        return Outcome("the law in the package, fitted to all times; no data given", numbers=known)
    seconds = answers.read(path, quiz.names).seconds
    ends = np.quantile(seconds, [config.low, config.high], axis=0)
    every = {name: _fitted(seconds[:, i], *ends[:, i]) for i, name in enumerate(quiz.names)}
    numbers = {**every[config.question], "ks_of_all": {name: v["ks"] for name, v in every.items()}}
    times = np.sort(seconds[:, arm])
    kept = times[(times >= numbers["low"]) & (times <= numbers["high"])]
    return Outcome(f"{path.name}, all questions fitted", numbers={**numbers, "times": kept.tolist()})


def _fitted(times: Floats, low: float, high: float) -> dict[str, Any]:
    kept = np.sort(times[(times >= low) & (times <= high)])
    shape, scale = fit_truncated(kept, low, high)
    model = _truncated_cdf(kept, shape, scale, low, high)
    n = kept.size
    ks = float(np.max(np.maximum(np.arange(1, n + 1) / n - model, model - np.arange(n) / n)))
    return {"shape": shape, "scale": scale, "low": float(low), "high": float(high), "ks": ks, "kept": n}


def _truncated_cdf(x: Floats, shape: float, scale: float, low: float, high: float) -> Floats:
    law = Weibull(shape=shape)
    start, end = (law.cdf(v, 1.0 / scale) for v in (low, high))
    return np.asarray((law.cdf(x, 1.0 / scale) - start) / (end - start))


def draw(config: Config, outcome: Outcome, figure: Figure) -> None:  # noqa: ARG001  # every experiment's
    """Density, distribution function, quantiles."""
    from headgate.figures import fit  # noqa: PLC0415  # an extra, and not light

    n = outcome.numbers
    shape, scale, low, high = (float(n[key]) for key in ("shape", "scale", "low", "high"))
    law = Weibull(shape=shape)
    grid = np.linspace(low, high, 400)
    inside = float(law.cdf(high, 1.0 / scale) - law.cdf(low, 1.0 / scale))
    density, curve = law.pdf(grid, 1.0 / scale) / inside, _truncated_cdf(grid, shape, scale, low, high)
    levels = (np.arange(200) + 0.5) / 200.0
    theory = law.quantile(float(law.cdf(low, 1.0 / scale)) + levels * inside, 1.0 / scale)
    left, middle, right = figure.subplots(1, 3)
    times = np.array(n["times"]) if "times" in n else None
    histogram = data = quantiles = None
    if times is not None:
        heights, edges = np.histogram(times, bins=50, density=True)
        histogram = (edges, heights)
        data = (times, np.arange(1, times.size + 1) / times.size)
        quantiles = np.quantile(times, levels)
    fit.draw_density(left, grid, density, histogram)
    fit.draw_distribution(middle, grid, curve, data)
    fit.draw_quantiles(right, theory, quantiles, "s")
    for axes in (left, middle):
        axes.set_xlabel("seconds")


def caption(config: Config, outcome: Outcome) -> str:
    """Say what is drawn, and how far the law is from the data."""
    n = outcome.numbers
    law = f"Weibull law with shape {n['shape']:.3f} and scale {n['scale']:.2f} s"
    if "times" not in n:
        return (
            f"Question {config.question}: the {law} in the package. The response times may not be shipped: give "
            f"--data DIR with {answers.FILE} to see them against the law."
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
    quick=Config(),
    run=run,
    draw=draw,
    caption=caption,
    size=(11.0, 3.6),
    inputs=(answers.FILE,),
)
