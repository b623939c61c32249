"""Everything about the lemmas that needs no simulation, as an experiment of numbers only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.experiments.base import Experiment, Outcome, Setting
from headgate.experiments.report import estimation, explore, fixed_point, quiz, structure


@final
@dataclass(frozen=True, slots=True)
class Config:
    """How many random instances, trials, and problems that are played or followed; each check has a seed of its own."""

    instances: int = 4000
    trials: int = 400
    problems: int = 15


def run(config: Config, setting: Setting) -> Outcome:  # noqa: ARG001  # every experiment's
    """Compute every number that a claim about a lemma needs."""
    own = (estimation.bias, estimation.radii, estimation.kullback, estimation.upper_bounds, estimation.means,
           estimation.surrogate, structure.boosting_monotonicity, quiz.water_filling, quiz.pouring)  # fmt: skip
    numbers = {check.__name__: check() for check in own}
    numbers |= {
        c.__name__: c(config.instances) for c in (structure.oracle_monotonicity, structure.stability, explore.curvature)
    }
    numbers |= {
        c.__name__: c(config.problems)
        for c in (fixed_point.floors, estimation.hard_instance, structure.assumptions, explore.explore_rates)
    }
    numbers |= {c.__name__: c(config.trials) for c in (structure.equivalence, structure.steps, structure.refinement)}
    return Outcome("computed", numbers=numbers)


EXPERIMENT = Experiment(
    name="lemmas",
    title="The lemmas, without simulation",
    paper="Lemmas and theorems",
    full=Config(),
    quick=Config(instances=1000, trials=200, problems=8),
    run=run,
    draw=None,
    caption=lambda config, _: f"{config.instances:,} random instances.",
)
