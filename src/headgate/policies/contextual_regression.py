"""The regression of a contextual policy: what is believed at a moment; `contextual_learning` is how that comes about.

A learner's index says which row of a batch it is; every law that may be the right one has a regression of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate.estimators.belief import Misfit
from headgate.estimators.coefficients import Posterior
from headgate.estimators.regression import FAR
from headgate.evidence.moments import inverse_unit_matrix, joined, moments_of, standardised, unit_matrix, units_of
from headgate.kernels.columns import WHOLE
from headgate.laws import Floats
from headgate.policies.candidates import Candidates
from headgate.policies.contextual_net import Counted, corrected, counted, ends_of, over_features
from headgate.policies.contextual_state import OWN, OWN_SLOPES, SLOPES, ContextualState
from headgate.policies.model import Curves

# Before anything is seen: variances of log median, logit activation and spread, of the shared intercepts and of an
# arm's own, and of slopes per unit of a feature.
_INTERCEPT = np.array([1.0, 3.0, 0.5])
_SLOPE = np.array([0.002, 0.03, 0.005])
# Prior means of log median less log(max_budget / arms), of the logit of activation and of log shape.
_MEANS = np.array([np.log(np.log(2.0)), 0.0, np.log(1.2)])
_FEWEST, _WHOLE = 2.0, 0.25  # mean of whole units that is expected at least, and variance of their log median
_MOST = np.array([4.0, 9.0, 0.5])  # the largest variances that are learned
_WORTH = np.array([1.0, 3.0, 4.0])  # how many coefficients the variance of each group is worth before any is seen


class View(NamedTuple):
    """One learner's regression under one law, at a moment: features standardised, the prior added."""

    posterior: Posterior
    columns: Floats
    """1 and standardised features of each arm of the round: (n, d + 1)."""
    back: Floats
    """From their coefficients to those of features as they are kept: see `Information.in_units`."""


