"""Logs made up from known parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import headgate as hg
from headgate.calibration.log import Kind, Log, Reading, Rows
from headgate.evidence import Evidence
from headgate.laws import Floats, Law


def rows_of(arm: Sequence[int], given: Floats, success: Sequence[bool], threshold: Floats, count: int = 1) -> Rows:
    """Rows in the order of their arms, a threshold only where the log would show one."""
    who = np.asarray(arm, dtype=np.int64)
    order = np.argsort(who, kind="stable")
    columns = (np.broadcast_to(np.asarray(v), who.shape)[order] for v in (given, success, threshold))
    x, won, seen = columns
    return Rows(
        who[order], x.astype(np.float64), won.astype(np.bool_), seen.astype(np.float64), np.full(who.size, count)
    )


def log_of(rows: Rows, kind: Kind, *, whole: bool = False, units: str | None = "s", names: Sequence[str] = ()) -> Log:
    arms = int(rows.arm.max()) + 1
    finite = np.where(np.isfinite(rows.allocation), rows.allocation, np.nan)
    most = float(np.nanmax(np.concatenate([finite, rows.threshold])))
    x = np.minimum(rows.allocation, most)
    evidence = Evidence.of_rows(rows.arm, x, rows.success, np.nan_to_num(rows.threshold), arms=arms, max_budget=most)
    read = Reading("made up", int(rows.count.sum()) + 3, int(rows.count.sum()), {"no threshold": 3})
    return Log(tuple(names) or tuple(f"arm{i}" for i in range(arms)), kind, evidence, rows, read, whole, units)


def censored(law: Law, activation: float, rate: float, n: int, seed: int, *, arms: int = 1) -> Rows:
    """Rows given between a little and a lot, most of what the law needs."""
    rng = np.random.default_rng(seed)
    high = float(law.quantile(0.95, rate))
    given = rng.uniform(0.1 * high, 1.6 * high, (arms, n))
    if law.integer:
        given = np.ceil(given)
    threshold = np.asarray(law.sample(rate, rng, (arms, n)))
    won = (rng.random((arms, n)) < activation) & (threshold <= given)
    arm = np.repeat(np.arange(arms), n)
    return rows_of(arm, given.ravel(), won.ravel(), np.where(won, threshold, np.nan).ravel())  # type: ignore[arg-type]


def observed(problem: hg.Problem, n: int, seed: int) -> Rows:
    """Every row shows a threshold, right or wrong."""
    rng = np.random.default_rng(seed)
    threshold = problem.law.sample(problem.rate, rng, (n, problem.arms))
    won = rng.random(threshold.shape) < problem.activation
    arm = np.tile(np.arange(problem.arms), n)
    return rows_of(arm, np.full(arm.size, np.inf), won.ravel(), threshold.ravel())  # type: ignore[arg-type]
