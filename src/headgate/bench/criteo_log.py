"""A made-up log in the form of Criteo's: its columns, its size, and thresholds that are known.

Criteo's attribution log may not be shipped. This one is drawn from a `Problem`: a user sees some campaigns, each
impression a second or more after the one before; an active campaign is clicked first at its threshold, if the user
saw it that often. The rows of all users are mixed by time, as in a log.
"""

from __future__ import annotations

from dataclasses import dataclass
from gzip import GzipFile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headgate import checks
from headgate.datasets.criteo import campaigns
from headgate.errors import InputError
from headgate.extras import extra
from headgate.laws import Floats
from headgate.problem import Problem

COLUMNS = (
    *("timestamp", "uid", "campaign", "conversion", "conversion_timestamp", "conversion_id", "attribution", "click"),
    *("click_pos", "click_nb", "cost", "cpo", "time_since_last_click", *(f"cat{i}" for i in range(1, 10))),
)
WINDOW = 30 * 24 * 3600
"""The seconds that the log covers."""
MOST = 400
"""The most impressions a user has."""
_PAUSE = WINDOW // MOST  # at most so many seconds between a user's impressions, so that all of them fit
_CAMPAIGN = 10_000_000  # added to an arm's number: campaigns have long numbers for names
_CHUNK = 250_000  # rows written at once
_NEVER = -1

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """What is true of a made-up log: one entry for each user and campaign, sorted by both."""

    names: tuple[str, ...]
    arm: Ints
    allocation: Ints
    """How many impressions of the campaign the user saw."""
    success: NDArray[np.bool_]
    threshold: Floats
    """The impression at which the first click came; nan where none did."""
    budgets: Ints
    """How many impressions each user saw."""


def write_criteo(
    path: Path, rows: int, *, seed: int = 0, problem: Problem | None = None, mean: float = 2.7, level: int = 6
) -> Drawn:
    """Write `rows` impressions to a TSV, compressed if its name ends in .gz, and return what is true of them.

    Users see `mean` impressions or so; Criteo's log has about as many. 16.5 million rows take a few minutes.
    """
    checks.whole("rows", rows, InputError)
    checks.numbers("mean", mean, InputError, least=1.0)
    rng = np.random.default_rng([seed, 17])
    columns, drawn = _draw(rows, campaigns() if problem is None else problem, mean, rng)
    with path.open("wb") as file:
        if path.suffix == ".gz":
            with GzipFile(
                "", "wb", level, file, mtime=0
            ) as packed:  # no name and no time: the same seed, the same file
                _write(packed, columns, rng)
        else:
            _write(file, columns, rng)
    return drawn


def _draw(rows: int, problem: Problem, mean: float, rng: np.random.Generator) -> tuple[dict[str, Any], Drawn]:
    """Draw every column that depends on others, in the order of time; and the truth."""
    budgets = _budgets(rows, mean, rng)
    user = np.repeat(np.arange(budgets.size, dtype=np.int32), budgets)
    time = _times(user, budgets, rng)
    arm = _arms(user, budgets.size, problem.arms, rng)
    order = np.argsort(user.astype(np.int64) * problem.arms + arm, kind="stable")  # rows of a pair, by time
    begins = np.r_[True, np.diff(user[order]) | np.diff(arm[order])].astype(np.bool_)
    starts = np.flatnonzero(begins)
    impressions = np.diff(np.r_[starts, rows])
    pair_arm = arm[order][starts].astype(np.int64)
    need = _thresholds(pair_arm, problem, rng)
    success = need <= impressions
    place = np.arange(rows, dtype=np.int32) - np.repeat(starts.astype(np.int32), impressions) + 1
    needed = np.repeat(need, impressions)
    sorted_click = (place == needed) | ((place > needed) & (rng.random(rows) < 0.3))  # who clicked may click again
    click = np.zeros(rows, dtype=np.int8)
    click[order] = sorted_click
    since = np.empty(rows, dtype=np.int32)
    since[order] = _since(time[order], sorted_click, starts, impressions)
    truth = Drawn(
        tuple(str(_CAMPAIGN + i) for i in range(problem.arms)),
        pair_arm, impressions, success, np.where(success, need, np.nan), budgets,
    )  # fmt: skip
    by_time = np.argsort(time, kind="stable")
    label = rng.permutation(budgets.size).astype(np.int32)  # users' numbers do not tell when they came
    columns = {
        "timestamp": time[by_time],
        "uid": label[user[by_time]],
        "campaign": arm[by_time].astype(np.int32) + _CAMPAIGN,
        "click": click[by_time],
        "time_since_last_click": since[by_time],
    }
    return columns, truth


