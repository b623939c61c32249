"""Cure regression of a log: log rate and logit activation linear in features, fitted by maximum likelihood.

With z the features of a row of arm k, rate = exp(a_k + z.u) and activation = 1 / (1 + exp(-(b_k + z.v))); every arm has
its law, its shape and its intercepts, the slopes u and v are shared by the arms of a fit. A row counts

    log p + log g(X)               a success with its threshold,
    log p + log G(x)               a success that does not tell it,
    log(1 - p + p (1 - G(x)))      a failure at allocation x, infinite where it had all it needed,
    log(1 - p) + log g(X)          a failure that shows its time, where times are of all rows.

Weak normal priors keep what rows do not tell within reach: a category without any success has no finite maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from headgate.laws import Floats, Law

SLOPE = 3.0
"""Standard deviation of the prior of a slope, per unit of its feature."""
_INTERCEPTS = np.array([4.0, 5.0, 3.0])  # and of an arm's log rate, logit activation and log shape
_STEP = 5e-4  # the step of differences in log rate and log shape
_STEPS = 80
_CLOSE = 1e-9  # a search ends where a step promises to gain less than this
_FAR = 40.0  # how far a log rate may go from where it began


class Sample(NamedTuple):
    """The rows of one arm."""

    law: Law
    z: Floats
    """(n, d)."""
    amount: Floats
    """The threshold where it is shown, else the allocation; infinite: all that was needed."""
    shown: NDArray[np.bool_]
    success: NDArray[np.bool_]

    @property
    def shaped(self) -> bool:
        """Whether the law has a shape that a fit may move."""
        return self.law.free is not None and self.law.free.learnable

    def only(self, which: NDArray[np.bool_]) -> Sample:
        """Return some of the rows."""
        return Sample(self.law, self.z[which], self.amount[which], self.shown[which], self.success[which])

    def curve(self, log_rate: Floats, log_shape: float) -> Floats:
        """Log of what the law says of each row: density, G, or 1 - G."""
        law = self.law.with_shape(float(np.exp(log_shape))) if self.shaped else self.law
        rate = np.exp(log_rate)
        values = np.zeros(self.amount.size)
        reached, missed = self.success & ~self.shown, ~self.success & ~self.shown
        with np.errstate(divide="ignore"):
            values[self.shown] = law.log_pdf(self.amount[self.shown], rate[self.shown])
            values[reached] = np.log(law.cdf(self.amount[reached], rate[reached]))
            cut = missed & np.isfinite(self.amount)
            values[missed] = -np.inf
            values[cut] = law.log_sf(self.amount[cut], rate[cut])
        return values

    def value(self, log_rate: Floats, logit: Floats, log_shape: float) -> Floats:
        """Log-likelihood of each row."""
        return self._joined(self.curve(log_rate, log_shape), logit)[0]

    def _joined(self, curve: Floats, logit: Floats) -> tuple[Floats, Floats]:
        """The log-likelihood of each row, and how much of it is the law's: 1, or less for a failure at an amount."""
        yes, no = special.log_expit(logit), special.log_expit(-logit)
        missed = ~self.success & ~self.shown
        mixed = np.logaddexp(no, yes + curve)
        value = np.where(missed, mixed, np.where(self.success, yes, no) + curve)
        return value, np.where(missed, np.exp(yes + curve - mixed), 1.0)

    def terms(self, log_rate: Floats, logit: Floats, log_shape: float) -> tuple[Floats, Floats, Floats]:
        """Value (n,), gradient (n, 3) and Hessian (n, 3, 3) of each row in log rate, logit activation, log shape."""
        n = self.amount.size
        slope, bend = np.zeros((n, 3)), np.zeros((n, 3, 3))
        near = {(0, 0): self.curve(log_rate, log_shape)}
        moves = (-1, 0, 1) if self.shaped else (0,)
        for i in (-1, 0, 1):
            for j in moves:
                if (i, j) != (0, 0):
                    near[i, j] = self.curve(log_rate + i * _STEP, log_shape + j * _STEP)
        here = near[0, 0]
        there = np.isfinite(here)
        with np.errstate(invalid="ignore"):
            a1 = (near[1, 0] - near[-1, 0]) / (2.0 * _STEP)
            a2 = (near[1, 0] - 2.0 * here + near[-1, 0]) / _STEP**2
            c1, c2, ac = np.zeros(n), np.zeros(n), np.zeros(n)
            if self.shaped:
                c1 = (near[0, 1] - near[0, -1]) / (2.0 * _STEP)
                c2 = (near[0, 1] - 2.0 * here + near[0, -1]) / _STEP**2
                ac = (near[1, 1] - near[1, -1] - near[-1, 1] + near[-1, -1]) / (4.0 * _STEP**2)
        a1, a2, c1, c2, ac = (np.where(there, v, 0.0) for v in (a1, a2, c1, c2, ac))
        value, share = self._joined(here, logit)
        p = special.expit(logit)
        missed = ~self.success & ~self.shown
        mix = share * (1.0 - share)  # 0 but for failures at an amount
        slope[:, 0], slope[:, 2] = share * a1, share * c1
        slope[:, 1] = np.where(missed, share - p, np.where(self.success, 1.0 - p, -p))
        bend[:, 0, 0] = share * a2 + mix * a1 * a1
        bend[:, 2, 2] = share * c2 + mix * c1 * c1
        bend[:, 0, 2] = bend[:, 2, 0] = share * ac + mix * a1 * c1
        bend[:, 0, 1] = bend[:, 1, 0] = mix * a1
        bend[:, 1, 2] = bend[:, 2, 1] = mix * c1
        bend[:, 1, 1] = mix - p * (1.0 - p)
        return value, slope, bend


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Intercepts of each arm and slopes that they share, with their covariance."""

    laws: tuple[Law, ...]
    """With their fitted shapes."""
    log_shape: Floats
    """(K,), 0 where a law has none that was fitted."""
    intercept: Floats
    """Of log rate and logit activation: (K, 2)."""
    slope: Floats
    """(2, d)."""
    covariance: Floats
    """Of the slopes, those of log rate first: (2 d, 2 d)."""
    log_likelihood: float
    """Without the prior."""
    converged: bool

    def predictors(self, arm: int, z: Floats) -> tuple[Floats, Floats]:
        """Log rate and logit activation of an arm at features (..., d)."""
        a, b = self.intercept[arm]
        return a + z @ self.slope[0], b + z @ self.slope[1]


def fitted(samples: Sequence[Sample], *, by_arm: bool) -> list[Fit]:
    """Fit all arms together, or each by itself: then slopes are its own."""
    return [fit([sample]) for sample in samples] if by_arm else [fit(samples)]


def of_arm(fits: Sequence[Fit], arm: int) -> tuple[Fit, int]:
    """Return the fit that an arm is in, and its place there."""
    return (fits[0], arm) if len(fits) == 1 else (fits[arm], 0)


class _Layout(NamedTuple):
    """Where parameters stand: three of each arm, then the slopes of log rate, then those of logit activation."""

    arms: int
    width: int
    start: Floats
    precision: Floats
    """Of the prior, whose mean is the start for intercepts and 0 for slopes."""
    least: Floats
    most: Floats

    def places(self, arm: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where an arm's intercept and the slopes are, of log rate and of logit activation."""
        slopes = 3 * self.arms + np.arange(2 * self.width).reshape(2, self.width)
        return np.append(3 * arm, slopes[0]), np.append(3 * arm + 1, slopes[1])


