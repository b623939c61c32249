"""The cascade as a learning experiment: a round counts if at least one arm succeeds. The paper names it as an outlook.

The best allocation for the cascade is not the one for the number of successes: arms that are likely to succeed
anyway make others worth less. So a learner that knows what is rewarded is played beside one that does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

import headgate as hg
from headgate.experiments import curves
from headgate.experiments.base import Experiment, Outcome, Setting
from headgate.experiments.lineup import ETC, EVEN, GREEDY, SCALED, THOMPSON, entrants
from headgate.experiments.synthetic.exponential import ARMS, BUDGET, draw_problem
from headgate.simulation import Draws

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOR_SUM = "Thompson, for the sum"


@final
@dataclass(frozen=True, slots=True)
class Config:
    """How long, how often, and a budget so small that a success is not certain."""

    rounds: int = 5000
    runs: int = 15
    budget: float = 4.0


def run(config: Config, setting: Setting) -> Outcome:
    """Play the paper's problems with the small budget for at least one success."""
    policies: dict[str, Any] = entrants(SCALED, ETC, GREEDY, EVEN, THOMPSON)
    policies[FOR_SUM] = (hg.Thompson, {"reward": "sum"})
    size = {"budget": config.budget, "max_budget": BUDGET, "rounds": config.rounds, "runs": config.runs}
    result = setting.simulate("regret", draw_problem, policies, reward="cascade", **size)
    problems = [Draws(draw_problem).problem(setting.seed, run) for run in range(config.runs)]
    best = [float(problem.solve(config.budget, reward="cascade").value) for problem in problems]
    summed = [
        float(problem.expected_reward(problem.solve(config.budget).x, "cascade")) for problem in problems
    ]  # what the best allocation for the number of successes is worth here
    return Outcome(
        "simulated", {"regret": result}, {"optimum": float(np.mean(best)), "for_sum": float(np.mean(summed))}
    )


def draw(config: Config, outcome: Outcome, figure: Figure) -> None:  # noqa: ARG001  # every experiment's
    """Regret in rounds without any success, on both kinds of axes."""
    result = outcome.results["regret"]
    curves.draw_both(figure, curves.of_result(result), inches=3.9, ylabel="rounds lost in expectation")


def caption(config: Config, outcome: Outcome) -> str:
    """Say what is drawn."""
    numbers = outcome.numbers
    return (
        f"The paper's synthetic problems ({ARMS} arms) with a budget of {config.budget:g} a round and the reward 1 if "
        f"at least one arm succeeds, T = {config.rounds:,}, mean of {config.runs} runs with one standard deviation. "
        f"The best allocation wins {numbers['optimum']:.2%} of rounds, the best one for the number of successes "
        f"{numbers['for_sum']:.2%}; policies other than “{FOR_SUM}” are told what is rewarded."
    )


EXPERIMENT = Experiment(
    name="cascade",
    title="At least one success",
    paper="Outlook: “a cascading-style reward” (no figure in the paper)",
    full=Config(),
    quick=Config(rounds=1000, runs=8),
    run=run,
    draw=draw,
    caption=caption,
    size=(13.0, 4.8),
)
