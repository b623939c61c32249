"""A figure for what the paper has in words: budgets that nobody tells the learner, and pouring in steps of delta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

import headgate as hg
from headgate import theory
from headgate.experiments import curves
from headgate.experiments.base import Experiment, Outcome, Setting
from headgate.experiments.lineup import SCALE
from headgate.experiments.synthetic.exponential import ARMS, BUDGET, RATES, draw_problem
from headgate.figures import style
from headgate.figures.regret import Curve
from headgate.simulation import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KNOWING, POURING = "RA-UCB, told the budget", "MG-UCB, not told"
THOMPSON, THOMPSON_POURING = "Thompson, told", "Thompson, not told"
G_MAX = RATES[1]  # the slope of the surrogate, at most lambda' <= M/B
_SMALL = 2.0


@final
@dataclass(frozen=True, slots=True)
class Config:
    """How long, how often, and the steps of the sweep."""

    rounds: int = 2000
    runs: int = 15
    budget: float = BUDGET
    deltas: tuple[float, ...] = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def stochastic(t: int, rng: np.random.Generator) -> float:  # noqa: ARG001  # a budget function's
    """B_t ~ U[1, 40]."""
    return float(rng.uniform(1.0, BUDGET))


def adversarial(t: int, rng: np.random.Generator) -> float:  # noqa: ARG001  # a budget function's
    """Starve half of the arms: hardly anything whenever it is their turn to be boosted, everything otherwise."""
    return _SMALL if (t - 1) % ARMS < ARMS // 2 else BUDGET


BUDGETS = {"stochastic": stochastic, "adversarial": adversarial}


def run(config: Config, setting: Setting) -> Outcome:
    """Play both kinds of budget told and hidden, then the steps with stochastic budgets."""
    options: dict[str, Any] = {"rounds": config.rounds, "runs": config.runs, "max_budget": config.budget}
    policies: dict[str, Any] = {
        KNOWING: (hg.RAUCB, {"scale": SCALE}),
        POURING: (hg.MGUCB, {"scale": SCALE}),
        THOMPSON: hg.Thompson,
        THOMPSON_POURING: hg.Thompson,
    }
    results: dict[str, Result] = {}
    for name, budget in BUDGETS.items():
        results[name] = setting.simulate(
            name, draw_problem, policies, budget=budget, hidden={POURING, THOMPSON_POURING}, **options
        )
    pouring = {POURING: policies[POURING]}
    for delta in config.deltas:
        key = f"delta-{delta:g}"
        results[key] = setting.simulate(
            key, draw_problem, pouring, budget=stochastic, hidden=True, step=delta, **options
        )
    reference = results["stochastic"].regret[POURING][:, -1]
    sweep = []
    for delta in config.deltas:
        extra = results[f"delta-{delta:g}"].regret[POURING][:, -1] - reference
        bound = float(theory.discretisation_loss(ARMS, G_MAX, delta, config.rounds))
        error = float(extra.std(ddof=1) / extra.size**0.5) if extra.size > 1 else 0.0
        sweep.append({"delta": delta, "extra": float(extra.mean()), "error": error, "bound": bound})
    return Outcome("simulated", results, {"sweep": sweep})


def draw(config: Config, outcome: Outcome, figure: Figure) -> None:  # noqa: ARG001  # every experiment's
    """Regret with both kinds of budget, and the sweep."""
    looks = {
        KNOWING: {"color": style.ORANGE, "width": 3.4},
        POURING: {"color": style.VERMILLION, "line": "--"},
        THOMPSON: {"color": style.BLUE, "width": 2.6},
        THOMPSON_POURING: {"color": style.GREEN, "line": "--"},
    }
    left, middle, right = figure.subplots(1, 3)
    for axes, name in ((left, "stochastic"), (middle, "adversarial")):
        result = outcome.results[name]
        lines = [
            Curve(policy, result.rounds, result.regret[policy].mean(axis=0), **looks[policy])  # type: ignore[arg-type]  # mixed
            for policy in result.policies
        ]
        curves.draw(axes, lines, inches=3.3, title=f"{name.capitalize()} budgets")
    _draw_sweep(right, outcome.numbers["sweep"])


def _draw_sweep(axes: Axes, sweep: list[dict[str, float]]) -> None:
    columns = ("delta", "extra", "error", "bound")
    delta, extra, error, bound = (np.array([row[key] for row in sweep]) for key in columns)
    axes.plot(delta, bound, "--", color=style.QUIET, label="bound (K + 1) G_max Δ T")
    axes.errorbar(delta, extra, yerr=2.0 * error, fmt="o-", color=style.BLUE, markersize=4, label="measured, ± 2 s.e.")
    axes.set_xscale("log")
    axes.set_xticks(delta, [f"{step:g}" for step in delta])
    axes.set_yscale("symlog", linthresh=10.0)
    axes.set_ylim(min(-10.0, 2.0 * float(np.min(extra - 2.0 * error))), 40.0 * float(bound.max()))
    axes.axhline(0.0, color=style.FAINT, linewidth=0.8, zorder=0)
    axes.set_xlabel("step Δ")
    axes.set_ylabel("regret added by pouring in steps")
    axes.set_title("MG-UCB-Δ")
    axes.minorticks_off()
    axes.legend(loc="upper left", fontsize=8.5)


def caption(config: Config, outcome: Outcome) -> str:  # noqa: ARG001  # every experiment's
    """Say what is drawn."""
    return (
        f"The setting of the paper's synthetic figures (radii x 1e-6), T = {config.rounds:,}, {config.runs} runs, "
        f"budgets at most {config.budget:g}. Stochastic: uniform on [1, {config.budget:g}]. Adversarial: {_SMALL:g} "
        f"whenever one of the first {ARMS // 2} arms has its turn, else {config.budget:g}. Dashed learners are not "
        "told the budget and pour until it is spent. Right: what pouring in steps of Δ adds to the regret with "
        "stochastic budgets."
    )


EXPERIMENT = Experiment(
    name="unknown-budget",
    title="Budgets that are not told",
    paper="Section “The Unknown Budget Model” (no figure in the paper)",
    full=Config(),
    quick=Config(rounds=400, runs=4, deltas=(0.2, 1.0, 5.0)),
    run=run,
    draw=draw,
    caption=caption,
    size=(13.5, 4.2),
)
