"""Criteo's attribution log, as the experiments use it: first clicks of the campaigns that were clicked most.

The log may not be shipped: 16.5 million impressions with timestamp, user, campaign and click among their columns.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from headgate.calibration.reading import Criteo, read_log
from headgate.laws import DiscreteWeibull, Floats
from headgate.problem import Problem

FILES = ("criteo_attribution_dataset.tsv.gz", "criteo_attribution_dataset.tsv")


class Impressions(NamedTuple):
    """The campaigns with the most clicks, and the users who saw any of them."""

    names: tuple[str, ...]
    counts: tuple[NDArray[np.int64], ...]
    """For each campaign how many first clicks came at impression 1, 2, ..."""
    clicked: Floats
    """For each campaign the share of its users who clicked."""
    budgets: NDArray[np.int64]
    """How many impressions each user had, of these campaigns; of very many users, a sample."""


def read(path: Path, campaigns: int) -> Impressions:
    """Read the log and count; campaigns in the order of their numbers, and only impressions of theirs."""
    log = read_log(path, Criteo(campaigns=campaigns))
    rows, arms = log.rows, range(log.arms)
    won = [rows.success & (rows.arm == arm) for arm in arms]
    counts = tuple(
        np.bincount(rows.threshold[mine].astype(np.int64), weights=rows.count[mine]).astype(np.int64)[1:]
        for mine in won
    )
    pairs = np.bincount(rows.arm, weights=rows.count, minlength=log.arms)
    clicked = np.array([rows.count[mine].sum() for mine in won]) / pairs
    budgets = np.empty(0) if log.budgets is None else log.budgets
    return Impressions(log.names, counts, clicked, budgets.astype(np.int64))


def calibrate(seen: Impressions) -> Problem:
    """Return the campaigns with laws fitted to their first clicks, as the paper fits them: given a click.

    The activation is the share of users who clicked: a lower bound, since more impressions might have won more.
    """
    fitted = [fit_discrete(counts.astype(np.float64)) for counts in seen.counts]
    return Problem(
        DiscreteWeibull(shape=[shape for shape, _ in fitted]),
        activation=seen.clicked,
        rate=[rate for _, rate in fitted],
        names=seen.names,
        units="impressions",
        provenance={"source": "Criteo attribution log", "fit": "discrete Weibull given a click, maximum likelihood"},
    )


def fit_discrete(counts: Floats) -> tuple[float, float]:
    """Shape and rate of largest likelihood for counts of 1, 2, ...: `counts[n - 1]` of n."""
    n = np.arange(1, counts.size + 1)

    def loss(theta: Floats) -> float:
        law = DiscreteWeibull(shape=float(np.exp(theta[0])))
        return -float(counts @ np.maximum(law.log_pdf(n, float(np.exp(theta[1]))), -1e6))

    start = [0.0, -float(np.log(counts @ n / counts.sum()))]
    found = optimize.minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-8})
    return float(np.exp(found.x[0])), float(np.exp(found.x[1]))
