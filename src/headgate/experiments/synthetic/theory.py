"""Figure "Theory": the regret of RA-UCB against the paper's bounds."""

from headgate.experiments.base import Experiment
from headgate.experiments.lineup import CUCB, ETC, EVEN, MARA, SCALED, THOMPSON, WRITTEN
from headgate.experiments.synthetic import exponential

_POLICIES = (WRITTEN, SCALED, ETC, CUCB, MARA, EVEN, THOMPSON)

EXPERIMENT = Experiment(
    name="theory",
    title="Regret against the bounds",
    paper="Figure “Theory”: RA-UCB between the lower bound and the √T bound",
    full=exponential.Config(_POLICIES, rounds=100_000),
    quick=exponential.Config(_POLICIES, rounds=5_000),
    run=exponential.run,
    draw=exponential.draw,
    caption=exponential.caption,
)
