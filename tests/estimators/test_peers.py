"""The same numbers as lifelines and SurPyval on right-censored data.

Both fit a Weibull's shape too: at their shape, the maximum over the other two must be theirs. What is left, 1e-4 to
3e-4, is what the bins cost; they themselves stop within 1e-5 of the maximum.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from headgate.estimators import likelihood
from headgate.laws import Exponential, Law, Weibull

from . import references
from .references import History


def history(law: Law) -> History:
    rng = np.random.default_rng(3)
    return references.play(law, 0.6, 0.12, rng.uniform(2.0, 40.0, 10_000), rng)


def lifelines_fit(base: str, played: History) -> Any:
    lifelines = pytest.importorskip("lifelines")
    model = lifelines.MixtureCureFitter(base_fitter=getattr(lifelines, base)())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, from pandas and autograd
        return model.fit(np.where(played.success, played.threshold, played.x), played.success)


def surpyval_fit(name: str, played: History) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        surpyval = pytest.importorskip("surpyval")
        time = np.where(played.success, played.threshold, played.x)
        return getattr(surpyval, name).fit(x=time, c=(~played.success).astype(int), lfp=True)


def test_lifelines_exponential() -> None:
    played = history(Exponential())
    theirs = lifelines_fit("ExponentialFitter", played)
    ours = likelihood(Exponential(), played.evidence(40.0))
    assert ours.rate[0] == pytest.approx(1.0 / theirs.lambda_, rel=1e-3)
    assert ours.activation[0] == pytest.approx(1.0 - theirs.cured_fraction_, rel=1e-3)


def test_lifelines_weibull() -> None:
    played = history(Weibull(shape=1.6))
    theirs = lifelines_fit("WeibullFitter", played)
    ours = likelihood(Weibull(shape=float(theirs.rho_)), played.evidence(40.0))
    assert ours.rate[0] == pytest.approx(1.0 / theirs.lambda_, rel=1e-3)
    assert ours.activation[0] == pytest.approx(1.0 - theirs.cured_fraction_, rel=1e-3)


def test_surpyval_exponential() -> None:
    played = history(Exponential())
    theirs = surpyval_fit("Exponential", played)
    ours = likelihood(Exponential(), played.evidence(40.0))
    assert ours.rate[0] == pytest.approx(theirs.params[0], rel=1e-3)
    assert ours.activation[0] == pytest.approx(theirs.lfp_p, rel=1e-3)


def test_surpyval_weibull() -> None:
    played = history(Weibull(shape=1.6))
    theirs = surpyval_fit("Weibull", played)
    scale, shape = theirs.params
    ours = likelihood(Weibull(shape=float(shape)), played.evidence(40.0))
    assert ours.rate[0] == pytest.approx(1.0 / scale, rel=1e-3)
    assert ours.activation[0] == pytest.approx(theirs.lfp_p, rel=1e-3)
