"""Budgets that nobody knows, without going back to an arm: plans against switching and against the known budget.

The paper leaves this open: "the allocation order matters and optimal decisions may depend on the full budget
distribution". A plan (`Problem.plan`) has an order and an amount for each arm, with a proof of how good it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from headgate.datasets import ednet_quiz
from headgate.experiments.base import Experiment, Outcome, Setting, Table
from headgate.experiments.report.judge import mean_of
from headgate.experiments.synthetic.exponential import BUDGET, draw_problem
from headgate.figures import style
from headgate.laws import Floats
from headgate.oracle import path
from headgate.oracle.plan import Plan
from headgate.problem import Problem
from headgate.simulation import Draws

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KNOWN, SWITCHING, PLAN = "budget known", "not known, switching", "not known, a plan"
MEAN, REVERSED = "a plan for the mean budget", "the plan in reverse order"
WAYS = (KNOWN, SWITCHING, PLAN, MEAN, REVERSED)
PAPER, QUIZ = "the paper's problems", "the quiz"


@final
@dataclass(frozen=True, slots=True)
class Config:
    """How many of the paper's problems, how many draws of the quiz's budgets, and how many budgets each."""

    problems: int = 15
    budgets: int = 200


def run(config: Config, setting: Setting) -> Outcome:
    """Value every way of playing on the same budgets; the quiz with budgets drawn again as often."""
    worths: dict[str, list[dict[str, Any]]] = {PAPER: [], QUIZ: []}
    for number in range(config.problems):
        rng = np.random.default_rng([setting.seed, 21, number])
        problem = Draws(draw_problem).problem(setting.seed, number)
        worths[PAPER].append(_worth(problem, rng.uniform(1.0, BUDGET, config.budgets)))
        seconds = rng.gamma(3.0, 700.0 / 3.0, config.budgets).clip(20.0, 1500.0)
        worths[QUIZ].append(_worth(ednet_quiz(), seconds))
    first = Draws(draw_problem).problem(setting.seed, 0)
    budgets = np.random.default_rng([setting.seed, 21, 0]).uniform(1.0, BUDGET, config.budgets)
    return Outcome("computed", numbers={"worth": worths, "example": _example(first, budgets)})


def _worth(problem: Problem, budgets: Floats) -> dict[str, Any]:
    """What each way is worth on average over the budgets, as a share of knowing each of them; and the plan's proof."""
    plan, for_mean = problem.plan(budgets), problem.plan([float(budgets.mean())])
    best = float(np.mean(problem.solve(budgets).value))
    poured = path(problem.law, problem.activation, problem.rate, np.sort(budgets)).value
    worth = {
        KNOWN: best,
        SWITCHING: float(np.mean(poured)),
        PLAN: _value(problem, plan, budgets),
        MEAN: _value(problem, for_mean, budgets),
        REVERSED: _value(problem, replace(plan, order=plan.order[::-1]), budgets),
    }
    return {"share": {way: value / best for way, value in worth.items()}, "gap": plan.gap}


def _value(problem: Problem, plan: Plan, budgets: Floats) -> float:
    """The expected reward of a plan that ends wherever the budget does."""
    x = np.stack([plan.given(float(budget)) for budget in budgets])
    return float(np.mean(problem.expected_reward(x)))


def _example(problem: Problem, budgets: Floats) -> dict[str, Any]:
    """One problem: the plan's slots, and what each way earns at each budget."""
    plan, grid = problem.plan(budgets), np.linspace(1.0, float(budgets.max()), 60)
    x = np.stack([plan.given(float(budget)) for budget in grid])
    return {
        "order": plan.order.tolist(),
        "starts": plan.starts[plan.order].tolist(),
        "amounts": plan.amounts[plan.order].tolist(),
        "known_order": problem.solve(float(budgets.mean())).x.tolist(),
        "lasts": [float(np.mean(budgets >= t)) for t in grid],
        "grid": grid.tolist(),
        KNOWN: problem.solve(grid).value.tolist(),
        SWITCHING: path(problem.law, problem.activation, problem.rate, grid).value.tolist(),
        PLAN: problem.expected_reward(x).tolist(),
    }


def shares(outcome: Outcome, world: str, way: str) -> Floats:
    """What a way is worth, of knowing the budget: one number for each problem or draw of budgets."""
    return np.array([row["share"][way] for row in outcome.numbers["worth"][world]])


