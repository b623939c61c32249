"""Thompson sampling on the cure model: the policy to use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import NDArray

from headgate import checks
from headgate.estimators import Estimate, likelihood
from headgate.estimators.hazards import STARTS, hazards
from headgate.evidence import Evidence
from headgate.kernels.columns import (
    ACTIVATION,
    BELIEF,
    COV_LL,
    COV_SS,
    DRAW,
    DRAWN_A,
    DRAWN_B,
    DRAWN_SHIFT,
    DUE,
    EVIDENCE,
    LAW,
    MAP,
    MEAN,
    MEAN_L,
    MEAN_S,
    MEMORY,
    RATE,
    VARIANCE,
)  # fmt: skip
from headgate.laws import Floats, Law, OneOf
from headgate.laws.standard import Standard
from headgate.oracle import Limits
from headgate.oracle.cascade import check_one_convex_stretch
from headgate.oracle.curves import maximise_points
from headgate.oracle.terms import Terms
from headgate.policies import net
from headgate.policies.ask import Ask
from headgate.policies.candidates import Candidates, candidates
from headgate.policies.model import Belief, Curves, ModelPolicy, slopes
from headgate.policies.rule import Portions
from headgate.policies.state import State

# Before anything is seen: of l = log median, logit p and s = log log(q75 / q25), the last two means and all variances.
_LOGIT, _SPREAD = 0.0, np.log(1.2)
_VARIANCES = (1.0, 3.0, 0.5)
_FORMER = 76  # numbers that an earlier format kept of an arm, its successes included
# How many arms the hyperprior's means and variances are worth.
_POOLING = np.array([2.0, 3.0])


@dataclass(slots=True, eq=False)
class ThompsonState(State):
    """What the posterior carries from round to round; see `headgate.kernels.posterior`."""

    memory: Floats
    """Of each arm when it is due for a refresh, means and variances of (l, logit p, s), and what it is drawn from:
    (..., K, 75)."""
    beliefs: Floats
    """Of each arm and law mean and covariance of (l, s) and the log marginal likelihood: (..., K, M, 6)."""
    prior: Floats
    """Means and variances of (l, logit p, s) over the arms: (..., 2, 3)."""
    shares: Floats
    """What share of arms follows each law: (..., M)."""
    idle: NDArray[np.bool_]
    """Arms that the last round left without anything, though there was something to give and they could have it."""
    alpha: Floats
    """How closely each arm is held to its law, infinity where that fits: (..., K); see `headgate.policies.net`."""
    looseness: Floats
    """What share of arms has each of `net.ALPHAS`: (..., 6)."""

    def from_dict(self, data: Mapping[str, Any]) -> Self:
        """Read; what another release kept of its posterior is left out, and found again from the evidence."""
        memory = data.get("memory")
        if "beliefs" not in data or (isinstance(memory, dict) and memory.get("shape", [])[-1:] == [_FORMER]):
            data = {name: data[name] for name in ("evidence", "round", "idle")}
        return State.from_dict(self, {**State.to_dict(self), **data})


@final
class Thompson(ModelPolicy):
    """Draw each arm's curve from its posterior, and give the allocation that is best for the draw.

    An arm is (l, s, t): log median and spread of its thresholds, s = log log(q75 / q25), and t = logit p. Its
    likelihood is that of the mixture cure model: a success with threshold X counts log p + log g(X), a failure at x
    counts log(1 - p G(x)). The posterior of the curve is taken with p integrated out, on a line of knots where the
    shape is known, by a population of curves where it is learned or where the law itself is (law="auto", or a `OneOf`):
    a law counts by its marginal likelihood. Then p is drawn given the curve. So ridges, on which p and the rate trade,
    are drawn as they are (docs/posterior.md).

    The prior is normal and pooled: its means and variances are re-estimated every round from all arms (empirical
    Bayes), so that a new arm is expected to be like the others. There is no initial phase and no horizon, and every arm
    learns from every round.

    Thompson (1933); for allocation with censored feedback, ours: the paper has no such policy.

    Parameters
    ----------
    calm : float > 0, default 1
        The noise of an arm is multiplied by (1 + n / calm)^(-1/2), where n is how many thresholds, none of them cut
        off, would tell as much of its curve as is known; of an arm that got nothing in the last round by
        (1 + n / 5 calm)^(-1/2). Some draws are bold instead: one in ten of an arm that got nothing has 1.5 times the
        noise of the posterior; one in ten where shapes are learned has all of it. Infinity draws from the posterior.
    """

    name = "thompson"
    additive = True

    calm: float = 1.0

    def __post_init__(self) -> None:
        """Check."""
        super().__post_init__()
        vars(self).update(calm=float(checks.numbers("calm", self.calm, open_least=True, infinite=True)))
        vars(self).update(_candidates=self._candidates)  # raises here, if a law has no standard form
        if self.reward == "cascade":
            for law in self._possible:
                check_one_convex_stretch(law)

    @cached_property
    def _possible(self) -> tuple[Law, ...]:
        return self.laws.laws if isinstance(self.laws, OneOf) else (self.laws,)

    @cached_property
    def _candidates(self) -> Candidates:
        return candidates(self._possible, self.arms)

    @property
    def form(self) -> Standard:
        """The standard form of the arms' laws; of learned shapes, with the tables that draws refer to."""
        return replace(self._candidates.form, table=self._candidates.table)

    @property
    def shapes_known(self) -> bool:
        """Whether law and shapes are known, so that a draw is a rate and an activation."""
        return bool(self._candidates.known)

    @cached_property
    def _hyperprior(self) -> Floats:
        """Means and variances of (l, logit p, s) before anything is seen: (2, 3)."""
        median = np.log(self.max_budget / self.arms) + np.log(np.log(2.0))  # an exponential law of mean B / K
        return np.array([(median, _LOGIT, _SPREAD), _VARIANCES])

    def start(self, evidence: Evidence | None = None) -> ThompsonState:
        """Return the state before the first round: every arm at the hyperprior."""
        batch, mean, variance = self.batch, self._hyperprior[0], self._hyperprior[1]
        laws = len(self._candidates.columns)
        memory, beliefs = np.zeros((*batch, self.arms, MEMORY)), np.zeros((*batch, self.arms, laws, BELIEF))
        memory[..., MEAN : MEAN + 3], memory[..., VARIANCE : VARIANCE + 3] = mean, variance
        beliefs[..., MEAN_L], beliefs[..., MEAN_S] = mean[0], mean[2]
        beliefs[..., COV_LL], beliefs[..., COV_SS] = variance[0], variance[2]
        return ThompsonState(
            self.evidence_or_none(evidence), 0, memory, beliefs, np.tile(self._hyperprior, (*batch, 1, 1)),
            np.full((*batch, laws), 1.0 / laws), np.zeros((*batch, self.arms), dtype=np.bool_),
            np.full((*batch, self.arms), np.inf), np.tile(net.PRIOR, (*batch, 1)),
        )  # fmt: skip

    def split(self, state: ThompsonState, ask: Ask) -> Floats:
        """Return the best allocation for a draw, and remember whom it left out; draws of `net` are corrected."""
        curves = self.curves(state)
        if net.due(state.round):
            self._compare(state)
        loose = np.any(state.alpha < np.inf, axis=-1)
        x = np.zeros((*self.batch, self.arms)) if loose.all() else self._best(curves, ask)
        if loose.any():
            x = x.copy()
            x[loose] = self._best_by_points(state, curves, ask, loose)
        self._remember(state, ask, x)
        return x

    def renew(self, state: ThompsonState) -> None:
        """Let every arm's posterior be found again in the next round: for evidence that came from elsewhere at once."""
        state.memory = state.memory.copy()
        state.memory[..., DUE] = 0.0

    def _compare(self, state: ThompsonState) -> None:
        """Compare the curves believed in with the evidence, and find the arms that need the net."""
        laws, evidence = self._candidates, state.evidence
        line = (len(laws.columns) == 1) & (laws.columns[0, :, MAP] < 0.0)  # nothing is kept of these but their memory
        with np.errstate(divide="ignore"):
            likely = np.argmax(state.beliefs[..., EVIDENCE] + np.log(state.shares)[..., None, :], axis=-1)
        belief = np.take_along_axis(state.beliefs, likely[..., None, None], axis=-2)[..., 0, :]
        middle = np.where(line, state.memory[..., MEAN], belief[..., MEAN_L])
        form, rate = laws.at(likely, middle, belief[..., MEAN_S])
        comparison = hazards(form, self.whole, rate, np.nan, evidence)
        alpha, state.looseness = net.choose(comparison, state.looseness)
        state.alpha = np.where(self.whole, np.inf, alpha)

    def points(self, state: ThompsonState, ask: Ask) -> tuple[Floats, Floats]:
        """Return the curves of a draw by points; those of the net are corrected."""
        curves = self.curves(state)
        if net.due(state.round):
            self._compare(state)
        if np.any(state.alpha < np.inf) and not self._any_whole:
            x, y = self._corrected(state, curves, np.ones(self.batch, dtype=np.bool_))
            y = y.reshape(*self.batch, self.arms, -1)
            return np.broadcast_to(x, y.shape), y
        return self._points_of(curves, ask)

    def _corrected(self, state: ThompsonState, curves: Curves, rows: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """The curves of a draw as the net corrects them, straight between the bins of evidence.

        Amounts (130,) and heights (n, K, 130) of those n learners of the batch that `rows` marks: correcting a curve
        costs many times more than drawing it, and most learners of a batch have nothing to correct.
        """
        evidence, alpha = replace(state.evidence, bins=state.evidence.bins[rows]), state.alpha[rows]
        evidence.bins[np.isinf(alpha)] = 0.0  # of these the curve alone is needed
        p, rate, whole_form = curves
        form = whole_form or self._candidates.form
        each = {
            name: np.broadcast_to(getattr(form, name), rate.shape)[rows] for name in ("base", "a", "b", "shift", "cap")
        }
        comparison = hazards(replace(form, **each), self.whole, rate[rows], p[rows], evidence)
        noise = self._noise(1, state, self.arms * len(STARTS), rows).reshape(-1, self.arms, len(STARTS))
        calm = 1.0 / np.sqrt(1.0 + evidence.successes / (2.0 * self.calm))
        y = net.corrected(comparison, alpha, noise * calm[..., None])
        return np.append(evidence.edges, evidence.max_budget), y

    def _best_by_points(self, state: ThompsonState, curves: Curves, ask: Ask, rows: NDArray[np.bool_]) -> Floats:
        """The best allocations of those learners whose draws the net corrects: (n, K)."""
        x, y = self._corrected(state, curves, rows)
        arms = (*self.batch, self.arms)
        if ask.value is not None and self.reward == "sum":
            y = y * np.broadcast_to(ask.value, arms)[rows][..., None]
        budget, lower, upper, free = ask.limits.budget, ask.limits.lower, ask.limits.upper, ask.limits.free
        limits = Limits(
            np.broadcast_to(budget, self.batch)[rows], np.broadcast_to(lower, arms)[rows],
            np.broadcast_to(upper, arms)[rows], free,
        )  # fmt: skip
        points = np.ascontiguousarray(np.broadcast_to(x, (self.arms, x.size)))
        best = maximise_points(points, y, Terms(limits, self.reward, self.tolerance, self.max_nodes))
        if not self.batch:
            vars(self)["_belief"] = Belief(curves, best.price[0], slopes(x, y[0], best.x[0]))
        return best.x

    def decide_pour(
        self, state: ThompsonState, ask: Ask, step: float | None = None, resolution: float | None = None
    ) -> tuple[Portions, Any]:
        """Pour along a draw's curves; left out are those whom no budget reaches. See `ModelPolicy.decide_pour`."""
        (arms, amounts), after = super().decide_pour(state, ask, step, resolution)
        x = np.zeros(self.arms)
        np.add.at(x, arms, amounts)
        self._remember(state, ask, x)
        return (arms, amounts), after

    def _remember(self, state: ThompsonState, ask: Ask, x: Floats) -> None:
        able = np.any(x > 0.0, axis=-1, keepdims=True)
        if not ask.limits.free:
            able = able & (ask.limits.upper > 0.0)
        state.idle = np.where(able, x <= 0.0, state.idle)

    def curves(self, state: ThompsonState) -> Curves:
        """Return the curves of a draw."""
        draw, laws = self.draw(state), self._candidates
        if laws.known:
            return Curves(draw[..., ACTIVATION], draw[..., RATE], laws.form)
        form = laws.drawn(
            draw[..., LAW].astype(np.int64), draw[..., DRAWN_A], draw[..., DRAWN_B], draw[..., DRAWN_SHIFT]
        )
        return Curves(draw[..., ACTIVATION], draw[..., RATE], form)

    def draw(self, state: ThompsonState) -> Floats:
        """Draw every arm, (..., K, 6): law, a, b and shift of its standard form, rate, activation."""
        laws = self._candidates
        draw: Floats
        if laws.known:
            from headgate.kernels.known import sample_known  # noqa: PLC0415  # machine code loads on first use

            state.memory, state.prior, draw = sample_known(
                laws.columns, laws.maps, laws.table, state.evidence.bins, state.evidence.edges, self._hyperprior,
                _POOLING, self.calm, state.round, state.idle, self._keys[0], state.memory, state.prior, np.empty(DRAW),
            )  # fmt: skip
            return draw
        from headgate.kernels.learned import sample  # noqa: PLC0415  # machine code loads on first use

        state.memory, state.beliefs, state.prior, state.shares, draw = sample(
            laws.columns, laws.maps, laws.table, state.evidence.bins, state.evidence.edges, self._hyperprior, _POOLING,
            self.calm, state.round, state.idle, self._keys[0], state.memory, state.beliefs, state.prior, state.shares,
            np.empty(DRAW),
        )  # fmt: skip
        return draw

    def estimate(
        self, level: float = 0.9, interval: Literal["fisher", "likelihood-ratio"] = "likelihood-ratio"
    ) -> Estimate:
        """Return what has been learned of each arm; where the law is learned, under the most probable one.

        `.law` then says how probable each is.
        """
        if not isinstance(self.laws, OneOf):
            return super().estimate(level, interval)
        shares = self.state.shares
        likely = int(np.argmax(np.mean(shares, axis=tuple(range(shares.ndim - 1)))))
        with np.errstate(all="ignore"):  # arms of which nothing is known have infinite intervals
            estimate = likelihood(self.laws.laws[likely], self.state.evidence, level=level, interval=interval)
        chances = {law.name: shares[..., m] for m, law in enumerate(self.laws.laws)}
        return replace(estimate, law=chances, names=self.names)
