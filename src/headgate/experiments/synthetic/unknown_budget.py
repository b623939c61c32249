"""A figure for what the paper has in words: budgets that nobody tells the learner, and pouring in steps of delta."""

from __future__ import annotations

from collections.abc import Mapping
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headgate.simulation import Result

KNOWING, POURING = "RA-UCB, told the budget", "MG-UCB, not told"
THOMPSON, THOMPSON_POURING = "Thompson, told", "Thompson, not told"
LIVE, LIVE_KNOWN = "Thompson, not told, live", "curves known, not told, live"
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
        LIVE: hg.Thompson,
        LIVE_KNOWN: hg.Oracle,
    }
    hidden, pouring = {POURING, THOMPSON_POURING, LIVE, LIVE_KNOWN}, {POURING: policies[POURING]}
    results = {
        name: setting.simulate(
            name, draw_problem, policies, budget=budget, hidden=hidden, live={LIVE, LIVE_KNOWN}, **options
        )
        for name, budget in BUDGETS.items()
    }
    options |= {"budget": stochastic, "hidden": True}
    sweep = []
    for delta in config.deltas:
        key = f"delta-{delta:g}"
        results[key] = setting.simulate(key, draw_problem, pouring, step=delta, **options)
        extra = (results[key].regret[POURING] - results["stochastic"].regret[POURING])[:, -1]
        bound = float(theory.discretisation_loss(ARMS, G_MAX, delta, config.rounds))
        error = float(extra.std(ddof=1) / extra.size**0.5) if extra.size > 1 else 0.0
        sweep.append({"delta": delta, "extra": float(extra.mean()), "error": error, "bound": bound})
    return Outcome("simulated", results, {"sweep": sweep})


def draw(config: Config, outcome: Outcome, figure: Figure) -> None:  # noqa: ARG001  # every experiment's
    """Regret with both kinds of budget, the sweep, and what each way earns, live rounds among them."""
    looks = {
        KNOWING: {"color": style.ORANGE, "width": 3.4},
        POURING: {"color": style.VERMILLION, "line": "--"},
        THOMPSON: {"color": style.BLUE, "width": 2.6},
        THOMPSON_POURING: {"color": style.GREEN, "line": "--"},
    }
    left, middle, right, last = figure.subplots(1, 4)
    for axes, name in ((left, "stochastic"), (middle, "adversarial")):
        result = outcome.results[name]
        lines = [
            Curve(policy, result.rounds, result.regret[policy].mean(axis=0), **looks[policy])  # type: ignore[arg-type]  # mixed
            for policy in looks
        ]
        curves.draw(axes, lines, inches=3.3, title=f"{name.capitalize()} budgets")
    _draw_sweep(right, outcome.numbers["sweep"])
    _draw_earned(last, outcome.results)


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
    axes.set(title="MG-UCB-Δ", xlabel="step Δ", ylabel="regret added by pouring in steps")
    axes.minorticks_off()
    axes.legend(loc="upper left", fontsize=8.5)


def _draw_earned(axes: Axes, results: Mapping[str, Result]) -> None:
    """Bars of what each way earned, as a share of the best split that is told every budget."""
    colors = {"stochastic": style.BLUE, "adversarial": style.ORANGE}
    policies = (KNOWING, POURING, THOMPSON_POURING, LIVE, LIVE_KNOWN)
    for place, (name, color) in enumerate(colors.items()):
        result = results[name]
        share = [float((result.reward[p][:, -1] / result.optimum[p][:, -1]).mean()) for p in policies]
        where = np.arange(len(policies)) + 0.4 * (place - 0.5)
        axes.barh(where, share, height=0.38, color=color, label=name)
        for at, value in zip(where, share, strict=True):
            axes.text(value + 0.01, at, f"{value:.0%}", va="center", fontsize=8)
    axes.axvline(1.0, color=style.INK, linewidth=1.0, linestyle=":")
    axes.set_yticks(range(len(policies)), [policy.replace(", ", ",\n", 1) for policy in policies], fontsize=8)
    axes.invert_yaxis()
    axes.set(title="Live rounds need no budget", xlabel="earned, best split told the budget = 1", xlim=(0.0, 1.8))
    axes.legend(loc="upper right", fontsize=8)


def caption(config: Config, outcome: Outcome) -> str:  # noqa: ARG001  # every experiment's
    """Say what is drawn."""
    return (
        f"The setting of the paper's synthetic figures (radii x 1e-6), T = {config.rounds:,}, {config.runs} runs, "
        f"budgets at most {config.budget:g}. Stochastic: uniform on [1, {config.budget:g}]. Adversarial: {_SMALL:g} "
        f"whenever one of the first {ARMS // 2} arms has its turn, else {config.budget:g}. Dashed learners are not "
        "told the budget and pour until it is spent. Third: what pouring in steps of Δ adds to the regret with "
        "stochastic budgets. Right: successes earned, of the best split that is told each budget; a live round, which "
        "is not told it either, hands on what a success leaves over."
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
    size=(18.0, 4.2),
)
