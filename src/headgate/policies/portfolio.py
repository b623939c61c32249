"""Portfolio: a cascade whose arms share their rounds' fate, learned from a table of whole rounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.evidence import Evidence
from headgate.feedback import Feedback
from headgate.laws import Floats
from headgate.oracle.limits import Limits
from headgate.policies.ask import Ask
from headgate.policies.base import Policy
from headgate.policies.state import State
from headgate.rounds.hazards import Kinds, completed, counts, fit_kinds, step
from headgate.rounds.static import best_rows, exchanged, first_guesses

_BINS = 24
_FINEST = 1e-3  # where the first bin ends, as a share of the largest budget
_WAIT = 8  # the table is fitted again when it has an eighth more rounds
_ITERATIONS = 6  # steps of EM at each fit, from where the last one ended
_COPIES = 8  # copies of every round, each completed by another draw
_SMOOTH = 0.3  # how far thresholds of rounds to come are off, in logarithms


@dataclass(slots=True, eq=False)
class TableState(State):
    """The last rounds, the kinds they were found to be of, and what was decided last."""

    amount: Floats
    """What each arm was given, (..., memory, K)."""
    reach: Floats
    """Its threshold if it succeeded, else infinity."""
    reported: NDArray[np.bool_]
    weight: Floats
    """How much each round counts, (..., memory); 0 where there is none yet."""
    next: NDArray[np.int64]
    """Where the next round is written, (...)."""
    share: Floats
    """pi: (..., Q)."""
    hazard: Floats
    """(..., Q, K, bins)."""
    score: Floats
    """Log-likelihood of rounds when they came, under kinds and under one kind, since the kinds are known: (..., 2)."""
    look: Floats
    """How many rounds the table had when it was looked at last, (...)."""
    plan: Floats
    """What was decided then, (..., K)."""
    asked: Floats
    """Budget, least and most amounts and values for which, (..., 1 + 3 K)."""


@final
class Portfolio(Policy):
    """At least one success a round, from arms of which nothing is assumed: solvers that meet the same instance.

    The last rounds are kept as they were reported. What was not seen of them, because an arm got too little or nothing,
    is drawn several times from hidden kinds of rounds that EM finds among them (`headgate.rounds`), and the allocation
    is the best for the completed table. An arm that was hardly tried in rounds of a kind is taken to be as good there
    as others: so it is tried. Where kinds do not foretell rounds better than independent arms do, which is counted as
    rounds come, what is missing is drawn from one kind: the arms are then taken to be independent.

    The table is looked at again after an eighth more rounds, or when a round asks for something else; between, a round
    costs microseconds. A round's arms should report together. Reports of parts are joined if they are of the same
    allocation; a success that does not tell its threshold counts as one at its allocation.

    Parameters
    ----------
    memory : int, default 1000
        How many rounds are kept; then the oldest goes.
    kinds : int, default 12
        How many kinds of rounds are looked for.
    """

    name = "portfolio"

    memory: int = 1000
    kinds: int = 12

    def __post_init__(self) -> None:
        """Check."""
        super().__post_init__()
        vars(self).update(memory=checks.whole("memory", self.memory), kinds=checks.whole("kinds", self.kinds))

    @cached_property
    def _edges(self) -> Floats:
        return np.concatenate([[0.0], np.geomspace(_FINEST * self.max_budget, self.max_budget, _BINS)])

    def start(self, evidence: Evidence | None = None) -> TableState:
        """Return the state before the first round."""
        table = (*self.batch, self.memory, self.arms)
        return TableState(
            self.evidence_or_none(evidence), 0,
            amount=np.zeros(table), reach=np.full(table, np.inf), reported=np.zeros(table, dtype=np.bool_),
            weight=np.zeros(table[:-1]), next=np.zeros(self.batch, dtype=np.int64),
            share=np.full((*self.batch, self.kinds), 1.0 / self.kinds),
            hazard=np.full((*self.batch, self.kinds, self.arms, _BINS), 1.0 / _BINS),
            score=np.zeros((*self.batch, 2)), look=np.full(self.batch, -1.0),
            plan=np.zeros((*self.batch, self.arms)), asked=np.full((*self.batch, 1 + 3 * self.arms), -1.0),
        )  # fmt: skip

    def split(self, state: TableState, ask: Ask) -> Floats:
        """Return the plan, after a look at the table where one is due."""
        limits, arms = ask.limits, self.arms
        low, high = (np.broadcast_to(v, (*self.batch, arms)) for v in (limits.lower, limits.upper))
        budget = np.broadcast_to(limits.budget, self.batch)
        worth = np.broadcast_to(1.0 if ask.value is None else ask.value, (*self.batch, arms))
        for row in np.ndindex(*self.batch):
            inputs = np.concatenate([[budget[row]], low[row], high[row], worth[row]])
            rounds = float(np.count_nonzero(state.weight[row]))
            rounds_so_far = float(state.round)
            last = float(state.look[row])
            due = last < 0.0 or rounds_so_far >= last + max(1.0, min(rounds, last) / _WAIT)
            if due or not np.array_equal(inputs, state.asked[row]):
                own = Limits(np.asarray(budget[row]), low[row], high[row], free=False)
                state.plan[row] = self._planned(state, row, own, worth[row])
                state.asked[row], state.look[row] = inputs, rounds_so_far
        return state.plan.copy()

    def _planned(self, state: TableState, row: Any, limits: Limits, value: Floats) -> Floats:
        """Look at the table of one learner."""
        rng = np.random.default_rng([int(self._keys[(0, *row)]), state.round])
        budget, lower = float(limits.budget), np.array(limits.lower)
        upper = np.minimum(limits.upper, lower + max(budget - lower.sum(), 0.0))
        here = np.flatnonzero(state.weight[row] > 0.0)
        if here.size < 2:
            x = first_guesses(np.full((1, self.arms), np.inf), np.ones(1), lower, upper, budget)[-1]  # an even split
            return self._whole(x, lower)
        reach, weight = state.reach[row][here], state.weight[row][here]
        allocation = np.where(state.reported[row][here], state.amount[row][here], 0.0)
        d, t = counts(reach, allocation, self._edges)
        old = Kinds(self._edges, state.share[row], state.hazard[row], np.nan)
        fresh = here.size & (here.size - 1) == 0 or state.look[row] < 2.0  # at powers of 2 a start from nowhere
        start = None if fresh else old.weights(d, t)[0]
        steps = 5 * _ITERATIONS if fresh else _ITERATIONS
        fit, weights = fit_kinds(d, t, self._edges, self.kinds, rng, start, weight, steps)
        state.share[row], state.hazard[row] = fit.share, fit.hazard
        if state.score[row][0] < state.score[row][1]:  # kinds do not help
            weights = np.ones((here.size, 1))
        drawn = step(d, t, weights * weight[:, None], self._edges)
        rows = completed(reach, allocation, drawn, weights, rng, _COPIES)
        noise = np.exp(_SMOOTH * rng.standard_normal(rows.shape))
        rows = np.where(self.whole, np.ceil(rows), rows * noise)  # thresholds in whole units are not off by a part
        chance = np.repeat(weight, _COPIES)
        if self.reward == "sum":
            return self._whole(best_rows(rows, chance, limits, "sum", value=value).x, lower)
        starts = first_guesses(rows, chance, lower, upper, budget)
        last = state.plan[row]
        if np.all(last >= lower) and np.all(last <= upper) and lower.sum() < last.sum() <= budget:
            starts.append(last)
        return self._whole(exchanged(rows, chance, lower, upper, budget, starts), lower)

    def _whole(self, x: Floats, lower: Floats) -> Floats:
        return np.where(self.whole, np.maximum(np.floor(x), lower), x)

    def absorb(self, state: Any, x: ArrayLike, feedback: Feedback, features: Any = None) -> Any:
        """Add the round to the table, or to the round that it is a part of."""
        super().absorb(state, x, feedback, features)
        amount = self.played(x, feedback)
        reach = np.where(feedback.success, np.fmin(feedback.threshold, amount), np.inf)  # nan: not told
        for row in np.ndindex(*self.batch):
            reported = feedback.reported[row]
            if reported.any():
                self._write(state, row, amount[row], np.maximum(reach[row], np.finfo(np.float64).tiny), reported)
        return state

    def _write(self, state: TableState, row: Any, amount: Floats, reach: Floats, reported: NDArray[np.bool_]) -> None:
        same = np.all(state.amount[row] == amount, axis=-1) & (state.weight[row] > 0.0)
        part = np.flatnonzero(same & ~np.any(state.reported[row] & reported, axis=-1))
        if part.size and not reported.all():
            place = int(part[-1])
        else:
            place = int(state.next[row])
            state.next[row] = (place + 1) % self.memory
            state.amount[row][place], state.weight[row][place] = amount, 1.0
            state.reach[row][place], state.reported[row][place] = np.inf, False
        state.reach[row][place][reported] = reach[reported]
        state.reported[row][place] |= reported
        if state.reported[row][place].all():
            self._judge(state, row, amount, state.reach[row][place])

    def _judge(self, state: TableState, row: Any, amount: Floats, reach: Floats) -> None:
        """Count how well kinds and independent arms foretell a round that just came."""
        if state.look[row] < 2.0 * self.kinds:
            return
        d, t = counts(reach[None], amount[None], self._edges)
        hazard, share = state.hazard[row], state.share[row] / state.share[row].sum()
        one = np.einsum("q,qkb->kb", share, hazard)[None]  # about: the mean hazard of all kinds
        for k, kinds in enumerate((Kinds(self._edges, share, hazard, 0.0), Kinds(self._edges, np.ones(1), one, 0.0))):
            state.score[row][k] += kinds.weights(d, t)[1][0]

    def fade(self, state: TableState, factor: float) -> None:
        """Let rounds fade as evidence does."""
        super().fade(state, factor)
        state.weight *= factor
        state.score *= factor
