"""Contextual: rounds and arms that differ by what is known of them beforehand, learned by cure regression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import AllocationError, FeedbackError, ParameterError, ShapeError
from headgate.estimators.contextual import ContextualEstimate
from headgate.evidence import Evidence
from headgate.evidence.moments import means_of
from headgate.features import Features
from headgate.feedback import Feedback
from headgate.laws import Floats, Law, OneOf
from headgate.names import IntOrNames
from headgate.oracle import Limits
from headgate.oracle.cascade import check_one_convex_stretch
from headgate.oracle.curves import maximise_points
from headgate.oracle.terms import Terms as OracleTerms
from headgate.policies.ask import Ask, Terms
from headgate.policies.candidates import Candidates, candidates
from headgate.policies.contextual_belief import drawn, estimated, law_chances
from headgate.policies.contextual_features import checked_rows
from headgate.policies.contextual_learning import absorb, fade, review
from headgate.policies.contextual_regression import Regression
from headgate.policies.contextual_state import ContextualState
from headgate.policies.model import Curves, ModelPolicy

_MEMORY = 1000  # rows that are kept by default, where arms come once


@final
class Contextual(ModelPolicy):
    """Features tell what to expect of an arm: regression on them, and Thompson sampling of its coefficients.

    With z the features of an arm, log median (the law's constant minus log rate), logit activation and, where the
    shape is learned, the spread s = log log(q75 / q25) are linear in z. What is believed of the coefficients is a
    normal law, kept in information form (`headgate.evidence.information`): of one size, additive, written to JSON. A
    round's results move it by Newton steps on their likelihood (`headgate.estimators.regression`). A decision draws
    coefficients, and gives the allocation that is best for the draw.

    Features are standardised by what has been seen, so that their units do not matter. Slopes have a normal prior
    whose variance is learned: features that say nothing are found to. With `arms` what is believed is checked against
    all that was seen: an arm that contradicts its law is served by what was counted (`contextual_net.py`). Without, and
    for whole units, a law is taken at its word; law="auto" weighs several.

    Parameters
    ----------
    features : int or Features, default 0
        How many numbers d are known of each arm before deciding, or named columns: `headgate.Features`, or what its
        `to_dict` wrote.
    arms : int, a sequence of K names, or None, default None
        None: other arms every round, of any number, and only their features tell. K: the same arms, each with
        intercepts of its own beside the shared coefficients, shrunk to these by a prior learned from all arms.
    slopes : bool, default False
        With `arms`: each arm has slopes of its own too.
    calm : float > 0, default 0.3
        Of an arm's predictors the noise is multiplied by (1 + 1 / (calm v))^(-1/2) along each axis of their posterior,
        v its variance along it. Infinity never calms.
    memory : int >= 0 or None, default None
        How many results of arms are kept, the last ones, and linearised again as more is known
        (`contextual_learning.py`). 0: each round is linearised once, when it comes. None: 1,000 without `arms`, 0 with.
    """

    name = "contextual"
    exact = False

    arms: IntOrNames = field(default=None, kw_only=False)  # None: others every round
    max_budget: float = field(default=np.nan, kw_only=False)  # no default, but one with a default comes before it
    features: int | Features = 0
    slopes: bool = False
    calm: float = 0.3
    memory: int | None = None

    def __post_init__(self) -> None:
        """Check."""
        features: object = self.features
        if isinstance(features, Mapping):
            features = Features.from_dict(features)
            vars(self).update(features=features)
        if not isinstance(features, Features):
            vars(self).update(features=checks.whole("features", features, least=0))
        arms = self.arms
        slopes: object = self.slopes
        if not isinstance(slopes, bool | np.bool_) or (slopes and arms is None):
            raise ParameterError(f"slopes must be true or false, and needs arms, got {slopes!r} and arms {arms!r}")
        if arms is None:
            if self.width == 0:
                raise ParameterError("without arms there must be features, that tell one arm from another: got 0")
            for name in ("value", "lower", "upper"):
                if np.ndim(getattr(self, name)):
                    raise ShapeError(f"without arms {name} must be one number, got {getattr(self, name)!r}")
            vars(self).update(arms=1)  # evidence, limits and whole units are those of one arm that stands for all
        super().__post_init__()
        calm = float(checks.numbers("calm", self.calm, open_least=True, infinite=True))
        if self.memory is not None:
            vars(self).update(memory=checks.whole("memory", self.memory, least=0))
        vars(self).update(calm=calm, slopes=bool(slopes), whole=self.whole, _candidates=self._candidates)
        vars(self).update(arms=None if arms is None else self.arms)
        if self.reward == "cascade":
            for law in self._possible:
                check_one_convex_stretch(law)

    # -- what follows from the configuration ---------------------------------------------------------------------------

    @cached_property
    def width(self) -> int:
        """How many numbers features come to, d."""
        return self.features.width if isinstance(self.features, Features) else self.features

    @cached_property
    def _possible(self) -> tuple[Law, ...]:
        return self.laws.laws if isinstance(self.laws, OneOf) else (self.laws,)

    @cached_property
    def _candidates(self) -> Candidates:
        return candidates(self._possible, self.arms or 1)

    @cached_property
    def _size(self) -> int:
        """How many predictors there are: 3 if a shape is learned, else 2."""
        return 3 if any(member.is_open for law in self._possible for member, _ in law.members()) else 2

    @cached_property
    def _regression(self) -> Regression:
        return Regression(self._candidates, self._size, self.width, self.arms or 0, self.slopes, self.max_budget)

    @cached_property
    def _kept(self) -> int:
        """How many rows are kept at most."""
        return (_MEMORY if self.arms is None else 0) if self.memory is None else self.memory

    @cached_property
    def _netted(self) -> bool:
        """Whether the law is checked: arms have evidence of their own, and do not count in whole units."""
        return self.arms is not None and not self._any_whole

    def start(self, evidence: Evidence | None = None) -> ContextualState:
        """Return the state before the first round; evidence without features teaches a regression nothing."""
        return ContextualState.empty(
            self.evidence_or_none(evidence), self.batch, len(self._possible), self.width, self.arms or 0,
            self._regression.first_variances, self.width + 1 if self.slopes else 1, self._kept,
        )  # fmt: skip

    def evidence_or_none(self, evidence: Evidence | None) -> Evidence:
        """Return `evidence`, or that of nothing; other arms every round are one arm's."""
        return Evidence.empty(self.arms or 1, self.max_budget, self.batch) if evidence is None else evidence

    # -- what a round is given -----------------------------------------------------------------------------------------

    def rows(self, features: Any, arms: int | None = None) -> Floats:
        """Check features, and return them as numbers: (batch, K, d); NaN is what is declared to be missing.

        `features` are (d,), the round's; (K, d), one row an arm; or (batch, K, d). For a policy with named columns also
        one record, a list of records, or columns by name.
        """
        arms = self.arms if arms is None else arms
        return checked_rows(features, self.features, self.width, arms, self.batch)

    def ask(
        self,
        budget: ArrayLike,
        *,
        value: ArrayLike | None = None,
        eligible: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        features: Any = None,
        round: int | None = None,  # noqa: A002  # its name in a state too
    ) -> Ask:
        """Check what a round wants, its features among it; see `allocate`."""
        z = self.rows(features)
        count = z.shape[-2]
        terms = Terms(self.batch, np.broadcast_to(self.whole, (count,)), self.max_budget, self.reward == "cascade")
        own = self._limits
        if self.arms is None:
            low, high = (np.broadcast_to(limit, (count,)) for limit in (own.lower, own.upper))
            own = Limits(own.budget, low, high, own.free)
        if eligible is None and lower is None and upper is None:
            limits = terms.within(own, budget)
        else:
            limits = terms.limits(own, budget, lower, upper, eligible)
        worth = terms.value(self.value if value is None else value)
        return Ask(limits, worth, round, z)

    # -- decide --------------------------------------------------------------------------------------------------------

    def chances(self, state: ContextualState) -> Floats:
        """How probable each law is: (..., M)."""
        return law_chances(state)

    def curves(self, state: ContextualState) -> Curves:
        """Return the curves of a draw at the mean of the features seen."""
        return self._regression.curves_at(*self._drawn(state, self._at_mean(state)))

    def _at_mean(self, state: ContextualState) -> Floats:
        """The mean of the features seen, as those of every arm: (batch, K, d)."""
        mean = (np.nan_to_num(state.reference) + means_of(state.moments))[..., None, :]
        return np.broadcast_to(mean, (*self.batch, self.arms or 1, self.width))

    def curves_for(self, state: ContextualState, ask: Ask) -> Curves:
        """Return the curves of a draw at the features of a round."""
        return self._regression.curves_at(*self._drawn(state, self._features(state, ask)))

    def _features(self, state: ContextualState, ask: Ask) -> Floats:
        return self._at_mean(state) if ask.features is None else ask.features

    def split(self, state: ContextualState, ask: Ask) -> Floats:
        """Return the best allocation for a draw; curves of arms whose law is doubted are corrected."""
        drawn = self._drawn(state, self._features(state, ask))
        if not state.doubted.any():
            return self._best(self._regression.curves_at(*drawn), ask)
        x, y = self._regression.corrected(state, *drawn)
        if ask.value is not None and self.reward == "sum":
            y = y * ask.value[..., None]
        terms = OracleTerms(ask.limits, self.reward, self.tolerance, self.max_nodes)
        points = np.ascontiguousarray(np.broadcast_to(x, y.shape[-2:]))
        return np.asarray(maximise_points(points, y, terms).x)

    def points(self, state: ContextualState, ask: Ask) -> tuple[Floats, Floats]:
        """Return the curves of a draw by points; those of arms whose law is doubted are corrected."""
        drawn = self._drawn(state, self._features(state, ask))
        if not state.doubted.any():
            return self._points_of(self._regression.curves_at(*drawn), ask)
        x, y = self._regression.corrected(state, *drawn)
        return np.broadcast_to(x, y.shape), y

    def _drawn(self, state: ContextualState, z: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """Draw predictors (batch, K, 3) and laws, after a look at variances and doubts where one is due."""
        review(self._regression, state, z, self._netted)
        noise = self.normals(state, state.vector.shape[-1] + int(np.prod(state.own_vector.shape[-2:])))
        return drawn(self._regression, state, z, noise, self.uniforms(state, 1), self.calm)

    # -- absorb --------------------------------------------------------------------------------------------------------

    def absorb(self, state: Any, x: ArrayLike, feedback: Feedback, features: Any = None) -> Any:
        """Learn what came of an allocation to arms with these features, late or at once, whole or in parts."""
        if not isinstance(feedback, Feedback):
            raise FeedbackError(f"feedback must be a headgate.Feedback, got {feedback!r}")
        amount = feedback.check(x)
        z = self.rows(features)
        if amount.shape != z.shape[:-1]:
            raise ShapeError(f"an allocation must be of shape {z.shape[:-1]}, one number a row of features, got "
                             f"{amount.shape}")  # fmt: skip
        if np.any(amount > self.max_budget * (1.0 + 1e-9)):
            raise AllocationError(f"no arm may get more than max_budget {self.max_budget:g}, got {amount.max():g}")
        amount = np.where(self.whole, np.floor(amount), amount) if self._any_whole else amount
        if not feedback.reported.any():
            return state
        for index in np.ndindex(self.batch):
            absorb(self._regression, state, index, amount[index], feedback, z[index])
        state.width = max(state.width, z.shape[-2])
        return state

    def fade(self, state: ContextualState, factor: float) -> None:
        """Let what was learned count `factor` times as much."""
        super().fade(state, factor)
        fade(state, factor)

    def merge(self, other: Contextual) -> None:
        """Learn all that another learner of the same configuration has seen.

        Information adds up, and the prior is no part of it, so nothing is counted twice. It is not exactly what one
        learner of all rounds would have: each round's likelihood stays the quadratic that its own learner made of it.
        """
        peer: object = other
        if peer is self:
            raise ParameterError(f"a learner must merge with another, got itself: {self!r}")
        mine, theirs = ({**p.plain_options(), "seed": None} if isinstance(p, Contextual) else {} for p in (self, peer))
        if mine != theirs:
            raise ParameterError(f"only learners of one configuration merge, got {self!r} and {other!r}")
        self.state.merge(other.state)

    # -- what people see -----------------------------------------------------------------------------------------------

    def estimate(
        self,
        level: float = 0.9,
        interval: Literal["fisher", "likelihood-ratio"] = "fisher",
        *,
        features: Any = None,
    ) -> ContextualEstimate:
        """Return what is believed of arms with these features, with intervals of the normal posterior.

        Without features: of arms at the mean of the features seen. Where the law is learned, under the most probable
        one; `.law` says how probable each is.
        """
        del interval  # there is one
        z = self._at_mean(self.state) if features is None else self.rows(features)
        estimate = estimated(self._regression, self.state, z, level, self._possible, self._netted)
        return estimate if self.names is None else replace(estimate, names=self.names)

    def plain_options(self) -> dict[str, Any]:
        """Return the configuration as plain data for JSON."""
        plain = super().plain_options()
        if isinstance(self.features, Features):
            plain["features"] = self.features.to_dict()
        return plain
