"""Policies that act on estimates: they hand weights and rates to the oracle, or pour along its path."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from headgate import checks
from headgate.errors import BudgetError, UnsupportedError
from headgate.evidence import Evidence, budget_law
from headgate.laws import Floats
from headgate.laws.standard import Standard
from headgate.live.points import curve_points
from headgate.oracle import Limits, maximise, standard_form
from headgate.oracle.line import Budgets
from headgate.oracle.plan import Plan, arms_of, best_plan
from headgate.oracle.terms import Terms
from headgate.policies.ask import Ask
from headgate.policies.base import Policy
from headgate.policies.rule import Portions

_BLOCKS = 1024  # parts of the largest budget that are poured one by one if no step is named


class Curves(NamedTuple):
    """What the oracle is to maximise: weight times G(., rate), arm by arm, (..., K) each."""

    weight: Floats
    """The activation believed in, or a bound on it."""
    rate: Floats
    form: Standard | None = None
    """The law's standard form, where its shapes are believed in too."""


class Belief(NamedTuple):
    """What an allocation was the best for: for those who ask why. It is no part of a state."""

    curves: Curves
    """As they were drawn or estimated, before values weigh them."""
    price: Floats
    """The multiplier of the budget."""
    slope: Floats | None = None
    """Of the curves by points that were used instead, weighted, at what each arm got: (..., K)."""


def belief_of(policy: Policy) -> Belief | None:
    """Take out what the last allocation of a policy was the best for; None if it does not say, or was asked before."""
    belief: Belief | None = vars(policy).pop("_belief", None)
    return belief


def slopes(x: Floats, y: Floats, at: Floats) -> Floats:
    """Return the slopes of curves by points, x (n,) and y (K, n), up to what each arm has: (K,).

    >>> slopes(np.array([0.0, 1.0, 2.0]), np.array([[0.0, 0.5, 0.6]]), np.array([2.0]))
    array([0.1])
    """
    place = np.clip(np.searchsorted(x, at), 1, x.size - 1)
    arms = np.arange(len(y))
    return np.asarray((y[arms, place] - y[arms, place - 1]) / (x[place] - x[place - 1]))


