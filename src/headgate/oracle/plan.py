"""A plan: in which order and for how long arms are served, one after the other, until a budget ends that nobody knows.

Arm i is served in the slot from s_i to s_i + x_i and never again; slots follow each other, in an order that is part of
the plan. It keeps its slot although it may succeed early. The budget B is random, H(t) = P(B >= t). A success at
threshold u counts if the arm's slot is that long and the budget lasts until s_i + u, so the slot is worth

    E_i(s, x) = v_i p_i integral over (0, x] of g_i(u) H(s + u) du = v_i p_i E[G_i(min(x, B - s))]

(G_i = 0 below 0; the right-hand side holds for whole units too), and a plan the sum of its slots.

Amounts for an order come from dynamic programming; the order of up to 10 arms too, over subsets, that of more from a
greedy start by insertions and swaps. The bound is the dual of the interval programme: every price >= 0 for each cell of
the line of budgets gives one. [docs/plan.md](docs/plan.md) proves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from headgate import checks
from headgate.errors import BudgetError
from headgate.extras import extra
from headgate.frames import Shown
from headgate.laws import Floats, Law, Points
from headgate.laws.standard import Base, Standard
from headgate.names import Amounts, usual_names
from headgate.oracle.best import standard_form
from headgate.oracle.line import Arms, Budgets, Line

_CELLS, _CELLS_PER_ARM, _MOST_CELLS = 1024, 32, 4096
_COARSE, _FINE, _MOST_SLOTS = 128, 256, 8e6
"""Nodes between which orders and prices are looked for, and how many slots a table may have."""
_EXACT_ARMS, _SWAP_ARMS = 10, 32
"""So many arms are ordered by dynamic programming, and so many by swaps too."""
_EFFORT, _SEARCHED, _BOUNDED = 6e9, 1e7, 4e7
"""Steps of a search for an order, and slots that are looked at for amounts and for a bound."""
_REACHED = 1e-9
"""A curve is taken as level where less than this share of it is left; the bound adds that."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan(Shown):
    """The best plan found, and the proof of how good it is."""

    order: NDArray[np.int64]
    """The arms that are served, in the order of being served: at most K."""
    amounts: Floats
    """How long each arm is served, (K,), in units of the budget; 0 for arms that are not in `order`."""
    value: float
    """The expected worth of all successes within the budget."""
    bound: float
    """No plan is worth more than this."""
    units: str | None = None
    """What the budget is counted in, for people to read."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """The arms' names; None if they have none."""
        return self.amounts.names if isinstance(self.amounts, Amounts) else None

    def labelled(self, names: tuple[str, ...] | None, units: str | None = None) -> Self:
        """Put names and units on a plan that nobody else holds yet, and return it."""
        if names is not None:
            object.__setattr__(self, "amounts", Amounts.of(self.amounts, names))
        object.__setattr__(self, "units", units)
        return self

    @property
    def gap(self) -> float:
        """(bound - value) / bound: the share that a better plan could at most gain."""
        return max(self.bound - self.value, 0.0) / self.bound if self.bound > 0.0 else 0.0

    @property
    def starts(self) -> Floats:
        """When each arm's slot begins, (K,); NaN for arms that are not served."""
        starts = np.full(self.amounts.size, np.nan)
        ends = np.cumsum(self.amounts[self.order])
        starts[self.order] = ends - self.amounts[self.order]
        return starts

    def given(self, budget: float) -> Floats:
        """Return what each arm got, (K,), once it is known how long the budget lasted: what `observe` is told."""
        lasted = checks.numbers("budget", budget, BudgetError, infinite=True)
        if lasted.ndim:
            raise BudgetError(f"budget must be one number, got {budget!r}")
        x = np.clip(np.nan_to_num(lasted - self.starts), 0.0, np.asarray(self.amounts))
        return x if self.names is None else Amounts.of(x, self.names)

    def columns(self) -> dict[str, Any]:
        """Return the slots as columns, in the order of being served: place, arm, when its slot begins, and amount."""
        names = self.names or usual_names(self.amounts.size)
        return {
            "place": np.arange(self.order.size),
            "arm": [names[arm] for arm in self.order.tolist()],
            "start": self.starts[self.order],
            "amount": np.asarray(self.amounts)[self.order],
        }

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the slots along the budget: a figure of matplotlib, or the path of the file it was written to."""
        return extra("headgate.figures.results").draw_plan(self, path)

    def __repr__(self) -> str:
        names = self.names or range(self.amounts.size)
        slots = [f"{names[arm]}: {self.amounts[arm]:.4g}" for arm in self.order[:6].tolist()]
        more = ", ..." if self.order.size > 6 else ""
        return f"Plan(value={self.value:.6g}, gap={self.gap:.1e}, {{{', '.join(slots)}{more}}})"


def arms_of(law: Law, weight: Floats, rate: Floats, upper: Floats, form: Standard | None = None) -> Arms:
    """Return arms with curves weight * G(x, rate), level from `upper` on; `form` has shapes that are learned."""
    whole = law.whole_arms(weight.size)
    upper = np.where(whole, np.floor(upper), upper)
    if form is not None:
        from headgate.kernels.heights import heights  # noqa: PLC0415  # machine code loads on first use

        columns = form.base, form.a, form.b, form.shift, form.cap, form.table, weight, rate, whole
        _, bend = heights(*columns, np.zeros((weight.size, 1)))
        error = form.error * weight
        bend = np.where(whole | (form.base == Base.TABLE), np.nan, bend)  # a row of a table may be a mixture of two
        return Arms(lambda x: heights(*columns, x)[0], bend, whole, upper, error, upper)
    bend, error = np.full(weight.size, np.nan), np.zeros(weight.size)
    if not any(isinstance(member, Points) for member, _ in law.members()):
        bend = np.where(whole, np.nan, law.inflection(rate))
        error = standard_form(law, weight.size).error * weight
    level = law.quantile(1.0 - _REACHED, rate)
    level = np.where(whole, np.ceil(level), level)
    return Arms(lambda x: weight[:, None] * law.cdf(x.T, rate).T, bend, whole, upper, error, level)


def check_budgets(budgets: object) -> Budgets:
    """Check what budgets have been: numbers >= 0, at least one."""
    amounts = checks.numbers("budgets", budgets, BudgetError)  # type: ignore[arg-type]  # it says so, if it is none
    if amounts.ndim > 1 or amounts.size == 0:
        raise BudgetError(f"budgets must be a sequence of at least one number, got {budgets!r}")
    return Budgets.of(np.atleast_1d(amounts))


def best_plan(arms: Arms, budgets: Budgets) -> Plan:
    """Return the best plan that is found for these arms, and a bound on all plans."""
    count = arms.upper.size
    arms = arms.useful(float(budgets.amount[-1]), _REACHED)
    budgets = budgets.below(float(arms.upper.sum()), bool(arms.whole.all()))
    most = float(budgets.amount[-1])
    able = arms.heights(np.full((count, 1), most))[:, 0] > 0.0
    if most == 0.0 or not able.any():
        return Plan(np.empty(0, dtype=np.int64), np.zeros(count), 0.0, 0.0)
    some = arms.only(able)
    line = Line.of(some, budgets, min(max(_CELLS, _CELLS_PER_ARM * int(able.sum())), _MOST_CELLS))
    line = line.cut(line.parts(0.0, _SEARCHED))
    order, cells, price = _search(line)
    amounts = np.minimum(line.width * cells, some.upper)
    amounts = np.where(some.whole, np.floor(amounts), amounts)
    order = order[amounts[order] > 0.0]
    value = worth(some, budgets, order, amounts)
    bound = _bound(line, price)
    if some.whole.all() and line.width == 1.0 and line.cells <= _COARSE and some.upper.size <= _EXACT_ARMS:
        bound = min(bound, value * (1.0 + 1e-5))  # every order and every unit was looked at, in single precision
    everyone, x = np.flatnonzero(able), np.zeros(count)
    x[everyone] = amounts
    return Plan(everyone[order], x, value, max(bound, value))


def worth(arms: Arms, budgets: Budgets, order: NDArray[np.int64], amounts: Floats) -> float:
    """Return the worth of a plan, exactly: sum over its slots of v p E[G(min(x, B - s))]."""
    starts = np.zeros(amounts.size)
    starts[order] = np.cumsum(amounts[order]) - amounts[order]
    lasted = np.clip(budgets.amount - starts[:, None], 0.0, amounts[:, None])
    return float(np.sum(arms.heights(lasted) @ budgets.mass))


def _search(line: Line) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return an order of all arms, the cells that each gets, and prices of all cells."""
    from headgate.kernels import plan as kernel  # noqa: PLC0415  # machine code loads on first use
    from headgate.kernels import plan_order  # noqa: PLC0415  # machine code loads on first use

    scale = float(line.gain.sum(axis=-1).max())  # tables are in single precision
    gain, survival = line.gain / scale, line.survival
    arms, by_cell = gain.shape[0], np.ascontiguousarray(gain.T)
    most = int(np.sqrt(_MOST_SLOTS / arms))
    nodes, every = line.nodes(min(max(_COARSE, 4 * arms), most)), np.arange(arms)
    table = plan_order.slot_worths(by_cell, survival, nodes)
    fine_nodes = line.nodes(min(max(_FINE, 8 * arms), most))
    fine = plan_order.slot_worths(by_cell, survival, fine_nodes)
    sweeps = int(np.clip(_EFFORT / (1.5 * arms**2 * nodes.size**2), 0, 20))
    if arms <= _EXACT_ARMS:
        order = plan_order.order_by_subsets(table, every)
        order, _ = plan_order.order_by_search(fine, order, 2, 1)
    else:
        lasting = np.concatenate([[0.0], np.cumsum(survival)])
        order = plan_order.order_by_greed(table, lasting[nodes], every)
        order, _ = plan_order.order_by_search(table, order, sweeps, int(arms <= _SWAP_ARMS))
    cells, value = kernel.amounts_in_order(gain, survival, order)
    price = _first_prices(line, order, cells) / scale
    for between, worths, close, steps in ((nodes, table, 1e-4, 100), (fine_nodes, fine, 1e-4, 40)):
        paid = np.concatenate([[0.0], np.cumsum(price)])[between]
        lower, _ = kernel.prices_between_nodes(worths, np.diff(paid), value, close, steps)
        price = _spread(lower, between)
    return order, cells, scale * price


