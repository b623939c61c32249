"""Evidence and the cure-model fit against lifelines and NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special

from headgate.bench.harness import AtMost, Result, benchmark, side_by_side, sized
from headgate.estimators import likelihood, maximum, weak_prior
from headgate.estimators.success import success
from headgate.evidence import Evidence
from headgate.feedback import Feedback
from headgate.laws import Exponential, Floats, Law, Weibull
from headgate.oracle import standard_form

ROWS = 10_000
_WEAK = 0.04  # the weak prior's precision, part of the Hessian


@lru_cache
def _log(law: Law, rows: int) -> tuple[Floats, Any, Floats]:
    """Allocations, successes and thresholds of one arm, p = .6 and rate = .12."""
    rng = np.random.default_rng(3)
    x, threshold = rng.uniform(2.0, 40.0, rows), law.sample(0.12, rng, rows)
    return x, (rng.random(rows) < 0.6) & (threshold <= x), threshold


def _against_lifelines(law: Law, base: str, at: Callable[[Any], Law]) -> Result:
    import lifelines  # noqa: PLC0415  # slow to import, and only this needs it

    x, success, threshold = _log(law, ROWS)
    time, arm = np.where(success, threshold, x), np.zeros(ROWS, dtype=np.int64)

    def ours(known: Law = law) -> Any:
        return likelihood(known, Evidence.of_rows(arm, x, success, threshold))

    def theirs() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return lifelines.MixtureCureFitter(base_fitter=getattr(lifelines, base)()).fit(time, success)

    their = theirs()
    our = ours(at(their))
    off = max(abs(our.rate[0] * their.lambda_ - 1.0), abs(our.activation[0] / (1.0 - their.cured_fraction_) - 1.0))
    mine, reference = side_by_side(ours, theirs, repeats=5)
    note = f"{ROWS:,} rows recorded and fitted, with likelihood-ratio intervals; they differ by {off:.1e}"
    return Result(mine, reference, required=50.0, note=note, holds=bool(off < 2e-3))


@benchmark("estimators: exponential cure model, against lifelines")
def exponential() -> Result:
    """Record and fit against MixtureCureFitter(ExponentialFitter())."""
    return _against_lifelines(Exponential(), "ExponentialFitter", lambda _: Exponential())


@benchmark("estimators: Weibull cure model, against lifelines")
def weibull() -> Result:
    """Record and fit against MixtureCureFitter(WeibullFitter()), which also finds the shape."""
    return _against_lifelines(Weibull(shape=1.6), "WeibullFitter", lambda theirs: Weibull(shape=float(theirs.rho_)))


@lru_cache
def _batch(law: Law, runs: int = 100, arms: int = 10, rounds: int = 1500) -> Evidence:
    """What 100 learners know of 10 arms each, after 1,500 rounds around x = 4."""
    rng = np.random.default_rng(0)
    rate, activation = rng.uniform(0.025, 2.0, (runs, arms)), rng.uniform(0.05, 1.0, (runs, arms))
    evidence = Evidence.empty(arms, 40.0, (runs,))
    for _ in range(rounds):
        x = 4.0 * np.exp(0.15 * rng.standard_normal((runs, arms)))
        threshold = law.sample(rate, rng, x.shape)
        won = (rng.random(x.shape) < activation) & (threshold <= x)
        evidence.record(x, Feedback(won, np.where(won, threshold, np.nan)))
    return evidence


def _derivatives(evidence: Evidence, shape: float, theta: Floats) -> Floats:
    """Gradient and Hessian of a Weibull cure model, in NumPy over all bins of all arms."""
    rate, p = np.exp(theta[..., :1]), special.expit(theta[..., 1:])
    failed, seen = evidence.counts("failed"), evidence.counts("seen")
    z, won = (rate * evidence.means("failed")) ** shape, (rate * evidence.means("seen")) ** shape
    missing = np.exp(-z)
    share = p / ((1.0 - p) + p * missing)
    d1, d2 = -share * shape * z * missing, -share * (1.0 - p) * -np.expm1(-z)
    parts = (
        failed * d1 + seen * shape * (1.0 - won),
        failed * d2 + seen * (1.0 - p),
        failed * d1 * (shape * (1.0 - z) - d1) - seen * shape**2 * won,
        failed * d1 * ((1.0 - p) - d2),
        failed * d2 * ((1.0 - 2.0 * p) - d2) - seen * p * (1.0 - p),
    )
    return np.stack([np.sum(part, axis=-1) for part in parts], axis=-1)


def _newton_step(law: Law, shape: float) -> Result:
    """Time one Newton step of 1,000 arms: read the evidence, step, and look at where it led."""
    evidence = _batch(law)
    arm = standard_form(law, evidence.arms), law.whole_arms(evidence.arms), evidence, weak_prior(evidence)
    start = maximum(*arm).theta + 0.05
    here = maximum(*arm, start=start, steps=0).hessian + np.array([_WEAK, 0.0, _WEAK])
    same = np.allclose(_derivatives(evidence, shape, start)[..., 2:], here, rtol=1e-6, atol=1e-6)
    ours, reference = side_by_side(
        lambda: maximum(*arm, start=start, steps=1), lambda: _derivatives(evidence, shape, start)
    )
    arms = evidence.trials.size
    note = f"{arms:,} arms, {ours / arms * 1e6:.2f} us each, value and derivatives twice; NumPy: derivatives once"
    return Result(ours, reference, required=1.5, note=note, holds=bool(same))


@benchmark("estimators: Newton step of exponential arms, against NumPy")
def exponential_step() -> Result:
    """Against the derivatives alone, vectorised over the batch."""
    return _newton_step(Exponential(), 1.0)


@benchmark("estimators: Newton step of Weibull arms, against NumPy")
def weibull_step() -> Result:
    """Against the derivatives alone, vectorised over the batch."""
    return _newton_step(Weibull(shape=1.6), 1.6)


@benchmark("evidence: record a round of 10 arms, against its check")
def record() -> Result:
    """Against the validation of the same feedback in NumPy, which recording includes."""
    evidence, x = Evidence.empty(10, 40.0), np.full(10, 4.0)
    won = np.arange(10) % 2 == 0
    feedback = Feedback(won, np.where(won, 2.0, np.nan))
    ours, check = side_by_side(lambda: evidence.record(x, feedback), lambda: feedback.check(x))
    return Result(ours, check, required=2.0, note="Feedback.check in NumPy")


def _covered(truth: Law, law: Law, amounts: tuple[float, float], rows: int, at: float, sets: int, seed: int) -> float:
    """How often the 90% interval of the chance of success at `at` holds the truth; p = .6, rate = .25."""
    rng, shape = np.random.default_rng(seed), (sets, rows)
    x, threshold = rng.uniform(*amounts, shape), truth.sample(np.full(shape, 0.25), rng)
    won = (rng.random(shape) < 0.6) & (threshold <= x)
    arm, threshold = np.repeat(np.arange(sets), rows), np.where(won, threshold, np.nan)
    evidence = Evidence.of_rows(arm, x.ravel(), won.ravel(), threshold.ravel(), arms=sets, max_budget=16.0)
    low, high = np.moveaxis(success(law, evidence, np.asarray(at), 0.9).interval, -1, 0)
    right = 0.6 * truth.cdf(at, 0.25)
    return float(np.mean((low <= right) & (right <= high)))


@benchmark("coverage: the chance of success, on ridges too")
def chance_of_success() -> AtMost:
    """The largest distance of a coverage from its nominal 90%; on a ridge allocations do not reach the median."""
    curve, sets = Weibull(shape=2.0), sized(100, 1000)
    shares = {
        "shape known": _covered(curve, curve, (1.0, 12.0), 100, 4.0, sets, 1),
        "ridge": _covered(curve, curve, (0.5, 2.0), 200, 2.0, sets, 2),
        "beyond a ridge": _covered(curve, curve, (0.5, 2.0), 200, 4.0, sets, 3),
        "exponential ridge": _covered(Exponential(), Exponential(), (0.1, 1.0), 200, 1.0, sets, 4),
        "shape learned": _covered(curve, Weibull(shape="learn"), (1.0, 12.0), 200, 4.0, sets, 5),
    }
    worst = max(abs(share - 0.9) for share in shares.values())
    note = f"{sets} data sets each: " + ", ".join(f"{name} {share:.3f}" for name, share in shares.items())
    return AtMost(worst, 0.1, 0.03 if sets >= 1000 else 0.1, note)