class ModelPolicy(Policy):
    """A policy given by the curves it believes in, round by round: x maximises sum_i v_i w_i G(x_i, rate_i).

    A policy of your own writes `curves`; the oracle, limits, values, rewards, pouring and JSON come with it.
    """

    #: Relative precision that a learner's allocation needs; its estimates are never that good.
    tolerance: ClassVar[float] = 1e-6
    max_nodes: ClassVar[int] = 200

    @abstractmethod
    def curves(self, state: Any) -> Curves:
        """Return the curves to act on in this round."""

    def everything_on(self, arm: int) -> Curves:
        """Return curves that send all of the budget to one arm."""
        weight = np.zeros((*self.batch, self.arms))
        weight[..., arm] = 0.5
        return Curves(weight, np.full_like(weight, 1.0 / self.max_budget))

    def curves_for(self, state: Any, ask: Ask) -> Curves:
        """Return the curves to act on in a round that may differ from others; the usual way does not look at it."""
        del ask
        return self.curves(state)

    def _believed(self, state: Any, ask: Ask) -> Curves:
        """The curves to act on, weighted by value."""
        return self._weighted(self.curves_for(state, ask), ask)

    def _weighted(self, curves: Curves, ask: Ask) -> Curves:
        """Weight curves by value; equal weights where nothing is believed to be worth a thing."""
        weight, rate, form = curves
        worth = weight if ask.value is None else weight * ask.value
        if worth.min() <= 0.0:
            hopeless = ~np.any(worth > 0.0, axis=-1, keepdims=True)
            worth = np.where(hopeless, 0.5 if ask.value is None else 0.5 * ask.value, worth)
        return Curves(np.minimum(worth, 1.0) if self.reward == "cascade" else worth, rate, form)

    def split(self, state: Any, ask: Ask) -> Floats:
        """Return the allocation that is best for the curves."""
        curves = self.curves_for(state, ask)
        return self._best(curves, ask)

    def _best(self, curves: Curves, ask: Ask) -> Floats:
        """The best allocation for the curves, which are still to be weighted by value."""
        weight, rate, form = self._weighted(curves, ask)
        best = maximise(self.laws, weight, rate, Terms(ask.limits, self.reward, self.tolerance, self.max_nodes), form)
        vars(self)["_belief"] = Belief(curves, best.price)
        return best.x

    def points(self, state: Any, ask: Ask) -> tuple[Floats, Floats]:
        """Return the curves by points."""
        return self._points_of(self.curves_for(state, ask), ask)

    def _points_of(self, curves: Curves, ask: Ask) -> tuple[Floats, Floats]:
        """Curves by points; where nothing is believed to succeed, all arms are alike."""
        weight, rate, form = curves
        weight = np.where(np.any(weight > 0.0, axis=-1, keepdims=True), np.minimum(weight, 1.0), 0.5)
        whole = np.broadcast_to(self.whole, weight.shape[-1:])
        return curve_points(self.laws, weight, rate, np.minimum(ask.limits.upper, self.max_budget), whole, form)

    def decide_plan(self, state: Any, ask: Ask) -> tuple[Plan, Any]:
        """Begin a round of one slot after the other: return the best plan for the curves and the budgets observed."""
        if self.batch or self.reward != "sum" or ask.limits.lower.any():
            raise UnsupportedError(
                "a plan is for a single learner, adds up successes, and cannot promise a least amount, got batch "
                f"{self.batch}, reward {self.reward!r} and lower {ask.limits.lower}"
            )
        if ask.round is not None:
            state.round = ask.round
        budgets = Evidence.empty(1, self.max_budget) if state.budgets is None else state.budgets
        with np.errstate(all="ignore"):  # infinity times 0 inside a kernel is no news to the caller
            weight, rate, form = self._believed(state, ask)
            plan = best_plan(arms_of(self.laws, weight, rate, ask.limits.upper, form), Budgets(*budget_law(budgets)))
        self._end_decision(state)
        return plan, state

    def decide_pour(
        self, state: Any, ask: Ask, step: float | None = None, resolution: float | None = None
    ) -> tuple[Portions, Any]:
        """Begin a round whose budget nobody knows yet: return portions up to the budget of `ask`, and the state.

        The lower limits are poured first. Without `step` this walks the oracle's path in blocks of `resolution` (by
        default max_budget / 1024): after each block the arms have what `decide` would have given them at that budget
        (the paper's MG-UCB). With `step` each step goes to the arm that gains most by it (MG-UCB-Delta); this is the
        best allocation in such steps, and loses at most (K + 1) G_max step against `decide`. Arms that count in whole
        units get at least one at a time.

        S-shaped laws: no way of pouring is best at every budget, because what was poured cannot be taken back. This
        one is the best on the concave hulls of the curves: an arm once begun is taken to its point of tangency before
        any other gets more. It is the optimum at every budget at which no arm is on its way there; at the others it may
        lose as much as a curve lies below its hull, which for the first arm of all can be all of its worth.
        """
        size, limits = self._step(step, resolution), ask.limits
        if ask.round is not None:
            state.round = ask.round
        with np.errstate(all="ignore"):  # infinity times 0 inside a kernel is no news to the caller
            curves = self._believed(state, ask)
            exact = step is None and not self._any_whole
            arms, amounts = (self._along_path if exact else self._greedily)(curves, limits, size)
        first = np.flatnonzero(limits.lower > 0.0)
        portions = np.concatenate([first, arms]), np.concatenate([limits.lower[first], amounts])
        self._end_decision(state)
        return portions, state

    def _step(self, step: float | None, resolution: float | None) -> float:
        """Check how finely to pour."""
        if self.batch:
            raise UnsupportedError(f"only a single learner pours, this is a batch of shape {self.batch}")
        if step is not None and resolution is not None:
            raise BudgetError(f"give step or resolution, not both, got {step!r} and {resolution!r}")
        fine = self.max_budget / _BLOCKS if resolution is None else resolution
        default = 1.0 if self.whole.all() else fine
        size = checks.numbers("step", default if step is None else step, BudgetError, open_least=True)
        if size.ndim or (self.whole.all() and size != np.floor(size)):
            raise BudgetError(f"step must be one number, and whole for thresholds that are, got {step!r}")
        return float(size)

    def _along_path(self, curves: Curves, limits: Limits, block: float) -> Portions:
        """The increments between points of the oracle's path."""
        least, most = limits.lower.sum(), float(limits.budget)
        budgets = np.append(np.arange(least + block, most * (1.0 - 1e-12), block), most)
        # One hull for all budgets, reaching to the largest: only so no arm's amount ever shrinks.
        upper = np.minimum(limits.upper, limits.lower + (most - least))
        along = Limits(budgets, limits.lower, upper, limits.free)
        points = maximise(self.laws, curves.weight, curves.rate, Terms(along, self.reward, 0.0, 0), curves.form).x
        points = np.maximum.accumulate(points, axis=0)
        steps = np.diff(points, axis=0, prepend=limits.lower[None])
        block_of, arms = np.nonzero(steps > 0.0)
        return arms.astype(np.int64), steps[block_of, arms]

    def _greedily(self, curves: Curves, limits: Limits, step: float) -> Portions:
        """Step by step, each to the arm whose hull gains most by it."""
        from headgate.kernels.pour import pour_order  # noqa: PLC0415  # machine code loads on first use

        arms = curves.weight.shape[-1]
        form, whole = curves.form or standard_form(self.laws, arms), np.broadcast_to(self.whole, (arms,))
        steps = np.where(whole, np.ceil(step), step)
        room = np.zeros(int(np.ceil(self.max_budget / steps.min())) + arms)
        order, amounts = pour_order(
            form.base, form.a, form.b, form.shift, form.cap, form.table, curves.weight, curves.rate, limits.lower,
            limits.upper, steps, whole, limits.budget, float(self.reward == "cascade"), room,
        )  # fmt: skip
        poured = order >= 0
        return order[poured], amounts[poured]