def _first_prices(line: Line, order: NDArray[np.int64], cells: NDArray[np.int64]) -> Floats:
    """Return prices of cells to begin with: where a slot ends, what its last cell was worth; in between, smooth."""
    gain, survival = line.gain, line.survival
    tiny, served = 1e-12 * float(gain.max()), order[cells[order] > 0]
    slot = gain[served[0], : cells[served[0]]]
    later = float(slot @ survival[: slot.size] - slot[:-1] @ survival[1 : slot.size])  # what a later start would cost
    places, prices, end = [-0.5], [max(later, tiny)], 0
    for arm in served:
        size, begin, end = int(cells[arm]), end, end + int(cells[arm])
        worths = gain[arm, :size] * survival[begin:end]
        places.append(end - 0.5)
        prices.append(max(float(worths.mean() if line.arms.whole[arm] else worths[-1]), tiny))  # steps have no margin
    return np.exp(np.interp(np.arange(line.cells), places, np.log(prices)))


def _spread(price: Floats, nodes: NDArray[np.int64]) -> Floats:
    """Return prices of all cells from those between nodes: the same sums, and no steps where there need be none."""
    width = np.diff(nodes)
    tiny = 1e-12 * float(price.max(initial=0.0)) + 1e-300
    middle = 0.5 * (nodes[1:] + nodes[:-1]) - 0.5
    smooth = np.exp(np.interp(np.arange(nodes[-1]), middle, np.log(np.maximum(price / width, tiny))))
    total = np.add.reduceat(smooth, nodes[:-1])
    return np.asarray(smooth * np.repeat(price / total, width))


def _bound(line: Line, price: Floats) -> float:
    """Return what no plan exceeds, whatever its amounts."""
    from headgate.kernels import plan as kernel  # noqa: PLC0415  # machine code loads on first use

    shown = line.survival > 1e-3 * line.survival[0]
    rest = 0.5 * float(np.min(price[shown] / line.survival[shown]))
    parts = line.parts(rest, _BOUNDED)
    line, price = line.cut(parts), _spread(price, parts * np.arange(line.cells + 1))
    top = line.ceiling(rest / parts)
    dual = kernel.bound_at_prices(top.gain, top.first, top.survival, top.alive, top.inside, price)
    return float(dual + top.extra.sum())
