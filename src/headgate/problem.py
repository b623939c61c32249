"""A problem: arms, the law of their thresholds and their true parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from headgate import checks, problem_file
from headgate.errors import AllocationError, BudgetError, ParameterError, ShapeError, UnknownArmError, UnsupportedError
from headgate.feedback import Feedback
from headgate.laws import Floats, Law, PerArm, Points, as_law, simplest
from headgate.oracle import REWARDS, Allocation, solve
from headgate.oracle.curves import check_points
from headgate.oracle.inverse import budget_for, solve_at_price

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Reward = Literal["sum", "cascade"]


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Problem:
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
    names
        A name for each arm, all different; by default arm0, arm1, ...
    value
        What a success of each arm is worth, >= 0: (..., K), or one number for all; 1 by default.
    units
        What the budget is counted in, for people to read.
    provenance
        Where the numbers come from: anything that TOML can hold.

    Examples
    --------
    >>> from headgate.laws import Exponential
    >>> problem = Problem(Exponential(), activation=[0.9, 0.5], rate=[1.0, 2.0], names=["a", "b"])
    >>> problem
    Problem(Exponential(), arms=2)
    >>> problem.expected_reward([1.0, 1.0]).round(6).item()
    1.001241
    """

    law: Law
    activation: Floats
    rate: Floats
    value: Floats
    names: tuple[str, ...]
    units: str | None
    provenance: Mapping[str, Any]

    def __init__(
        self,
        law: Law | Sequence[Law],
        activation: ArrayLike,
        rate: ArrayLike,
        names: Sequence[str] | None = None,
        *,
        value: ArrayLike = 1.0,
        units: str | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        joined = as_law(law)
        p = checks.numbers("activation", activation, most=1.0)
        lam = checks.numbers("rate", rate, open_least=True)
        worth = checks.numbers("value", value)
        shape = _shape_of_arms(
            {"activation": p.shape, "rate": lam.shape, "value": worth.shape, "law": joined.arm_axis()}
        )
        for name, array in (("activation", p), ("rate", lam), ("value", worth)):
            fresh = np.array(np.broadcast_to(array, shape))
            fresh.flags.writeable = False
            object.__setattr__(self, name, fresh)
        object.__setattr__(self, "law", simplest(joined))
        object.__setattr__(self, "names", _checked_names(names, shape[-1]))
        object.__setattr__(self, "units", units)
        object.__setattr__(self, "provenance", deepcopy(dict(provenance or {})))

    @property
    def arms(self) -> int:
        """The number of arms, K."""
        return int(self.rate.shape[-1])

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch; () for a single problem."""
        return self.rate.shape[:-1]

    def arm(self, name: str) -> int:
        """Return the position of the arm of that name."""
        if name not in self.names:
            known = ", ".join(self.names[:8]) + (", ..." if self.arms > 8 else "")
            raise UnknownArmError(f"there is no arm {name!r}: the {self.arms} arms are {known}")
        return self.names.index(name)

    def success_probability(self, x: ArrayLike) -> Floats:
        """Return p_i G_i(x_i): the probability that each arm succeeds with its allocation."""
        return self.activation * self.law.cdf(self._allocation(x), self.rate)

    def expected_reward(self, x: ArrayLike, reward: Reward = "sum") -> Floats:
        """Return the expected value of all successes, or for a cascade the probability of at least one.

        sum_i v_i p_i G_i(x_i), and 1 - prod_i (1 - p_i G_i(x_i)) if the arms are independent.
        """
        self._check_reward(reward)
        success = self.success_probability(x)
        if reward == "sum":
            return np.asarray(np.sum(self.value * success, axis=-1))
        with np.errstate(divide="ignore"):
            return np.asarray(-np.expm1(np.sum(np.log1p(-success), axis=-1)))

    def marginal(self, x: ArrayLike, reward: Reward = "sum") -> Floats:
        """Return the gain per unit that a little more on each arm would bring.

        For an arm with whole-number thresholds it is the gain of the next whole unit.
        """
        self._check_reward(reward)
        amount = self._allocation(x)
        integer = self.law.whole_arms(self.arms)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            density = self.law.pdf(np.where(integer, np.floor(amount) + 1.0, amount), self.rate)
            weight = self.activation * self.value
            slope = np.where(weight > 0.0, weight * density, 0.0)
        if reward == "sum":
            return slope
        # The product of 1 - p_j G_j over j != i, from both ends: no division by an arm that never fails.
        failure = 1.0 - self.success_probability(amount)
        before, after = np.ones_like(failure), np.ones_like(failure)
        before[..., 1:] = np.cumprod(failure[..., :-1], axis=-1)
        after[..., :-1] = np.cumprod(failure[..., :0:-1], axis=-1)[..., ::-1]
        return slope * before * after

    def play(self, x: ArrayLike, rng: np.random.Generator) -> Feedback:
        """Play one round: an arm succeeds if it is active and its threshold is at most its allocation.

        The draws do not depend on the amounts in `x`: first a uniform number for each arm's activation,
        then its threshold. So a generator in the same state gives the same world to every allocation of
        the same shape, and policies are compared on common random numbers.
        """
        if not isinstance(rng, np.random.Generator):
            raise ParameterError(f"rng must be a numpy.random.Generator, got {rng!r}")
        amount = self._allocation(x)
        size = np.broadcast_shapes(amount.shape, self.rate.shape)
        active = rng.random(size) < self.activation  # ~ Bernoulli(p)
        drawn = self.law.sample(self.rate, rng, size)  # ~ G(., lambda)
        # A draw that underflows to 0 would be reached by an allocation of 0.
        threshold = np.maximum(drawn, np.finfo(np.float64).tiny)
        success = active & (threshold <= amount)
        return Feedback(success, np.where(success, threshold, np.nan))

    def solve(
        self,
        budget: ArrayLike | None = None,
        *,
        price: float | None = None,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        eligible: ArrayLike = True,
        value: ArrayLike | None = None,
        reward: Reward = "sum",
        tol: float = 1e-9,
        max_nodes: int = 10_000,
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
            "sum", or "cascade": the chance of at least one success, arms independent. Then values must be 1.
        tol, max_nodes
            When to stop: `headgate.solve`.
        """
        worth = self.value if value is None else checks.numbers("value", value)
        self._check_reward(reward, worth)
        able = _eligible(eligible, lower)
        upper = np.where(able, upper, 0.0) if able is not None else upper
        weight = self.activation * worth if np.any(worth != 1.0) else self.activation
        if (budget is None) == (price is None):
            raise BudgetError(f"either a budget or a price must be given, got budget {budget!r} and price {price!r}")
        if budget is None:
            if price is None or reward != "sum":
                raise UnsupportedError("a price buys each arm by itself: it needs reward 'sum'")
            return solve_at_price(self.law, weight, self.rate, price, lower=lower, upper=upper)
        return solve(
            self.law, weight, self.rate, budget, lower=lower, upper=upper, reward=reward, tol=tol, max_nodes=max_nodes
        )  # fmt: skip

    def budget_for(self, target: float, **options: Any) -> Allocation:
        """Return the least budget that buys an expected reward of `target`: an allocation of it.

        `allocation.value` is at least the target, and no budget smaller by more than 1e-9 of it buys as much: that is
        proved by the bound there. `options` are those of `solve`. A target that no budget buys is an error.
        """
        if self.batch != ():
            raise UnsupportedError(f"a target is for one problem, this is a batch of shape {self.batch}")
        weight = self.activation * self.value
        scale = float(np.max(np.where(weight > 0.0, 1.0 / self.rate, 0.0), initial=0.0))
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
            As for `Problem`: `names`, `value`, `units`, `provenance`.

        Examples
        --------
        >>> problem = Problem.from_curves([0.0, 1.0, 3.0], [[0.0, 0.1, 0.9], [0.0, 0.3, 0.5]], names=["a", "b"])
        >>> problem.solve(3.5).x.tolist()
        [3.0, 0.5]
        """
        amounts, heights = check_points(x, y, "sum")
        if heights.ndim != 2 or np.any(amounts[:, 0] != 0.0) or np.any(heights[:, 0] != 0.0):
            raise ParameterError(f"curves of a problem must be (K, n) and begin at (0, 0), got shape {heights.shape}")
        top = heights[:, -1]
        idle = np.linspace(0.0, 1.0, heights.shape[1])  # an arm that never succeeds may have any law
        shape = np.where(top[:, None] > 0.0, heights / np.where(top > 0.0, top, 1.0)[:, None], idle)
        laws = [Points(tuple(a.tolist()), tuple(h.tolist())) for a, h in zip(amounts, shape, strict=True)]
        if np.any(top > 1.0):
            return cls(laws, 1.0, 1.0, names, value=top * np.asarray(details.pop("value", 1.0)), **details)
        return cls(laws, top, 1.0, names, **details)

    def _check_reward(self, reward: str, value: Floats | None = None) -> None:
        checks.choice("reward", reward, REWARDS)
        worth = self.value if value is None else value
        if worth.ndim > 0 and worth.shape[-1] != self.arms:
            raise ShapeError(f"value must be one number or one for each of {self.arms} arms, got shape {worth.shape}")
        if reward == "cascade" and np.any(worth != 1.0):
            raise ParameterError(
                f"value must be 1 with reward 'cascade', where one success is as good as another, got {worth}"
            )

    @classmethod
    def from_toml(cls, source: str | Path) -> Self:
        """Read a problem from a TOML file, or from TOML text (`headgate.problem_file` has the format)."""
        table = problem_file.read(source)
        return cls(
            table.laws,
            table.activation,
            table.rate,
            table.names,
            value=table.value,
            units=table.units,
            provenance=table.provenance,
        )

    def to_toml(self, path: str | Path | None = None) -> str:
        """Return the problem as TOML text, and write it to `path` if there is one; nothing is lost."""
        if self.batch != ():
            raise UnsupportedError(f"a problem file holds one problem, this is a batch of shape {self.batch}")
        text = problem_file.dumps(
            problem_file.ProblemTable(
                names=self.names,
                activation=tuple(self.activation.tolist()),
                rate=tuple(self.rate.tolist()),
                value=tuple(self.value.tolist()),
                laws=tuple(self.law.of_arm(arm) for arm in range(self.arms)),
                units=self.units,
                provenance=self.provenance,
            )
        )
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem):
            return NotImplemented
        return (
            self.law == other.law
            and np.array_equal(self.activation, other.activation)
            and np.array_equal(self.rate, other.rate)
            and np.array_equal(self.value, other.value)
            and (self.names, self.units, self.provenance) == (other.names, other.units, other.provenance)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays do not hash

    def __repr__(self) -> str:
        law = self.law
        if law.arm_axis() == () or self.arms <= 6:
            what = repr(law)
        else:
            what = f"<{law.name}, one per arm>" if isinstance(law, PerArm) else f"{type(law).__name__}(...)"
        batch = f", batch={self.batch}" if self.batch else ""
        return f"Problem({what}, arms={self.arms}{batch})"

    def _allocation(self, x: ArrayLike) -> Floats:
        """Return `x` as a clean array whose last axis is the arms of this problem."""
        amount = checks.numbers("an allocation", x, AllocationError)
        if amount.shape[-1:] != (self.arms,):
            raise ShapeError(f"an allocation must have {self.arms} arms on its last axis, got shape {amount.shape}")
        try:
            np.broadcast_shapes(amount.shape, self.rate.shape)
        except ValueError as cause:
            raise ShapeError(
                f"an allocation of shape {amount.shape} does not fit a batch of shape {self.batch}"
            ) from cause
        return amount


def _eligible(eligible: ArrayLike, lower: ArrayLike) -> NDArray[np.bool_] | None:
    """Return which arms take part; None if all do."""
    if eligible is True:
        return None
    able = np.asarray(eligible)
    if able.dtype.kind not in "biuf" or not np.isin(able, (0, 1)).all():
        raise ParameterError(f"eligible must be true or false for each arm, got {eligible!r}")
    able = able.astype(np.bool_)
    if np.any(np.broadcast_arrays(np.asarray(lower) > 0.0, ~able)[0] & ~able):
        raise BudgetError(f"lower must be 0 for arms that are not eligible, got {lower!r} and eligible {eligible!r}")
    return able


def load_problem(path: str | Path) -> Problem:
    """Read a problem from a TOML file."""
    return Problem.from_toml(Path(path))


def _shape_of_arms(shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the common shape (..., K), or raise if the arrays disagree about K or the batch."""
    arms = {name: shape[-1] for name, shape in shapes.items() if shape}
    if len(set(arms.values())) != 1 or 0 in arms.values():
        got = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ShapeError(f"activation, rate, value and law must have the same number of arms, at least 1, got {got}")
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError as cause:
        got = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ShapeError(f"the batch axes of activation, rate, value and law must broadcast, got {got}") from cause


def _checked_names(names: Sequence[object] | None, arms: int) -> tuple[str, ...]:
    """Return a name for each arm, all different and not empty."""
    if names is None:
        return tuple(f"arm{i}" for i in range(arms))
    given = [name for name in names if isinstance(name, str) and name]
    if isinstance(names, str) or len(given) != len(names):
        raise ParameterError(f"names must be text that is not empty, one for each arm, got {names!r}")
    if len(names) != arms:
        raise ShapeError(f"there must be {arms} names, one for each arm, got {len(names)}")
    if len(set(given)) != arms:
        twice = next(name for name in given if given.count(name) > 1)
        raise ParameterError(f"names must differ from each other, got {twice!r} twice")
    return tuple(given)
