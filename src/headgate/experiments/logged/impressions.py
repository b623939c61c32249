"""Criteo's attribution log, read from its raw TSV: impressions up to the first click, campaign by campaign.

The log may not be shipped: 16.5 million impressions with timestamp, user, campaign and click among their columns.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from headgate.errors import InputError
from headgate.laws import DiscreteWeibull, Floats
from headgate.problem import Problem
from headgate.simulation.extras import extra

FILES = ("criteo_attribution_dataset.tsv.gz", "criteo_attribution_dataset.tsv")
_COLUMNS = ("timestamp", "uid", "campaign", "click")


class Impressions(NamedTuple):
    """The campaigns with the most clicks, and the users who saw any of them."""

    names: tuple[str, ...]
    counts: tuple[NDArray[np.int64], ...]
    """For each campaign how many first clicks came at impression 1, 2, ..."""
    clicked: Floats
    """For each campaign the share of its users who clicked."""
    budgets: NDArray[np.int64]
    """How many impressions each user had."""


def read(path: Path, campaigns: int) -> Impressions:
    """Read the log and count; a user's impressions of a campaign are in the order of their timestamps."""
    time, user, campaign, click = _columns(path)
    found, clicks = np.unique(campaign[click], return_counts=True)
    if found.size < campaigns:
        raise InputError(f"{path} must have clicks on at least {campaigns} campaigns, got {found.size}")
    chosen = np.sort(found[np.argsort(-clicks, kind="stable")[:campaigns]])
    kept = np.isin(campaign, chosen)
    time, user, click = time[kept], user[kept], click[kept]
    arm = np.searchsorted(chosen, campaign[kept])
    order = np.lexsort((time, arm, user))
    user, arm, click = user[order], arm[order], click[order]
    begins = np.r_[True, (np.diff(user) != 0) | (np.diff(arm) != 0)]  # a user's first impression of a campaign
    starts, pair = np.flatnonzero(begins), np.cumsum(begins) - 1
    place = np.arange(user.size) - starts[pair] + 1
    hits = np.flatnonzero(click)
    first = hits[np.r_[True, np.diff(pair[hits]) != 0]] if hits.size else hits
    counts = tuple(np.bincount(place[first][arm[first] == i])[1:] for i in range(campaigns))
    pairs = np.bincount(arm[starts], minlength=campaigns)
    clicked = np.bincount(arm[first], minlength=campaigns) / pairs
    budgets = np.unique(user, return_counts=True)[1]
    return Impressions(tuple(str(name) for name in chosen), counts, clicked, budgets)


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


def _columns(path: Path) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    csv, arrow = extra("pyarrow.csv"), extra("pyarrow")
    types = {name: arrow.int32() for name in _COLUMNS}
    try:
        table = csv.read_csv(
            path,
            parse_options=csv.ParseOptions(delimiter="\t"),
            convert_options=csv.ConvertOptions(include_columns=list(_COLUMNS), column_types=types),
        )
    except (arrow.ArrowInvalid, arrow.ArrowKeyError) as cause:
        raise InputError(
            f"{path} must be tab-separated with whole numbers in {', '.join(_COLUMNS)}: {cause}"
        ) from cause
    time, user, campaign, click = (table.column(name).to_numpy() for name in _COLUMNS)
    return time, user, campaign, click == 1
