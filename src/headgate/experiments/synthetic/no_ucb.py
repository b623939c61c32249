"""Figure "NO UCB": RA-UCB against acting on point estimates."""

from headgate.experiments.base import Experiment
from headgate.experiments.lineup import EVEN, GREEDY, MARA, SCALED, THOMPSON, WRITTEN
from headgate.experiments.synthetic import exponential

_POLICIES = (WRITTEN, SCALED, GREEDY, MARA, EVEN, THOMPSON)

EXPERIMENT = Experiment(
    name="no-ucb",
    title="RA-UCB against NO UCB",
    paper="Figure “NO UCB”: without optimism, nearly linear regret and a larger variance",
    full=exponential.Config(_POLICIES, rounds=10_000),
    quick=exponential.Config(_POLICIES, rounds=2_000),
    run=exponential.run,
    draw=exponential.draw,
    caption=exponential.caption,
)