def fit(samples: Sequence[Sample]) -> Fit:
    """Fit the arms together: intercepts and shapes of their own, slopes shared."""
    layout = _layout(samples)
    at = layout.start.copy()
    height, slope, bend = _objective(samples, layout, at)
    damping, done = 1e-3, False
    for _ in range(_STEPS):
        scale = np.maximum(np.abs(np.diagonal(bend)), 1e-3)
        try:
            factor = linalg.cho_factor(-bend + damping * np.diag(scale))
        except linalg.LinAlgError:
            damping = max(10.0 * damping, 1e-4)
            continue
        move = linalg.cho_solve(factor, slope)
        if slope @ move < _CLOSE * (1.0 + damping) and damping < 1e-2:
            done = True
            break
        trial = np.clip(at + move, layout.least, layout.most)
        there = _height(samples, layout, trial)
        if there >= height:
            at = trial
            height, slope, bend = _objective(samples, layout, at)
            damping = max(0.2 * damping, 1e-12)
            free = (at > layout.least) & (at < layout.most)
            slope = np.where(free, slope, 0.0)
        else:
            damping = max(8.0 * damping, 1e-6)
    return _fitted(samples, layout, at, bend, done)


def _layout(samples: Sequence[Sample]) -> _Layout:
    arms, width = len(samples), samples[0].z.shape[1]
    start, precision = np.zeros(3 * arms + 2 * width), np.zeros(3 * arms + 2 * width)
    least, most = np.full(start.size, -np.inf), np.full(start.size, np.inf)
    shown = np.concatenate([s.amount[s.shown] for s in samples])
    for arm, sample in enumerate(samples):
        own = sample.amount[sample.shown]
        typical = own if own.size else shown if shown.size else sample.amount[np.isfinite(sample.amount)]
        middle = max(float(np.median(typical)), 1e-300) if typical.size else 1.0
        share = (sample.success.sum() + 0.5) / (sample.success.size + 1.0)
        law, free = sample.law, sample.law.free
        start[3 * arm] = np.log(float(law.rate_of_quantile(middle, 0.5)))
        start[3 * arm + 1] = np.clip(special.logit(share), -4.0, 4.0)
        least[3 * arm], most[3 * arm] = start[3 * arm] - _FAR, start[3 * arm] + _FAR
        precision[3 * arm : 3 * arm + 3] = 1.0 / _INTERCEPTS**2
        if sample.shaped and free is not None:
            start[3 * arm + 2] = np.log(float(law.shapes()[free.name]))
            least[3 * arm + 2], most[3 * arm + 2] = np.log(free.least) + _STEP, np.log(free.most) - _STEP
        else:
            least[3 * arm + 2] = most[3 * arm + 2] = 0.0
    precision[3 * arms :] = 1.0 / SLOPE**2
    return _Layout(arms, width, start, precision, least, most)


