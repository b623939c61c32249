"""`Rounds`: a table of whole rounds, what every arm was given in each and when it succeeded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import BudgetError, FeedbackError, InputError, ParameterError, ShapeError
from headgate.extras import extra
from headgate.frames import Shown
from headgate.laws import Floats, Points
from headgate.oracle import REWARDS, Allocation, Limits
from headgate.problem import Problem, Reward
from headgate.rounds.hazards import Kinds, best_number, bins_of, completed, counts, fit_kinds
from headgate.rounds.static import best_rows

_TINY = np.finfo(np.float64).tiny
_COPIES = 4  # copies of a round that was cut short, each completed by another draw
_STARTS = 2  # starts of EM, of which the likeliest end counts
_BETWEEN = 4  # points of a fitted curve in each bin


def _numbers(name: str, values: ArrayLike) -> Floats:
    """A copy as numbers, NaN and infinity among them."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as cause:  # text, or lines of different lengths
        raise FeedbackError(f"{name} must be numbers, or a table of them, got {values!r}") from cause


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Rounds(Shown):
    """Whole rounds as they were: nothing is assumed about the arms of one.

    Parameters
    ----------
    thresholds
        The amount at which each arm succeeded, (N, K), > 0; nan or infinity where no success was seen.
    given
        What each arm was given, (N, K) or one number; nan or 0 where it was not tried. An arm without success would not
        have succeeded with as much; nobody knows what more would have done. Infinity, the default, says that no amount
        would do.
    names
        A name for each arm.

    Examples
    --------
    Two arms that are good at different rounds: an even split has a success in each.

    >>> rounds = Rounds([[1.0, 9.0], [2.0, 8.0], [9.0, 1.0], [np.inf, 2.0]])
    >>> best = rounds.best_static(4.0, "cascade")
    >>> best.x.tolist(), best.value.item(), best.gap.item() < 1e-6
    ([2.0, 2.0], 1.0, True)
    """

    thresholds: Floats
    given: Floats
    names: tuple[str, ...]

    def __init__(self, thresholds: ArrayLike, given: ArrayLike = np.inf, names: Sequence[str] | None = None) -> None:
        reach, amount = _numbers("thresholds", thresholds), _numbers("given", given)
        if reach.ndim != 2 or 0 in reach.shape:
            raise ShapeError(f"thresholds must be a table of rounds and arms, (N, K), got shape {reach.shape}")
        try:
            amount = np.array(np.broadcast_to(amount, reach.shape))
        except ValueError as cause:
            raise ShapeError(f"given must be one number or of shape {reach.shape}, got {amount.shape}") from cause
        reach, amount = np.where(np.isnan(reach), np.inf, reach), np.where(np.isnan(amount), 0.0, amount)
        checks.numbers("thresholds", reach, FeedbackError, infinite=True)
        checks.numbers("given", amount, FeedbackError, infinite=True)
        wrong = np.isfinite(reach) & (reach > amount * (1.0 + 1e-12))
        if wrong.any():
            r, arm = (int(v) for v in np.argwhere(wrong)[0])
            raise FeedbackError(
                f"a threshold must not exceed what the arm was given, got {reach[r, arm]:g} and {amount[r, arm]:g} for "
                f"arm {arm} of round {r}"
            )
        arm_names = tuple(names) if names is not None else tuple(f"arm{i}" for i in range(reach.shape[1]))
        if len(arm_names) != reach.shape[1] or len(set(arm_names)) != len(arm_names):
            raise ParameterError(f"names must be {reach.shape[1]} different ones, one for each arm, got {names!r}")
        reach = np.where(np.isfinite(reach), np.maximum(reach, _TINY), np.inf)
        for name, value in (
            ("thresholds", reach),
            ("given", np.maximum(amount, np.where(np.isinf(reach), 0.0, reach))),
        ):
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        object.__setattr__(self, "names", arm_names)

    @classmethod
    def from_rows(
        cls, rounds: Sequence[Any], arms: Sequence[Any], thresholds: ArrayLike, given: ArrayLike = np.inf
    ) -> Self:
        """Make a table of rows, one for each arm of a round: the round's name, the arm's, threshold and what it got.

        Arms that a round has no row of were not tried in it; an arm that it has twice is an error.
        """
        reach, amount = _numbers("thresholds", thresholds), _numbers("given", given)
        if not len(rounds) == len(arms) == reach.size:
            raise ShapeError(
                f"every row must have a round, an arm and a threshold, got {len(rounds)}, {len(arms)} and {reach.size}"
            )
        if amount.shape not in {(), reach.shape}:
            raise ShapeError(f"given must be one number or one for each of {reach.size} rows, got {amount.shape}")
        amount = np.broadcast_to(amount, reach.shape)
        row_of = {name: k for k, name in enumerate(dict.fromkeys(rounds))}
        arm_of = {name: k for k, name in enumerate(sorted(dict.fromkeys(arms), key=str))}
        row, column = np.array([row_of[r] for r in rounds]), np.array([arm_of[a] for a in arms])
        _, first, count = np.unique(row * len(arm_of) + column, return_index=True, return_counts=True)
        if np.any(count > 1):
            at = int(first[np.argmax(count > 1)])
            raise InputError(f"a round must have one row of an arm, got arm {arms[at]!r} twice in round {rounds[at]!r}")
        table, amounts = np.full((len(row_of), len(arm_of)), np.inf), np.zeros((len(row_of), len(arm_of)))
        table[row, column], amounts[row, column] = np.where(np.isnan(reach), np.inf, reach), amount
        return cls(table, amounts, [str(name) for name in arm_of])

    @property
    def rounds(self) -> int:
        """The number of rounds, N."""
        return len(self.thresholds)

    @property
    def arms(self) -> int:
        """The number of arms, K."""
        return int(self.thresholds.shape[1])

    def is_complete(self, budget: float) -> bool:
        """Whether every arm of every round is known up to this amount."""
        return bool(np.all(np.isfinite(self.thresholds) | (self.given >= budget)))

    def only(self, rounds: NDArray[np.int64]) -> Rounds:
        """Return some of the rounds."""
        return Rounds(self.thresholds[rounds], self.given[rounds], self.names)

    def best_static(
        self, budget: float, reward: Reward = "sum", *, lower: ArrayLike = 0.0, upper: ArrayLike = np.inf,
        smooth: float = 0.0, seed: int = 0,
    ) -> Allocation:  # fmt: skip
        """Return the best fixed allocation for these rounds, in hindsight, with its certificate.

        Complete rounds are taken as they are. For a cascade exchanges between two arms begin at the greedy allocation,
        the best single arms and the even split, and a linear programme proves how good the end is. Rounds that were cut
        short, or in which arms were not tried, are completed by draws from kinds of rounds fitted to all of them
        (`fit_kinds`); then `allocation.assumes` is "kinds", and value and bound are those of the completed rounds.

        Parameters
        ----------
        budget
            What every round may spend.
        reward
            "sum": successes a round; "cascade": the share of rounds with one.
        lower, upper
            Limits on what each arm gets.
        smooth
            For rounds to come rather than these: choose on copies of the rounds whose thresholds are off by a factor
            with this standard deviation of its logarithm; .3 is good for solvers. The value is that of the rounds.
        seed
            Of the copies and draws.
        """
        checks.choice("reward", reward, REWARDS)
        limits = Limits.of(float(checks.numbers("budget", budget, BudgetError)), lower, upper, self.arms)
        off = float(checks.numbers("smooth", smooth))
        if self.is_complete(budget):
            return best_rows(self.thresholds, np.ones(self.rounds), limits, reward, smooth=off, seed=seed)
        rows = self.completed(budget, seed=seed)
        best = best_rows(rows, np.ones(len(rows)), limits, reward, smooth=off, seed=seed)
        return Allocation(best.x, best.value, best.bound, best.price, best.nodes, best.budget, reward, "kinds")

    def completed(self, budget: float, *, kinds: int | None = None, copies: int = _COPIES, seed: int = 0) -> Floats:
        """Return thresholds up to a budget with nothing missing, (copies * N, K): what was not seen is drawn."""
        rng = np.random.default_rng(seed)
        fitted, weights = self._fitted(budget, kinds, rng)
        return completed(self.thresholds, self.given, fitted, weights, rng, copies)

    def kinds_held_out(self, budget: float, seed: int = 0) -> dict[int, float]:
        """Return the mean log-likelihood of a round that was held out, by the number of kinds; 1: independent arms.

        How much it rises with the number of kinds is how much arms share their rounds' fate.
        """
        most = float(checks.numbers("budget", budget, BudgetError, open_least=True))
        edges = bins_of(self.thresholds, most)
        d, t = counts(self.thresholds, self.given, edges)
        return best_number(d, t, edges, np.random.default_rng(seed))[1]

    def fit_kinds(self, budget: float, kinds: int | None = None, seed: int = 0) -> Problem:
        """Fit kinds of rounds by EM, as many as rounds held out speak for, and return them as a problem.

        The curves are known up to `budget` and level beyond it. `problem.provenance` has the likelihoods.
        """
        rng = np.random.default_rng(seed)
        fitted, _ = self._fitted(budget, kinds, rng)
        fine = np.unique(
            np.concatenate(
                [np.linspace(a, b, _BETWEEN + 1) for a, b in zip(fitted.edges, fitted.edges[1:], strict=False)]
            )
        )
        H = fitted.cumulative()
        curves = -np.expm1(-np.array([[np.interp(fine, fitted.edges, h) for h in kind] for kind in H]))  # (Q, K, n)
        top = curves[..., -1]
        laws = [
            [Points(tuple(fine.tolist()), tuple(np.minimum(c / c[-1], 1.0).tolist())) for c in kind] for kind in curves
        ]
        share = fitted.share / fitted.share.sum()
        details = {"kinds": "EM over rounds", "rounds": self.rounds, "log_likelihood": fitted.likelihood}
        return Problem(laws, top, 1.0, self.names, kinds=share, provenance=details)

    def _fitted(self, budget: float, kinds: int | None, rng: np.random.Generator) -> tuple[Kinds, Floats]:
        most = float(checks.numbers("budget", budget, BudgetError, open_least=True))
        edges = bins_of(self.thresholds, most)
        d, t = counts(self.thresholds, self.given, edges)
        number = best_number(d, t, edges, rng)[0] if kinds is None else checks.whole("kinds", kinds)
        tried = [fit_kinds(d, t, edges, number, rng) for _ in range(_STARTS)]
        return max(tried, key=lambda fit: fit[0].likelihood)

    def columns(self) -> dict[str, Any]:
        """Return a row for each arm that a round tried: round, arm, what it was given, success and threshold."""
        row, arm = np.nonzero(self.given > 0.0)
        reach = self.thresholds[row, arm]
        won = np.isfinite(reach)
        return {
            "round": row, "arm": [self.names[k] for k in arm.tolist()], "given": self.given[row, arm], "success": won,
            "threshold": np.where(won, reach, np.nan),
        }  # fmt: skip

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw in how many rounds each arm, and any of them, had succeeded by each amount: a figure or a path."""
        return extra("headgate.figures.results").draw_rounds(self, path)

    def __repr__(self) -> str:
        tried = np.mean(self.given > 0.0)
        return f"Rounds({self.rounds} rounds, {self.arms} arms, {tried:.0%} tried)"
