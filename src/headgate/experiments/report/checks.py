"""All checks that need no simulation, as an experiment of numbers only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from headgate.experiments.base import Experiment, Outcome, Setting
from headgate.experiments.report import estimation, quiz, structure


@final
@dataclass(frozen=True, slots=True)
class Config:
    """How many random instances; the checks have seeds of their own."""

    instances: int = 4000
    trials: int = 400


def run(config: Config, setting: Setting) -> Outcome:  # noqa: ARG001  # every experiment's
    """Compute every number that a claim needs."""
    numbers = {
        "bias": estimation.bias(),
        "radii": estimation.radii(),
        "kullback": estimation.kullback(),
        "hard_instance": estimation.hard_instance(),
        "upper_bounds": estimation.upper_bounds(),
        "means": estimation.means(),
        "oracle_monotonicity": structure.oracle_monotonicity(config.instances),
        "boosting_monotonicity": structure.boosting_monotonicity(),
        "equivalence": structure.equivalence(config.trials),
        "steps": structure.steps(config.trials),
        "stability": structure.stability(config.instances),
        "water_filling": quiz.water_filling(),
        "pouring": quiz.pouring(),
    }
    return Outcome("computed", numbers=numbers)


EXPERIMENT = Experiment(
    name="checks",
    title="Checks without simulation",
    paper="The lemmas",
    full=Config(),
    quick=Config(instances=1000, trials=200),
    run=run,
    draw=None,
    caption=lambda config, _: f"{config.instances:,} random instances.",
)
