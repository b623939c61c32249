"""How a contextual policy learns from a round, and learns better what the last rounds have told.

A round's rows are linearised where the posterior has its mode after them, and their information is added. At first that
place is far from where later rounds will find it, and along the bent ridge on which median and activation trade
quadratics made in different places add up to a belief that no row speaks for. So the last rows are kept: whenever an
eighth more have come, all of them are linearised again, together, beside the information of the rows before them. Where
there is no room for more, the older half goes, as it was linearised last, by then with a posterior that knows better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headgate.estimators.regression import Rows, absorbed
from headgate.evidence import Evidence
from headgate.evidence.moments import joined, moments_of
from headgate.feedback import Feedback
from headgate.laws import Floats
from headgate.policies.contextual_regression import Regression
from headgate.policies.contextual_state import COLUMNS, ContextualState
from headgate.policies.net import due

# The columns of a row that is kept; after them come its features, less the reference.
_ARM, _KIND, _AMOUNT, _ALLOCATION, _WEIGHT = range(COLUMNS)
_WAIT = 8  # rows are linearised again when there are an eighth more
_OFTEN, _SELDOM = 64, 16  # variances are found again in each of the first rounds, later in one of so many
_FORGIVEN = 12.0  # how far a law's log evidence may fall behind: first rounds, linearised far away, are not for ever


def absorb(
    regression: Regression, state: ContextualState, index: tuple[int, ...], x: Floats, feedback: Feedback, z: Floats
) -> None:
    """Learn from one learner's round."""
    from headgate.kernels.record_rows import record_rows  # noqa: PLC0415  # machine code loads on first use
    from headgate.kernels.regression import FAILED, REACHED, SEEN  # noqa: PLC0415  # machine code loads on first use

    reported, won, threshold = (v[index] for v in (feedback.reported, feedback.success, feedback.threshold))
    if not reported.any():
        return
    every: NDArray[np.bool_] | slice = slice(None) if reported.all() else reported  # a slice copies nothing
    state.refer(index, z[every])
    away = state.referred(index, z)
    state.moments[index] = joined(state.moments[index], moments_of(away[every]))
    served = reported & (x > 0.0)
    on: NDArray[np.int64] | slice = slice(None) if served.all() else np.flatnonzero(served)
    count = int(np.count_nonzero(served))
    if count == 0:
        return
    arm = np.flatnonzero(served) if regression.own else np.zeros(count, dtype=np.int64)
    evidence = state.evidence
    record_rows(evidence.bins[index], evidence.edges, arm, x[on], won[on], threshold[on])
    kind = np.where(won[on], np.where(np.isnan(threshold[on]), REACHED, SEEN), FAILED).astype(np.int64)
    amount, threshold_share = np.where(kind == SEEN, threshold[on], x[on]), _threshold_share(evidence, index)
    keep = count <= state.rows.shape[-2]
    if keep:
        _keep(regression, state, index, np.column_stack([arm, kind, amount, x[on], np.ones(count), away[on]]))
    for law in range(regression.laws):
        view = regression.view(state, index, law, z, more=False, away=away)
        rows = _rows(regression, law, arm, kind, amount, x[on], threshold_share, view.columns[on])
        expansion = absorbed(view.posterior, rows)
        more = expansion.information.in_units(view.back)
        for total in (state.information,) if keep else (state.information, state.old):
            total.at((*index, law)).include(more)
        state.log_evidence[(*index, law)] += expansion.log_evidence
    best = state.log_evidence[index].max()
    state.log_evidence[index] = np.maximum(state.log_evidence[index] - best, -_FORGIVEN)
    kept, fresh = state.kept[index].tolist()
    if keep and fresh * _WAIT >= kept > count:
        _settle(regression, state, index, 0)


def review(regression: Regression, state: ContextualState, z: Floats, netted: bool) -> None:
    """Before a decision for rows (batch, K, d): learn the prior's variances and doubt laws, where that is due."""
    learn, doubt = state.round < _OFTEN or state.round % _SELDOM == 0, netted and due(state.round)
    for index in np.ndindex(z.shape[:-2]):
        if learn:
            regression.learn_variances(state, index, z[index])
        if doubt:
            state.doubted[index] = regression.counted(state, index).doubted


def _keep(regression: Regression, state: ContextualState, index: tuple[int, ...], rows: Floats) -> None:
    """Write rows (n, 5 + d) behind those that are kept; where there is no room, the older half goes before."""
    kept, memory = int(state.kept[index][0]), state.rows.shape[-2]
    if kept + len(rows) > memory:
        _settle(regression, state, index, max(kept - memory // 2, kept + len(rows) - memory))
        kept = int(state.kept[index][0])
    state.rows[index][kept : kept + len(rows)] = rows
    state.kept[index] += len(rows)


def _settle(regression: Regression, state: ContextualState, index: tuple[int, ...], leaving: int) -> None:
    """Linearise all rows that are kept again; the `leaving` oldest of them then go."""
    kept = int(state.kept[index][0])
    rows = state.rows[index][:kept]
    away = np.ascontiguousarray(rows[:, COLUMNS:])
    arm, kind = rows[:, _ARM].astype(np.int64), rows[:, _KIND].astype(np.int64)
    amount, allocation, weight = (np.ascontiguousarray(rows[:, c]) for c in (_AMOUNT, _ALLOCATION, _WEIGHT))
    columns = np.concatenate([np.ones((kept, 1)), away], axis=1)
    threshold_share = _threshold_share(state.evidence, index)
    for law in range(regression.laws):
        now = regression.view(state, index, law, away, more=False, away=away)
        before = regression.view(state, index, law, away, more=False, away=away, old=True)
        table = _rows(regression, law, arm, kind, amount, allocation, threshold_share, before.columns, weight)
        expansion = absorbed(before.posterior, table, now.posterior.mean)
        old, total = state.old.at((*index, law)), state.information.at((*index, law))
        if leaving:
            old.add(columns[:leaving], arm[:leaving], expansion.bend[:leaving], expansion.slope[:leaving])
        total.become(old)
        total.add(columns[leaving:], arm[leaving:], expansion.bend[leaving:], expansion.slope[leaving:])
    rows[: kept - leaving] = rows[leaving:].copy()
    rows[kept - leaving :] = 0.0
    state.kept[index] = kept - leaving, 0


def _rows(
    regression: Regression, law: int, arm: NDArray[np.int64], kind: NDArray[np.int64], amount: Floats,
    allocation: Floats, threshold_share: float, columns: Floats, weight: Floats | None = None,
) -> Rows:  # fmt: skip
    candidates = regression.candidates
    return Rows(
        candidates.columns[law, arm if regression.own else 0], candidates.maps, candidates.table, kind, amount,
        allocation, threshold_share, columns, arm, float(np.log(regression.max_budget)), weight,
    )  # fmt: skip


def _threshold_share(evidence: Evidence, index: tuple[int, ...]) -> float:
    """The share of successes that tell their threshold."""
    silent, loud = (float(evidence.counts(name)[index].sum()) for name in ("reached", "seen"))
    return loud / (silent + loud) if silent + loud > 0.0 else 1.0


def fade(state: ContextualState, factor: float) -> None:
    """Let everything learned so far count `factor` times as much."""
    state.information.fade(factor)
    state.old.fade(factor)
    state.rows[..., _WEIGHT] *= factor
    state.log_evidence *= factor
