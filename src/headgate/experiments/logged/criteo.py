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
from headgate.experiments.logged.criteo_fit import ARMS, FILES, OURS, ours
from headgate.experiments.logged.exposures import fit_clicks, fit_exposed, problem_of

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
    truths = {"regret": fit_clicks, "cure": fit_exposed}
    rng = np.random.default_rng([setting.seed, 16])
    budgets = np.minimum(rng.choice(np.asarray(log.budgets), (config.runs, config.rounds)), MAX_BUDGET)
    results = {
        key: setting.simulate(key, problem_of(fit(log.rows, log.names)), policies, budget=budgets, **size)
        for key, fit in truths.items()
    }
    return Outcome(f"Calibrated from Criteo's log, {path.name}", results)


def draw(config: Config, outcome: Outcome, figure: Figure) -> None:  # noqa: ARG001  # every experiment's
    """Logarithmic and linear axes; of Criteo's log with the truth as the paper fits it."""
    result = outcome.results["regret"]
    title = "Semi-synthetic campaigns (ours, not Criteo's data)" if ours(outcome) else outcome.source
    lines = curves.of_result(result) + curves.references(result.rounds, 15, None)
    curves.draw_both(figure, lines, inches=3.9, title=title)


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
        + (
            ""
            if ours(outcome)
            else " Drawn: laws fitted to clickers alone, as in the paper; the second table has the "
            "same with laws by the cure model."
        )
    )


EXPERIMENT = Experiment(
    name="criteo",
    title="Campaigns: which ones get the impressions",
    paper="Figure “Criteo”: RA-UCB with user-dependent budgets",
    full=Config(),
    run=run,
    draw=draw,
    caption=caption,
    size=(13.0, 4.8),
    inputs=FILES,
)
