"""A problem: arms with their true parameters, and the best that can be done with a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from headgate import checks
from headgate.errors import BudgetError, UnsupportedError
from headgate.live import LiveRound
from headgate.live.points import curve_points, reach_of
from headgate.live.terms import UNKNOWN, check_way, checked_budget, in_units
from headgate.names import ByArm
from headgate.oracle import Allocation, Reward, maximise
from headgate.oracle.inverse import budget_for, solve_at_price
from headgate.oracle.kinds import maximise_kinds
from headgate.oracle.limits import check_batch
from headgate.oracle.live_bound import live_bound
from headgate.oracle.plan import Plan, arms_of, best_plan, check_budgets
from headgate.oracle.terms import Terms
from headgate.problem import file
from headgate.problem.arms import KnownArms
from headgate.problem.given import upper_of_eligible
from headgate.problem.parts import arguments_of, measured_curves, one_round, table_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Problem(KnownArms):
    """K arms whose thresholds follow a law, with the activation and the rate of each.

    The last axis of every array is arms; leading axes are a batch of independent problems. A problem does
    not change: its arrays are copies and cannot be written to.

    Parameters
    ----------
    law
        The law of every arm, or a sequence of one law per arm. `problem.law` is its simplest form: a
        sequence of Weibull laws becomes one Weibull law with a shape per arm.
    activation
        The probability p that an arm is active at all, within [0, 1]: (..., K), or one number for all.
    rate
        The rate lambda of each arm's law, > 0: (..., K), or one number for all.
    names, arms
        A name for each arm, all different; by default arm0, arm1, ... `arms=[...]` says the same by keyword. What is
        asked and answered may then be by name: `solve(40.0, lower={"q1": 2.0}).x["q1"]`.
    value
        What a success of each arm is worth, >= 0: (..., K), one number for all, or by name; 1 by default.
    kinds
        Rounds of hidden kinds, in which arms share their fate: how frequent each kind is, (Q,), adding up to 1.
        Then activation and rate are (..., Q, K), and `law` may be Q sequences of K laws. Without kinds every round is
        like every other and its arms are independent.
    units
        What the budget is counted in, for people to read.
    provenance
        Where the numbers come from: anything that TOML can hold.

    Examples
    --------
    >>> from headgate.laws import Exponential
    >>> problem = Problem(Exponential(), activation=[0.9, 0.5], rate=[1.0, 2.0], arms=["a", "b"])
    >>> problem
    Problem(Exponential(), arms=[a, b])
    >>> problem.solve(2.0).x
    Amounts({'a': 1.29821, 'b': 0.701787})
    >>> problem.expected_reward([1.0, 1.0]).round(6).item()
    1.001241

    Easy rounds and hard ones, each as frequent: two arms are hardly better than one.

    >>> shared = Problem(Exponential(), [[1.0, 1.0], [0.1, 0.1]], 9.0, kinds=[0.5, 0.5])
    >>> shared
    Problem(Exponential(), arms=2, kinds=2)
    >>> shared.expected_reward([1.0, 1.0], "cascade").round(3).item()
    0.595
    """

    def solve(
        self,
        budget: ArrayLike | None = None,
        *,
        price: float | None = None,
        lower: ByArm = 0.0,
        upper: ByArm = np.inf,
        eligible: ByArm = True,
        value: ByArm | None = None,
        reward: Reward = "sum",
        tol: float = 1e-9,
        max_nodes: int | None = None,
    ) -> Allocation:
        """Return the best allocation of `budget`, or of whatever is worth `price`, with its certificate.

        Parameters
        ----------
        budget
            One number, or one per batch row.
        price
            Instead of a budget: what a unit costs, > 0. Every arm gets what maximises v_i p_i G_i(x) - price x; no
            allocation that spends as little is worth more.
        lower, upper
            The least and the most each arm may get: one number, or (..., K).
        eligible
            Which arms take part at all; the others get 0.
        value
            What a success of each arm is worth this time, in place of the problem's own.
        reward
            "sum", or "cascade": the chance of at least one success. Then values must be 1, and the arms are taken to
            be independent, with kinds in rounds of one kind; `allocation.assumes` says which.
        tol, max_nodes
            When to stop: `headgate.solve`. A cascade with kinds solves at most 33 linear programmes unless `max_nodes`
            allows more, and `gap` is what they leave (`headgate.oracle.kinds`).
        """
        values, able, low, high = self._by_name(value, eligible, lower, upper)
        worth = self.value if values is None else checks.numbers("value", values)
        self._check_reward(reward, worth)
        high = upper_of_eligible(high, able, low)
        names = self.names if self.named else None
        if (budget is None) == (price is None):
            raise BudgetError(f"either a budget or a price must be given, got budget {budget!r} and price {price!r}")
        if budget is None:
            self._check_alike("a price")
            if price is None or reward != "sum":
                raise UnsupportedError("a price buys each arm by itself: it needs reward 'sum'")
            best = solve_at_price(self.law, self.activation * worth, self.rate, price, lower=low, upper=high)
            return best.labelled(names, self.units)
        terms = Terms.of(self.arms, budget, lower=low, upper=high, reward=reward, tol=tol, max_nodes=max_nodes)
        check_batch({"activation": self.batch, "value": worth.shape[:-1]}, terms.limits)
        if self.kinds is not None:
            best = maximise_kinds(self.law, self.kinds, self.activation, self.rate, worth, terms)
        else:
            best = maximise(self.law, self.activation * worth, self.rate, terms)
        return best.labelled(names, self.units)

    def live(
        self,
        budget: ArrayLike | None = None,
        *,
        value: ByArm | None = None,
        eligible: ByArm = True,
        lower: ByArm = 0.0,
        upper: ByArm = np.inf,
        reward: Reward = "sum",
        switching: bool = True,
        lookahead: bool = False,
    ) -> LiveRound:
        """Begin a round that is handed out step by step, by one who knows the curves.

        `budget` is one number, None if nobody knows it, or several that it may be; the others are as in `solve` and
        `headgate.LiveRound`.

        Examples
        --------
        >>> from headgate.laws import Weibull
        >>> live = Problem(Weibull(3.0), activation=[0.9, 0.8], rate=[0.2, 0.1]).live(12.0)
        >>> live.next().arm
        0
        """
        self._check_single("a live round")
        self._check_alike("a live round", ": in a cascade serve what `solve` gives until the first success")
        amounts, whole = None if budget is None else checked_budget(budget), self.law.whole_arms(self.arms)
        most = UNKNOWN if amounts is None else float(amounts.max())
        names = self.names if self.named else None
        worth, limits = one_round(self, most, *self._by_name(value, eligible, lower, upper))
        self._check_reward(reward, worth)
        limits = in_units(limits, whole)
        check_way(amounts, limits, reward, switching, lookahead)
        reach = reach_of(self.law, self.rate) if amounts is None else most
        curves = curve_points(self.law, self.activation, self.rate, np.minimum(limits.upper, reach), whole)
        return LiveRound.trusted(
            curves, amounts, worth, limits, whole, reward=reward, switching=switching, lookahead=lookahead, names=names
        )

    def live_bound(
        self,
        budget: float,
        *,
        value: ByArm | None = None,
        eligible: ByArm = True,
        lower: ByArm = 0.0,
        upper: ByArm = np.inf,
        reward: Reward = "sum",
    ) -> Allocation:
        """Return what no way of playing a live round of this budget can exceed, in expectation.

        `.value` and `.bound` are that number, `.price` what a little more budget adds to it; `.x` is up to where each
        arm would be served if only expected spends had to keep to the budget (`headgate.oracle.live_bound`). A cascade
        learns nothing before it ends: its bound is that of the planned round.
        """
        self._check_single("a live bound")
        amount = checks.numbers("budget", budget, BudgetError)
        if amount.ndim:
            raise BudgetError(f"budget must be one number, got {budget!r}")
        worth, limits = one_round(self, float(amount), *self._by_name(value, eligible, lower, upper))
        self._check_reward(reward, worth)
        if reward == "cascade":
            best = self.solve(float(amount), lower=limits.lower, upper=limits.upper, reward=reward)
            return replace(best, value=best.bound)
        self._check_alike("the bound of a live round")
        whole = self.law.whole_arms(self.arms)
        bound = live_bound(self.law, self.activation, worth, self.rate, in_units(limits, whole), whole)
        return bound.labelled(self.names if self.named else None, self.units)

    def budget_for(self, target: float, **options: Any) -> Allocation:
        """Return the least budget that buys an expected reward of `target`: an allocation of it.

        `allocation.value` is at least the target, and no budget smaller by more than 1e-9 of it buys as much: that is
        proved by the bound there, wherever its gap is closed. `options` are those of `solve`. A target that no budget
        buys is an error.
        """
        self._check_single("a target")
        self._check_alike("a target")
        scale = float(np.max(np.where(self.activation * self.value > 0.0, 1.0 / self.rate, 0.0), initial=0.0))
        whole = bool(self.law.whole_arms(self.arms).all())
        return budget_for(lambda budget: self.solve(budget, **options), target, scale, whole=whole)

    def frontier(self, budgets: ArrayLike, **options: Any) -> Allocation:
        """Return the best allocation of each of `budgets` (C,): value, price and amounts along a leading axis C.

        Every one is optimal by itself, with its own certificate; `options` are those of `solve`.
        `headgate.figures.draw_frontier` draws it.
        """
        amounts = checks.numbers("budgets", budgets, BudgetError)
        if amounts.ndim != 1 or amounts.size == 0:
            raise BudgetError(f"budgets must be a sequence of numbers, got {budgets!r}")
        return self.solve(amounts.reshape(-1, *(1,) * len(self.batch)), **options)

    def plan(
        self,
        budgets: ArrayLike,
        *,
        value: ByArm | None = None,
        eligible: ByArm = True,
        upper: ByArm = np.inf,
    ) -> Plan:
        """Return order and amounts for a budget that nobody knows, without going back to an arm, with a certificate.

        The definition is that of `headgate.oracle.plan`.

        Parameters
        ----------
        budgets
            What budgets have been, or may be, each as likely as it is frequent here: numbers >= 0, at least one.
        value
            What a success of each arm is worth this time, in place of the problem's own.
        eligible
            Which arms take part at all; the others get 0.
        upper
            The longest that each arm may be served: one number, or (K,).

        Examples
        --------
        >>> from headgate.laws import Exponential
        >>> problem = Problem(Exponential(), activation=[0.9, 0.6], rate=[0.1, 1.0])
        >>> plan = problem.plan([2.0, 4.0, 20.0])
        >>> plan.order.tolist(), round(plan.value, 3), plan.gap < 1e-3
        ([1, 0], 0.83, True)
        """
        self._check_single("a plan")
        self._check_alike("a plan")
        law = check_budgets(budgets)
        worth, limits = one_round(self, float(law.amount[-1]), *self._by_name(value, eligible, 0.0, upper))
        self._check_reward("sum", worth)
        plan = best_plan(arms_of(self.law, self.activation * worth, self.rate, limits.upper), law)
        return plan.labelled(self.names if self.named else None, self.units)

    @classmethod
    def from_curves(cls, x: ArrayLike, y: ArrayLike, names: Sequence[str] | None = None, **details: Any) -> Self:
        """Make a problem of measured curves, straight between their points.

        Parameters
        ----------
        x
            Amounts, growing from 0 on: (n,) for all arms, or (K, n).
        y
            What each arm returns there, from 0 on, not falling: (K, n). Probabilities of success, or, if any of them
            exceeds 1, amounts. An arm's last point is its activation (of amounts, its value), the curve's shape its
            law (`headgate.laws.Points`), and its rate is 1.
        names, details
            As for `Problem`: `names` or `arms`, `value`, `units`, `provenance`.

        Examples
        --------
        >>> problem = Problem.from_curves([0.0, 1.0, 3.0], [[0.0, 0.1, 0.9], [0.0, 0.3, 0.5]], names=["a", "b"])
        >>> problem.solve(3.5).x.tolist()
        [3.0, 0.5]
        """
        laws, top = measured_curves(x, y)
        if np.any(top > 1.0):
            return cls(laws, 1.0, 1.0, names, value=top * np.asarray(details.pop("value", 1.0)), **details)
        return cls(laws, top, 1.0, names, **details)

    @classmethod
    def from_toml(cls, source: str | Path) -> Self:
        """Read a problem from a TOML file, or from TOML text (`headgate.problem.file` has the format)."""
        return cls(**arguments_of(file.read(source)))

    def to_toml(self, path: str | Path | None = None) -> str:
        """Return the problem as TOML text, and write it to `path` if there is one; nothing is lost."""
        text = file.dumps(table_of(self))
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text


def load_problem(path: str | Path) -> Problem:
    """Read a problem from a TOML file."""
    return Problem.from_toml(Path(path))
