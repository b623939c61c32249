"""What features of a log tell: slopes with intervals, how well they foretell other rows, and what they would gain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate import checks
from headgate.calibration.differing.design import Design, declared, design
from headgate.calibration.differing.regression import Fit, Sample, fitted, of_arm
from headgate.calibration.differing.worth import FeatureGain, feature_gains
from headgate.calibration.fitting.choose import ArmFit
from headgate.calibration.fitting.points import Basis
from headgate.calibration.log import Log
from headgate.calibration.records import Records
from headgate.errors import InputError
from headgate.features import Features
from headgate.laws import Floats

Slopes = Literal["auto", "shared", "arm"]
"""Whose the slopes are: all arms' together, each arm's own, or what foretells rows held out better."""
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Coefficient:
    """What one feature does to an arm's log rate and logit activation, per unit of it."""

    feature: str
    arm: str | None
    """None: to all arms alike."""
    unit: float
    rate: float
    rate_interval: Interval
    activation: float
    activation_interval: Interval


@dataclass(frozen=True, slots=True, eq=False)
class FeatureFit:
    """A cure regression of a log, and what it is worth beside none."""

    features: Features
    slopes: Literal["shared", "arm"]
    arms: tuple[str, ...]
    """Those with a success; of others a regression says nothing."""
    usual: Mapping[str, str]
    """The category of each column that the others are compared with."""
    coefficients: tuple[Coefficient, ...]
    log_likelihood: float
    rows: int
    held_out: Mapping[str, float]
    """Mean log-likelihood of a row that was held out: without features, with shared slopes, with slopes by arm."""
    held_out_error: float
    """Standard error of the gain in it, of the slopes that are shown over no features."""
    gains: tuple[FeatureGain, ...]
    level: float
    converged: bool

    @property
    def held_out_gain(self) -> float:
        """How much better a row that was held out is foretold with features, in nats."""
        return self.held_out[self.slopes] - self.held_out["none"]

    @property
    def help(self) -> bool:
        """Whether features foretell rows that were held out better than none do, beyond chance."""
        return self.held_out_gain > 2.0 * self.held_out_error


def fit_features(
    log: Log, arms: Sequence[ArmFit], features: Features | Sequence[str], basis: Basis, budgets: Sequence[float], *,
    slopes: Slopes = "auto", level: float = 0.9, bootstrap: int = 200, seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> FeatureFit:  # fmt: skip
    """Fit a log's rows by their features; each arm keeps the law that was chosen for it, with a shape of its own."""
    checks.choice("slopes", slopes, get_args(Slopes))
    records = log.records
    if records is None or records.columns is None:
        raise InputError("features need the rows themselves: read the log with Columns(features=[...])")
    regressors = design(declared(features, records.columns), records.columns)
    kept = [arm for arm, arm_fit in enumerate(arms) if arm_fit.fit is not None]
    if not kept:
        raise InputError("no arm has a success, so features tell nothing")
    rng = np.random.default_rng(seed)
    half = _halves(records, rng)
    samples = samples_of(records, regressors, arms, kept, basis)
    bare = [sample._replace(z=sample.z[:, :0]) for sample in samples]
    parts = [half[records.arm == arm] for arm in kept]
    scores: dict[str, Floats] = {}
    fits: dict[str, list[list[Fit]]] = {}
    choices = ["none", *(["shared", "arm"] if slopes == "auto" and len(kept) > 1 else
                         ["shared" if slopes == "auto" else slopes])]  # fmt: skip
    for number, name in enumerate(choices):
        own = bare if name == "none" else samples
        fits[name] = [fitted([s.only(p != side) for s, p in zip(own, parts, strict=True)], by_arm=name == "arm")
                      for side in (0, 1)]  # fmt: skip
        scores[name] = _scores(own, parts, fits[name])
        progress(number + 1)
    held_out = {name: float(score.mean()) for name, score in scores.items()}
    shared, by_arm = (held_out.get(name, -np.inf) for name in ("shared", "arm"))
    chosen: Literal["shared", "arm"] = "arm" if by_arm > shared else "shared"
    whole = fitted(samples, by_arm=chosen == "arm")
    better = scores[chosen] - scores["none"]
    names = tuple(log.names[arm] for arm in kept)
    return FeatureFit(
        features=regressors.declared, slopes=chosen, arms=names, usual=regressors.usual,
        coefficients=tuple(_coefficients(whole, regressors, names if chosen == "arm" else (None,), level)),
        log_likelihood=sum(fit.log_likelihood for fit in whole), rows=sum(s.amount.size for s in samples),
        held_out=held_out, held_out_error=float(better.std() / np.sqrt(better.size)),
        gains=feature_gains(records, regressors.z, half, kept, fits["none"], fits[chosen], budgets,
                            whole=log.whole, level=level, bootstrap=bootstrap, rng=rng),
        level=level, converged=all(fit.converged for fit in whole),
    )  # fmt: skip


def samples_of(
    records: Records, regressors: Design, arms: Sequence[ArmFit], kept: Sequence[int], basis: Basis
) -> list[Sample]:
    """Return the rows of each arm as a regression wants them."""
    samples = []
    for arm in kept:
        own = records.arm == arm
        success, threshold = records.success[own], records.threshold[own]
        shown = ~np.isnan(threshold) & (success | (basis == "all"))
        allocation = records.allocation[own] if basis == "censored" else np.full(success.size, np.inf)
        least = threshold[shown & (threshold > 0.0)].min(initial=np.inf)  # a time of 0 is one too small to be told
        shown &= np.isfinite(least)
        amount = np.where(shown, np.maximum(np.nan_to_num(threshold), least), allocation)
        samples.append(Sample(arms[arm].law, regressors.z[own], amount, shown, success))
    return samples


def _halves(records: Records, rng: np.random.Generator) -> NDArray[np.int64]:
    """Which half each row is in; rounds stay whole."""
    group = records.groups
    size = int(group.max()) + 1
    return (rng.permutation(size) % 2)[group]


def _scores(samples: Sequence[Sample], parts: Sequence[NDArray[np.int64]], fits: Sequence[Sequence[Fit]]) -> Floats:
    """Log-likelihood of every row by the fit to the other half."""
    scores = []
    for arm, (sample, part) in enumerate(zip(samples, parts, strict=True)):
        score = np.zeros(part.size)
        for side in (0, 1):
            here = part == side
            one, place = of_arm(fits[side], arm)
            own = sample.only(here)
            score[here] = own.value(*one.predictors(place, own.z), float(one.log_shape[place]))
        scores.append(score)
    return np.maximum(np.concatenate(scores), -1e3)  # a row that was thought impossible is bad, not infinitely so


def _coefficients(
    fits: Sequence[Fit], regressors: Design, names: Sequence[str | None], level: float
) -> list[Coefficient]:
    wide = float(special.ndtri(0.5 + level / 2.0))
    coefficients = []
    for one, arm in zip(fits, names, strict=True):
        error = np.sqrt(np.maximum(np.diagonal(one.covariance), 0.0)).reshape(2, -1)
        for k, feature in enumerate(regressors.names):
            (a, b), (ea, eb) = one.slope[:, k].tolist(), (wide * error[:, k]).tolist()
            unit = float(regressors.unit[k])
            coefficients.append(Coefficient(feature, arm, unit, a, (a - ea, a + ea), b, (b - eb, b + eb)))
    return coefficients
