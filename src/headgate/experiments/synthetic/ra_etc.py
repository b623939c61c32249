"""Figure "RA-ETC": RA-UCB against exploring for T^(2/3) rounds and then committing."""

from headgate.experiments.base import Experiment
from headgate.experiments.lineup import CUCB, ETC, EVEN, SCALED, THOMPSON, WIDER, WRITTEN
from headgate.experiments.synthetic import exponential

_POLICIES = (WRITTEN, SCALED, WIDER, ETC, CUCB, EVEN, THOMPSON)

EXPERIMENT = Experiment(
    name="ra-etc",
    title="RA-UCB against RA-ETC",
    paper="Figure “RA-ETC”: RA-UCB consistently has the lower regret",
    full=exponential.Config(_POLICIES, rounds=10_000),
    quick=exponential.Config(_POLICIES, rounds=2_000),
    run=exponential.run,
    draw=exponential.draw,
    caption=exponential.caption,
)
