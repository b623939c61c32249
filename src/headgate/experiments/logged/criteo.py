"""Figure "Criteo": a user's impressions to split between campaigns; ours unless Criteo's log is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from headgate.calibration.reading import Criteo, read_log
from headgate.datasets.criteo import MAX_BUDGET, campaigns, user_budget
from headgate.experiments import curves
from headgate.experiments.base import Experiment, Outcome, Setting
from headgate.experiments.lineup import CUCB, ETC, EVEN, GREEDY, MARA, SCALED, THOMPSON, WRITTEN, entrants
from headgate.experiments.logged.criteo_fit import ARMS, FILES, OURS, fit_clicks, ours
from headgate.laws import DiscreteWeibull
from headgate.problem import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True, slots=True)
class Config:
    """How many users, how often."""

    rounds: int = 1000
    runs: int = 20
    policies: tuple[str, ...] = (WRITTEN, SCALED, ETC, GREEDY, CUCB, MARA, EVEN, THOMPSON)


def run(config: Config, setting: Setting) -> Outcome:
    """Play users one after the other, each with a budget of its own."""
    size = {"rounds": config.rounds, "runs": config.runs, "max_budget": MAX_BUDGET}
    policies, path = entrants(*config.policies), setting.file(*FILES)
    if path is None:
        result = setting.simulate("regret", campaigns(), policies, budget=user_budget, **size)
        return Outcome(OURS, {"regret": result})
    log = read_log(path, Criteo(campaigns=ARMS))
    fits = fit_clicks(log.rows, log.names)
    shapes, rates, clicked = zip(*((fit.shape, fit.rate, fit.activation) for fit in fits), strict=True)
    problem = Problem(DiscreteWeibull(shape=shapes), clicked, rates, log.names)
    rng = np.random.default_rng([setting.seed, 16])
    budgets = np.minimum(rng.choice(np.asarray(log.budgets), (config.runs, config.rounds)), MAX_BUDGET)
    result = setting.simulate("regret", problem, policies, budget=budgets, **size)
    return Outcome(f"Calibrated from Criteo's log, {path.name}", {"regret": result})


def draw(config: Config, outcome: Outcome, figure: Figure) -> None:  # noqa: ARG001  # every experiment's
    """Both axes logarithmic."""
    result = outcome.results["regret"]
    axes = figure.subplots()
    title = "Semi-synthetic campaigns (ours, not Criteo's data)" if ours(outcome) else outcome.source
    lines = curves.of_result(result) + curves.references(result.rounds, 15, None)
    curves.draw(axes, lines, inches=3.9, title=title)


def caption(config: Config, outcome: Outcome) -> str:
    """Say whose data this is."""
    users = (
        f"users with a geometric number of impressions (mean 12, at most {MAX_BUDGET:g})"
        if ours(outcome)
        else f"users with the impressions they had in the log (at most {MAX_BUDGET:g})"
    )
    return (
        f"{outcome.source}. {ARMS} campaigns with discrete Weibull thresholds (shapes known to the learners), "
        f"{users}, T = {config.rounds:,}: mean expected regret of {config.runs} runs with one standard deviation. The "
        "information limit needs a smooth law, so it is not drawn."
    )


EXPERIMENT = Experiment(
    name="criteo",
    title="Campaigns: which ones get the impressions",
    paper="Figure “Criteo”: RA-UCB with user-dependent budgets",
    full=Config(),
    run=run,
    draw=draw,
    caption=caption,
    inputs=FILES,
)
