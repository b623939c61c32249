"""`LiveRound`: one round as it unfolds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import FeedbackError, ParameterError, ShapeError
from headgate.feedback import Feedback
from headgate.laws import Floats
from headgate.live.points import cascade_plan, checked_curves
from headgate.live.progress import Progress, Step, step_of
from headgate.live.terms import UNKNOWN, Horizon, check_way, checked_budget, in_units
from headgate.names import Amounts, checked_names
from headgate.oracle.limits import Limits

VERSION = 1
_ROUNDING = 1e-12  # a share of the budget that is not worth a step
_SETTINGS = ("value", "lower", "upper", "whole", "budget", "reward", "switching", "lookahead")


@final
class LiveRound:
    """A round handed out step by step: what a success did not need is free for the other arms.

    `next` says which arm to serve and how long at most, `report` what came of it, until `next` is None. The rule serves
    the arm with the most expected value per expected unit spent (`headgate.kernels.live`), with two or three arms left
    the one that is best by dynamic programming. Arms once begun may be left and taken up again.

    `policy.live` and `problem.live` make one; made by hand it plays any curves.

    Parameters
    ----------
    x, y
        The curves by points, as in `headgate.solve_curves`: the chance that an arm has succeeded by each amount, from
        (0, 0) on: (n,) or (K, n), and (K, n).
    budget
        What there is; None if nobody knows, and the round ends with `stop`; or several numbers, what budgets have
        been: then the next is taken to be one of them.
    value
        What a success of each arm is worth, >= 0.
    lower, upper
        The least that each arm is served with unless it succeeds before, and that comes first; and the most.
    whole
        Which arms are served in whole units.
    reward
        "sum": the value of all successes. "cascade": the first success ends the round.
    switching
        False: an arm once left is never taken up again.
    lookahead
        True: the best steps are compared by playing them to the end, some dozen times each. Slower, a little better.
    arms
        The arms' names; then `step.name` says which is served.

    Examples
    --------
    Two questions, 12 minutes. The first is answered after 2 of the 6 minutes it would have got:

    >>> live = LiveRound([0.0, 6.0, 12.0], [[0.0, 0.8, 0.8], [0.0, 0.3, 0.6]], budget=12.0)
    >>> live.next()
    Step(arm=0, amount=6.0)
    >>> live.report(success=True, spent=2.0)
    >>> live.next()
    Step(arm=1, amount=10.0)
    >>> live.report(success=False)
    >>> live.next() is None, live.x.tolist(), live.feedback.success.tolist()
    (True, [2.0, 10.0], [True, False])
    """

    __slots__ = (*_SETTINGS, "_at", "_choose", "_curves", "_horizon", "_known", "_open", "_owing", "names")

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        *,
        budget: ArrayLike | None = None,
        value: ArrayLike = 1.0,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        whole: ArrayLike = False,
        reward: Literal["sum", "cascade"] = "sum",
        switching: bool = True,
        lookahead: bool = False,
        arms: Sequence[str] | None = None,
    ) -> None:
        curves = checked_curves(x, y)
        names = None if arms is None else checked_names(arms, len(curves[1]))
        count = len(curves[1])
        worth = checks.numbers("value", value)
        if worth.shape not in {(), (count,)}:
            raise ShapeError(f"value must be one number or one for each of {count} arms, got shape {worth.shape}")
        if reward == "cascade" and np.any(worth != 1.0):
            raise ParameterError(f"value must be 1 with reward 'cascade', got {value!r}")
        amounts = None if budget is None else checked_budget(budget)
        units = np.ascontiguousarray(np.broadcast_to(np.asarray(whole, dtype=np.bool_), (count,)))
        most = UNKNOWN if amounts is None else float(amounts.max())
        limits = in_units(Limits.of(most, lower, upper, count), units)
        check_way(amounts, limits, reward, switching, lookahead)
        self._begin(curves, amounts, worth, limits, units, reward, switching, lookahead, names)

    @classmethod
    def trusted(
        cls, curves: tuple[Floats, Floats], budget: Floats | None, value: Floats | float, limits: Limits,
        whole: NDArray[np.bool_], *, reward: str, switching: bool, lookahead: bool,
        names: tuple[str, ...] | None = None,
    ) -> Self:  # fmt: skip
        """Begin a round of which everything has been checked: curves of shape (K, n), and limits in whole units."""
        live = cls.__new__(cls)
        live._begin(curves, budget, value, limits, whole, reward, switching, lookahead, names)  # noqa: SLF001  # its own
        return live

    def _begin(
        self, curves: tuple[Floats, Floats], budget: Floats | None, value: Floats | float, limits: Limits,
        whole: NDArray[np.bool_], reward: str, switching: bool, lookahead: bool, names: tuple[str, ...] | None,
    ) -> None:  # fmt: skip
        from headgate.kernels.live_step import next_step  # noqa: PLC0415  # machine code loads on first use

        arms, self.names = len(whole), names
        self._curves, self._choose, self._horizon = curves, next_step, Horizon.of(budget)
        self.budget, self.whole, self.reward = budget, whole, reward
        self.switching, self.lookahead = bool(switching), bool(lookahead)
        self.value, self.lower = np.full(arms, value), np.array(limits.lower)
        self.upper = np.minimum(limits.upper, curves[0][:, -1])
        if whole.any():
            self.upper = np.where(whole, np.floor(self.upper), self.upper)
        self._owing = bool(self.lower.any())
        if self._owing:
            self.upper = np.maximum(self.upper, self.lower)
        if reward == "cascade" and budget is not None and budget.ndim == 0:
            self.upper = cascade_plan(*curves, Limits(budget, self.lower, self.upper, free=False), whole)
        self._at, self._open = Progress.start(arms), self.upper.copy()  # the most of each arm that has not succeeded
        self._known = np.zeros((arms, 2))  # index and stretch of each arm; infinite: to be found
        self._known[:, 1] = np.inf

    # -- the round as it stands ----------------------------------------------------------------------------------------

    @property
    def arms(self) -> int:
        """The number of arms, K."""
        return len(self.whole)

    @property
    def x(self) -> Floats:
        """What each arm has had so far, (K,)."""
        spent = self._at.spent.copy()
        return spent if self.names is None else Amounts.of(spent, self.names)

    @property
    def left(self) -> float:
        """What is left of the budget; infinite if nobody knows it."""
        return max(self._horizon.most - self._at.gone, 0.0)

    @property
    def done(self) -> bool:
        """Whether the round is over."""
        return self._at.ended

    @property
    def feedback(self) -> Feedback:
        """What the round has told so far: of a success its threshold, if it was said; all other arms failed so far."""
        at = self._at
        return Feedback(at.won, np.where(at.won & at.told, at.spent, np.nan))

    @property
    def earned(self) -> float:
        """The value of the successes so far."""
        return float(self.value[self._at.won].sum())

    # -- playing -------------------------------------------------------------------------------------------------------

    def next(self) -> Step | None:
        """Return the next step, the same one until it is reported; None when the round is over."""
        at = self._at
        if at.step is None and not at.ended:
            at.step = self._lower_step() or self._chosen_step()
            at.ended = at.step is None
        return at.step

    def report(self, *, success: bool, spent: float | None = None) -> None:
        """Say what came of the step: whether the arm succeeded, and what it was served with until then.

        By default that is the step's whole amount. Less of it without success means that the arm was left early, and
        the rest is handed out again. A success whose `spent` is not said has a threshold that nobody has seen.
        """
        at, step = self._at, self._at.step
        if step is None:
            raise FeedbackError(f"there is no step to report{' after the end' * at.ended}: ask for one with next()")
        if success not in (True, False):
            raise FeedbackError(f"success must be true or false, got {success!r}")
        amount = step.amount if spent is None else _one_number(spent)
        if amount > step.amount * (1.0 + _ROUNDING):
            raise FeedbackError(f"spent must be at most the step's amount {step.amount:g}, got {spent!r}")
        if self.whole[step.arm] and amount != np.floor(amount):
            raise FeedbackError(f"spent must be whole for arm {step.arm}, which counts in whole units, got {spent!r}")
        if success and at.spent[step.arm] + amount <= 0.0:
            raise FeedbackError("an arm cannot succeed with nothing, got spent 0")
        amount = min(amount, step.amount)
        at.spent[step.arm] += amount
        at.gone += amount
        at.step = None
        self._known[step.arm, 1] = np.inf
        if at.order is not None:
            at.order.remove(step.arm)
        if success:
            at.won[step.arm], self._open[step.arm], at.told[step.arm] = True, 0.0, spent is not None
            at.ended = self.reward == "cascade"

    def stop(self) -> None:
        """End the round: the budget is gone. A step that was not reported has not been served."""
        self._at.ended, self._at.step = True, None

    def _lower_step(self) -> Step | None:
        if self._owing:
            at = self._at
            waiting = np.flatnonzero((at.spent < self.lower) & ~at.won)
            if waiting.size:
                arm = int(waiting[0])
                return step_of(arm, float(self.lower[arm] - at.spent[arm]), self.names)
            self._owing = False
        return None

    def _chosen_step(self) -> Step | None:
        left = self.left
        if left <= _ROUNDING * min(self._horizon.most, UNKNOWN):
            return None
        with np.errstate(all="ignore"):  # infinity less infinity inside a kernel is no news to the caller
            arm, amount = self._best_step(left) if self.switching else self._ordered_step(left)
        if arm >= 0:
            amount = self._within(int(arm), float(amount))
        return step_of(int(arm), amount, self.names) if arm >= 0 and amount > 0.0 else None

    def _within(self, arm: int, amount: float) -> float:
        """Return the amount without what rounding would put above the budget, at the last step."""
        at, most = self._at, self._horizon.most
        if at.gone + amount > most * (1.0 - _ROUNDING):
            after = at.spent.copy()
            after[arm] += amount
            while amount > 0.0 and (over := float(after.sum()) - most) > 0.0:
                amount = max(amount - max(over, float(np.spacing(most))), 0.0)
                after[arm] = at.spent[arm] + amount
        return amount

    def _best_step(self, left: float) -> tuple[int, float]:
        times, chances, _ = self._horizon
        arm, amount = self._choose(
            *self._curves, self.value, self.whole, self.reward == "cascade", self._open, self._at.spent, left,
            self._at.gone, times, chances, self.lookahead, self._known,
        )  # fmt: skip
        return arm, amount

    def _ordered_step(self, left: float) -> tuple[int, float]:
        """Without switching: the arms in the order of their indices at the start, each as long as it is best."""
        from headgate.kernels.live_ordered import first_stretch, start_index  # noqa: PLC0415  # likewise

        at = self._at
        if at.order is None:
            index = start_index(*self._curves, self.value, self.whole, self._open, at.spent, left)
            at.order = np.argsort(-index, kind="stable").tolist()
        while at.order:
            amount, _ = first_stretch(
                *self._curves, self.value, self.whole, self._open, at.spent, left, np.array(at.order)
            )
            if amount > 0.0:
                return at.order[0], float(amount)
            at.order.pop(0)
        return -1, 0.0

    # -- as a value ----------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Write the round as it stands; `LiveRound.from_json` goes on from there to the bit."""
        settings = dict(zip("xy", self._curves, strict=True)) | {name: getattr(self, name) for name in _SETTINGS}
        settings = {
            name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in settings.items()
        }
        named = {} if self.names is None else {"arms": self.names}
        return json.dumps({"version": VERSION, **settings, **named, "state": self._at.to_dict()}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote."""
        try:
            data = json.loads(text)
            if data.pop("version") != VERSION:
                raise ParameterError(f"a live round of another version than {VERSION} cannot be read")
            state, upper = data.pop("state"), np.array(data["upper"], dtype=np.float64)
            live = cls(**data)
            live.upper[...] = upper  # as it was, where a cascade was planned
            live._at = Progress.from_dict(state, live.upper, live.whole, live.names)
            live._open = np.where(live._at.won, 0.0, live.upper)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as cause:
            raise ParameterError(f"this is no live round, or a damaged one: {cause}") from cause
        return live

    def __repr__(self) -> str:
        left = "an unknown budget" if self.budget is None else f"{self.left:.6g}"
        state = "over" if self.done else f"{left} left"
        at = self._at
        return f"LiveRound({self.arms} arms, {int(at.won.sum())} successes, {at.gone:.6g} spent, {state})"


def _one_number(spent: object) -> float:
    """Return what was spent, if it is one number >= 0."""
    if type(spent) is float and 0.0 <= spent < np.inf:
        return spent
    amount = checks.numbers("spent", spent, FeedbackError)  # type: ignore[arg-type]  # it says so, if it is none
    if amount.ndim or isinstance(spent, bool):
        raise FeedbackError(f"spent must be one number, got {spent!r}")
    return float(amount)