def _predictors(sample: Sample, layout: _Layout, at: Floats, arm: int) -> tuple[Floats, Floats, float]:
    slopes = at[3 * layout.arms :].reshape(2, -1)
    a, b, c = at[3 * arm : 3 * arm + 3].tolist()
    return a + sample.z @ slopes[0], b + sample.z @ slopes[1], c


def _prior(layout: _Layout, at: Floats) -> tuple[float, Floats]:
    away = at.copy()
    away[: 3 * layout.arms] -= layout.start[: 3 * layout.arms]
    return float(-0.5 * layout.precision @ (away * away)), -layout.precision * away


def _height(samples: Sequence[Sample], layout: _Layout, at: Floats) -> float:
    total = _prior(layout, at)[0]
    for arm, sample in enumerate(samples):
        total += float(sample.value(*_predictors(sample, layout, at, arm)).sum())
    return total if np.isfinite(total) else -np.inf


def _objective(samples: Sequence[Sample], layout: _Layout, at: Floats) -> tuple[float, Floats, Floats]:
    """Height, gradient and Hessian of the log posterior."""
    height, slope = _prior(layout, at)
    bend = -np.diag(layout.precision)
    for arm, sample in enumerate(samples):
        value, g, h = sample.terms(*_predictors(sample, layout, at, arm))
        height += float(value.sum())
        columns = np.column_stack([np.ones(value.size), sample.z])
        by_rate, by_activation = layout.places(arm)
        shape = 3 * arm + 2
        slope[shape] += g[:, 2].sum()
        bend[shape, shape] += h[:, 2, 2].sum()
        for c, own in enumerate((by_rate, by_activation)):
            slope[own] += columns.T @ g[:, c]
            cross = columns.T @ h[:, c, 2]
            bend[own, shape] += cross
            bend[shape, own] += cross
            for e, other in enumerate((by_rate, by_activation)):
                bend[np.ix_(own, other)] += columns.T @ (h[:, c, e, None] * columns)
    return height, slope, bend


def _fitted(samples: Sequence[Sample], layout: _Layout, at: Floats, bend: Floats, done: bool) -> Fit:
    arms = layout.arms
    held = (at <= layout.least) | (at >= layout.most)  # a shape at the end of its range, or none at all
    information = -bend
    information[held, :] = information[:, held] = 0.0
    information[held, held] = 1.0
    covariance = linalg.pinvh(information)[3 * arms :, 3 * arms :]
    own = at[: 3 * arms].reshape(arms, 3)
    laws = tuple(
        s.law.with_shape(float(np.exp(c))) if s.shaped else s.law for s, c in zip(samples, own[:, 2], strict=True)
    )
    likelihood = _height(samples, layout, at) - _prior(layout, at)[0]
    return Fit(
        laws,
        own[:, 2].copy(),
        own[:, :2].copy(),
        at[3 * arms :].reshape(2, -1),
        np.asarray(covariance),
        likelihood,
        done,
    )