def _budgets(rows: int, mean: float, rng: np.random.Generator) -> Ints:
    """How many impressions each user sees: mostly one or two, sometimes hundreds; `rows` of all of them."""
    sigma = 1.2
    parts: list[Ints] = []
    rest = rows
    while rest > 0:
        size = int(rest / mean) + 10
        few = np.log(max(mean - 0.6, 0.05)) - sigma**2 / 2.0  # rounding up adds half an impression or so
        part = np.minimum(np.ceil(rng.lognormal(few, sigma, size)), MOST).astype(np.int64)
        part = part[: int(np.searchsorted(np.cumsum(part), rest)) + 1]
        rest -= int(part.sum())
        parts.append(part)
    parts[-1][-1] += rest  # the last user sees what is left over, at least one
    return np.concatenate(parts)


def _times(user: NDArray[np.int32], budgets: Ints, rng: np.random.Generator) -> NDArray[np.int32]:
    """Seconds since the log began, all different for one user and growing from row to row."""
    pause = np.minimum(1.0 + rng.exponential(2500.0, user.size), _PAUSE).astype(np.int32)
    last = np.cumsum(budgets) - 1
    passed = np.cumsum(pause, dtype=np.int64)
    before = passed[last - budgets + 1]
    span = passed[last] - before
    begun = (rng.random(budgets.size) * (WINDOW - span)).astype(np.int64) - before
    return np.asarray(passed + begun[user], dtype=np.int32)


def _arms(user: NDArray[np.int32], users: int, arms: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Which campaign each impression is of: a user sees up to three, some campaigns far more often than others."""
    weight = 1.0 / np.arange(1, arms + 1) ** 0.8
    cumulative = np.cumsum(weight) / weight.sum()
    liked = np.searchsorted(cumulative, rng.random((3, users))).astype(np.int32).clip(max=arms - 1)
    which = np.searchsorted([0.75, 0.95], rng.random(user.size)).astype(np.int8)
    return np.asarray(liked[which, user])


def _thresholds(pair_arm: Ints, problem: Problem, rng: np.random.Generator) -> Floats:
    """X ~ the arm's law where the user is active for it, else infinite."""
    need = np.full(pair_arm.size, np.inf)
    for arm, pairs in enumerate(np.split(np.argsort(pair_arm, kind="stable"), np.searchsorted(
        np.sort(pair_arm), np.arange(1, problem.arms)
    ))):  # fmt: skip
        active = pairs[rng.random(pairs.size) < problem.activation[arm]]
        need[active] = problem.law.of_arm(arm).sample(problem.rate[arm], rng, active.size)
    return need


def _since(time: NDArray[np.int32], click: NDArray[np.bool_], starts: Ints, impressions: Ints) -> NDArray[np.int32]:
    """Seconds since the pair's last click before each of its rows, -1 where there was none."""
    place = np.where(click, np.arange(time.size), _NEVER)
    last = np.r_[_NEVER, np.maximum.accumulate(place)[:-1]]
    known = last >= np.repeat(starts, impressions)
    return np.where(known, time - time[last], _NEVER).astype(np.int32)


def _write(sink: Any, columns: dict[str, Any], rng: np.random.Generator) -> None:
    """Write the file as text, piece by piece, with the columns that depend on nothing drawn on the way."""
    arrow, csv = extra("pyarrow"), extra("pyarrow.csv")
    sink.write(("\t".join(COLUMNS) + "\n").encode())
    options = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    for start in range(0, columns["timestamp"].size, _CHUNK):
        part = {name: values[start : start + _CHUNK] for name, values in columns.items()}
        part |= _rest(part, start, rng)
        csv.write_csv(arrow.table({name: part[name] for name in COLUMNS}), sink, options)


def _rest(part: dict[str, Any], start: int, rng: np.random.Generator) -> dict[str, Any]:
    """Conversions after some of the clicks, costs and categories: plausible, and read by nobody."""
    size = part["timestamp"].size
    bought = (part["click"] == 1) & (rng.random(size) < 0.12)
    later = part["timestamp"] + rng.integers(60, 7 * 24 * 3600, size)
    rest: dict[str, Any] = {
        "conversion": bought.astype(np.int8),
        "conversion_timestamp": np.where(bought, later, _NEVER),
        "conversion_id": np.where(bought, start + np.arange(size), _NEVER),
        "attribution": (bought & (rng.random(size) < 0.6)).astype(np.int8),
        "click_pos": np.where(bought, 0, _NEVER),
        "click_nb": np.where(bought, 1, _NEVER),
        "cost": np.round(rng.exponential(2e-4, size) + 1e-5, 9),
        "cpo": np.round(rng.uniform(0.05, 0.5, size), 9),
    }
    kinds = (10, 70, 2000, 25, 12, 1100, 60_000, 21, 30)  # how many values each category has
    for number, values in enumerate(kinds, start=1):
        rest[f"cat{number}"] = rng.integers(0, values, size) * 463 + 138_937
    return rest
