"""An ask: what one round wants of a policy, checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import BudgetError, ParameterError, ShapeError
from headgate.laws import Floats
from headgate.oracle import Limits


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """The budget of a round, what the arms may get of it, and what a success of each is worth.

    `Policy.ask` makes one, and raises if the policy cannot answer it. It may be used for any number of rounds.
    """

    limits: Limits
    """The budget of each batch row, the least and the most of each arm; an arm that is not eligible may get 0."""
    value: Floats | None = None
    """What a success of each arm is worth, (K,) or (batch, K); None: 1."""
    round: int | None = None
    """The round's number, where several learners take turns; None: the next."""
    features: Floats | None = None
    """What is known of each arm before deciding, (batch, K, d), for a policy that takes features."""


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """What all rounds of a policy have in common, against which each is checked."""

    batch: tuple[int, ...]
    whole: NDArray[np.bool_]
    """Which arms count in whole units."""
    max_budget: float
    cascade: bool

    def per_arm(self, name: str, values: Floats | NDArray[np.bool_]) -> None:
        """Raise unless there is one number, one for each arm, or one for each arm of each batch row."""
        arms = self.whole.shape
        if values.shape not in {(), arms, self.batch + arms}:
            rows = f" or of the batch's shape {self.batch} and arms" if self.batch else ""
            raise ShapeError(f"{name} must be one number or one for each of {arms[0]} arms{rows}, got {values.shape}")

    def value(self, value: ArrayLike) -> Floats | None:
        """Check what successes are worth; None if that is 1."""
        worth = checks.numbers("value", value)
        self.per_arm("value", worth)
        if np.all(worth == 1.0):
            return None
        if self.cascade:
            raise ParameterError(
                f"value must be 1 with reward 'cascade', where one success is as good as another, got {value!r}"
            )
        return np.broadcast_to(worth, np.broadcast_shapes(worth.shape, self.whole.shape))

    def limits(
        self, own: Limits, budget: ArrayLike, lower: ArrayLike | None, upper: ArrayLike | None,
        eligible: ArrayLike | None = None,
    ) -> Limits:  # fmt: skip
        """Join a policy's own limits, at its largest budget, with those of one round; None narrows nothing."""
        least = checks.numbers("lower", 0.0 if lower is None else lower, BudgetError)
        most = checks.numbers("upper", np.inf if upper is None else upper, BudgetError, infinite=True)
        able = np.asarray(True if eligible is None else eligible)
        if able.dtype.kind not in "biuf" or not np.isin(able, (0, 1)).all():
            raise ParameterError(f"eligible must be true or false for each arm, got {eligible!r}")
        able = able.astype(np.bool_)
        for name, values in (("lower", least), ("upper", most), ("eligible", able)):
            self.per_arm(name, values)
        if np.any((least > 0.0) & ~able):
            raise BudgetError(
                f"lower must be 0 for arms that are not eligible, got {lower!r} and eligible {eligible!r}"
            )
        low, high = np.maximum(own.lower, least), np.minimum(own.upper, most)
        low, high = np.where(self.whole, np.ceil(low), low), np.where(self.whole, np.floor(high), high)
        low, high = np.where(able, low, 0.0), np.where(able, high, 0.0)
        if np.any(low > high):
            arm = int(np.argwhere(low > high)[0][-1])
            raise BudgetError(
                f"lower must not exceed upper{' in whole units' * bool(self.whole[arm])}, got lower "
                f"{low[..., arm].max():g} > upper {high[..., arm].min():g} for arm {arm}"
            )
        free = not low.any() and bool(np.isinf(high).all())
        return self.within(Limits(own.budget, low, high, free), budget)

    def within(self, own: Limits, budget: ArrayLike) -> Limits:
        """Check a budget against the largest and against what the arms must get."""
        amount = checks.numbers("budget", budget, BudgetError)
        if np.any(amount > self.max_budget * (1.0 + 1e-12)):
            raise BudgetError(f"budget must not exceed max_budget {self.max_budget:g}, got {np.max(amount):g}")
        if amount.shape not in {(), self.batch}:
            raise ShapeError(f"budget must be one number or of the batch's shape {self.batch}, got {amount.shape}")
        needed = own.lower.sum(axis=-1)
        if np.any(needed > amount * (1.0 + 1e-12)):
            raise BudgetError(f"the lower limits need {np.max(needed):g}, more than the budget {np.min(amount):g}")
        amount = np.floor(amount) if self.whole.all() else amount
        return Limits(np.broadcast_to(amount, self.batch), own.lower, own.upper, own.free)