def draw(config: Config, outcome: Outcome, figure: Figure) -> None:  # noqa: ARG001  # every experiment's
    """Order and amounts of one plan, what it earns at each budget, and every way in both worlds."""
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.2, 1.0, 1.0))
    _draw_slots(left, outcome.numbers["example"])
    _draw_budgets(middle, outcome.numbers["example"])
    for place, (world, color) in enumerate(((PAPER, style.BLUE), (QUIZ, style.ORANGE))):
        means = [mean_of(shares(outcome, world, way)) for way in WAYS]
        at = np.arange(len(WAYS)) + 0.4 * (place - 0.5)
        values = np.array([mean.value for mean in means])
        ends = np.nan_to_num(np.array([(m.value - m.low, m.high - m.value) for m in means]).T, posinf=0.0)
        right.barh(at, values, xerr=ends, height=0.38, color=color, label=world, error_kw={"elinewidth": 1.0})
        for height, value in zip(at, values, strict=True):
            right.text(0.02, height, f"{value:.1%}", va="center", fontsize=8, color="white")
    right.set_yticks(range(len(WAYS)), [way.replace(", ", ",\n") for way in WAYS], fontsize=8)
    right.invert_yaxis()
    right.set(title="Worth", xlabel="share of knowing the budget", xlim=(0.0, 1.05))
    right.legend(loc="lower right", fontsize=8)


def _draw_slots(axes: Axes, example: dict[str, Any]) -> None:
    for row, (arm, start, amount) in enumerate(
        zip(example["order"], example["starts"], example["amounts"], strict=True)
    ):
        axes.barh(row, amount, left=start, height=0.7, color=style.BLUE)
        axes.plot([example["known_order"][arm]], [row], "o", color=style.ORANGE, markersize=5, zorder=3)
        axes.text(start + amount + 0.3, row, f"{amount:.1f}", va="center", fontsize=8)
    axes.plot([], [], "o", color=style.ORANGE, label="amount if the mean budget were known")
    axes.set_yticks(range(len(example["order"])), [f"arm {arm}" for arm in example["order"]], fontsize=8)
    axes.invert_yaxis()
    axes.set(title="A plan: order and amounts", xlabel="budget spent")
    axes.legend(loc="lower left", fontsize=8)


def _draw_budgets(axes: Axes, example: dict[str, Any]) -> None:
    looks = {KNOWN: (style.INK, "-", 3.2), SWITCHING: (style.GREEN, "--", 1.8), PLAN: (style.BLUE, "-", 1.8)}
    for way, (color, line, width) in looks.items():
        axes.plot(example["grid"], example[way], line, color=color, linewidth=width, label=way)
    axes.fill_between(example["grid"], 0.0, example["lasts"], color=style.FAINT, label="chance to last so long")
    axes.set(title="At each budget", xlabel="budget, as it turns out", ylabel="expected successes", ylim=(0.0, None))
    axes.legend(loc="upper left", fontsize=8)


def caption(config: Config, outcome: Outcome) -> str:
    """Say what is drawn."""
    gap = max(row["gap"] for rows in outcome.numbers["worth"].values() for row in rows)
    return (
        f"{config.problems} problems of the paper's setting with budgets uniform on [1, {BUDGET:g}], and the quiz with "
        f"gamma-distributed times of 700 s on average, {config.budgets} budgets each. Switching pours into any arm at "
        "any time; for concave laws that loses nothing. A plan serves the arms one after the other, each once. No plan "
        f"is better than these by more than {gap:.2%} (certified). The last two bars: the plan for the mean budget "
        "alone, and the same slots in reverse order. Lines at the bars are 95% intervals."
    )


def tables(config: Config, outcome: Outcome) -> list[Table]:  # noqa: ARG001  # every experiment's
    """Every way with its paired interval."""
    rows = []
    for way in WAYS:
        cells = [way]
        for world in (PAPER, QUIZ):
            own = mean_of(shares(outcome, world, way))
            less = mean_of(shares(outcome, world, way) - shares(outcome, world, PLAN))
            cells += [
                f"{own.value:.1%}",
                "" if way == PLAN else f"{less.value:+.1%} ({less.low:+.1%} to {less.high:+.1%})",
            ]
        rows.append(tuple(cells))
    head = ("way", PAPER, "more than the plan, paired 95%", QUIZ, "more than the plan, paired 95%")
    return [Table("Worth as a share of knowing the budget", head, rows)]


EXPERIMENT = Experiment(
    name="plan",
    title="Budgets that nobody knows, and no way back",
    paper="Outlook: “unknown and stochastic budgets without the switching possibility” (no figure in the paper)",
    full=Config(),
    quick=Config(problems=5, budgets=60),
    run=run,
    draw=draw,
    caption=caption,
    size=(15.0, 4.6),
    tables=tables,
)