@dataclass(frozen=True, slots=True)
class Regression:
    """What all rounds have in common."""

    candidates: Candidates
    size: int
    """Predictors: 3 if a shape is learned, else 2."""
    width: int
    """Features, d."""
    own: int
    """Arms that have coefficients of their own, K or 0."""
    slopes: bool
    """They have slopes too."""
    max_budget: float

    @property
    def laws(self) -> int:
        """How many laws are weighed, M."""
        return len(self.candidates.columns)

    @property
    def first_variances(self) -> Floats:
        """Of each coordinate's groups of coefficients before anything is seen: (C, 3)."""
        return np.stack([_SLOPE, _INTERCEPT, _SLOPE], axis=1)[: self.size]

    def _usual_log_median(self, arms: int) -> tuple[float, float]:
        """Mean and variance before anything is seen: that of an exponential law whose mean is an even share.

        Of whole units at least 2, and surer: a median taken too large is found out, one taken too small is not, since
        nobody gets a second unit.
        """
        share = np.log(self.max_budget / arms)
        if np.all(self.candidates.columns[..., WHOLE] > 0.0):
            return float(_MEANS[0] + max(share, np.log(_FEWEST))), _WHOLE
        return float(_MEANS[0] + share), float(_INTERCEPT[0])

    def view(
        self, state: ContextualState, index: tuple[int, ...], law: int, z: Floats, *, more: bool,
        away: Floats | None = None, old: bool = False,
    ) -> View:  # fmt: skip
        """The posterior under one law, in units of what has been seen, with `more` of these rows (n, d) too.

        `away` are the rows measured from the reference, where somebody has them already; `old`: what rows that are
        still kept have told is left out.
        """
        away = state.referred(index, z) if away is None else away
        moments = joined(state.moments[index], moments_of(away)) if more else state.moments[index]
        mean, unit = units_of(moments)
        information = state.old if old else state.information
        info = information.at((*index, law)).in_units(unit_matrix(mean, unit))
        variances, size = state.variances[(*index, law)], self.size
        weight, middle = np.empty((size, self.width + 1)), np.zeros((size, self.width + 1))
        weight[:, 0], weight[:, 1:] = 1.0 / _INTERCEPT[:size], 1.0 / variances[:, SLOPES, None]
        middle[:, 0] = _MEANS[:size]
        middle[0, 0], variance = self._usual_log_median(max(state.width, len(z)))
        weight[0, 0] = 1.0 / variance
        own = np.empty((size, self.width + 1 if self.slopes else 1))
        own[:, 0], own[:, 1:] = 1.0 / variances[:, OWN], 1.0 / variances[:, OWN_SLOPES, None]
        posterior = Posterior(info.with_prior(weight.ravel(), middle.ravel(), own.ravel()))
        return View(posterior, standardised(away, mean, unit), inverse_unit_matrix(mean, unit))

    def curves_at(self, phi: Floats, laws: NDArray[np.int64]) -> Curves:
        """Return the curves at predictors (..., n, 3) under laws (..., n)."""
        centre = np.log(self.max_budget)
        log_median = np.clip(phi[..., 0], centre - FAR, centre + FAR)
        activation = special.expit(phi[..., 1])
        candidates = self.of_arms(phi.shape[-2])
        if candidates.known:
            return Curves(activation, candidates.rates(log_median))
        form, rate = candidates.at(laws, log_median, phi[..., 2])
        return Curves(activation, rate, form)

    def of_arms(self, count: int) -> Candidates:
        """The laws of a round's arms: each arm's own, or those of all for so many arms that come once."""
        return self.candidates if self.own else self.candidates.repeated(count)

    def counted(self, state: ContextualState, index: tuple[int, ...]) -> Counted:
        """Compare what is believed of each arm, the mean over features, with all that it has shown."""
        law = int(np.argmax(state.log_evidence[index]))
        view = self.view(state, index, law, np.zeros((0, self.width)), more=False)
        mean = view.posterior.mean
        each = np.tile(mean.shared.reshape(self.size, -1), (self.own, 1, 1))
        mine = mean.own.reshape(self.own, self.size, -1)
        each[..., : mine.shape[-1]] += mine
        phi = over_features(each[..., 0], each[..., 1:])
        chance = self.candidates.chances(law, ends_of(state.evidence), phi).mean(axis=0)
        return counted(chance, state.evidence, index)

    def corrected(self, state: ContextualState, phi: Floats, laws: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """A draw's curves as the net corrects them, at the ends of regions: (34,) and (batch, K, 34)."""
        ends = ends_of(state.evidence)
        y = np.empty((*phi.shape[:-1], ends.size))
        for index in np.ndindex(phi.shape[:-2]):
            counts = self.counted(state, index)._replace(doubted=state.doubted[index])
            y[index] = corrected(self.candidates.chances(int(laws[index][0]), ends, phi[index]), counts)
        return ends, y

    def doubts(self, state: ContextualState) -> tuple[Misfit, ...]:
        """Return of each arm that contradicts its law the region of amounts that does so most."""
        ends, result = ends_of(state.evidence), []
        for index in np.ndindex(state.reference.shape[:-1]):
            counts = self.counted(state, index)
            expected = counts.tried * counts.hazard
            for arm in np.flatnonzero(counts.doubted).tolist():
                at = int(np.argmin(counts.chance[arm]))
                who = (*index, arm) if index else arm
                numbers = (ends[at], ends[at + 1], counts.won[arm, at], expected[arm, at], counts.chance[arm, at])
                result.append(Misfit(who, "threshold", *(float(number) for number in numbers)))
        return tuple(sorted(result, key=lambda misfit: misfit.chance))

    def learn_variances(self, state: ContextualState, index: tuple[int, ...], z: Floats) -> None:
        """One step of expectation and maximisation on the prior's variances, under each law."""
        first, size = self.first_variances, self.size
        for law in range(self.laws):
            posterior = self.view(state, index, law, z, more=True).posterior
            variances = state.variances[(*index, law)]
            if self.width:
                spread = np.square(posterior.mean.shared) + np.diagonal(posterior.covariance)
                slopes = spread.reshape(size, -1)[:, 1:]
                variances[:, SLOPES] = (_WORTH[SLOPES] * first[:, SLOPES] + slopes.sum(axis=1)) / (
                    _WORTH[SLOPES] + self.width
                )
            if self.own:
                own = (np.square(posterior.mean.own) + posterior.own_variances()).reshape(self.own, size, -1)
                variances[:, OWN] = (_WORTH[OWN] * first[:, OWN] + own[:, :, 0].sum(axis=0)) / (_WORTH[OWN] + self.own)
                if self.slopes and self.width:
                    total = own[:, :, 1:].sum((0, 2))
                    variances[:, OWN_SLOPES] = (_WORTH[OWN_SLOPES] * first[:, OWN_SLOPES] + total) / (
                        _WORTH[OWN_SLOPES] + self.own * self.width
                    )
            np.minimum(variances, _MOST[:size, None], out=variances)
