"""Budgets as evidence: what they have been, in the histograms that thresholds are kept in, and the law they leave.

A budget that ended at b is a threshold b that was seen; one that lasted longer than the round, which ended at b, is
censored there, as an arm that failed with b. So budgets are `Evidence` of one arm: whole numbers of fixed size that add
up in any order, on any machine, and are written as all evidence is.
"""

from __future__ import annotations

import numpy as np

from headgate.errors import BudgetError, ParameterError
from headgate.evidence.histograms import Evidence
from headgate.feedback import Feedback
from headgate.laws import Floats

_PARTS = 128
"""Points that stand for the one budget, uniform on [0, max_budget], that is counted beside those observed."""


def record_budget(evidence: Evidence, amount: object, censored: object = False) -> None:
    """Add a budget to evidence of one arm, in place; `censored`: it lasted at least so long, nobody knows how long."""
    if not isinstance(censored, bool | np.bool_):
        raise ParameterError(f"censored must be true or false, got {censored!r}")
    if isinstance(amount, bool) or not isinstance(amount, int | float | np.number):
        raise BudgetError(f"a budget must be one number, got {amount!r}")
    if not 0.0 <= amount <= evidence.max_budget * (1.0 + 1e-9):
        raise BudgetError(f"a budget must be within [0, max_budget {evidence.max_budget:g}], got {amount!r}")
    most = evidence.max_budget
    lasted = min(float(amount), most)
    if censored:
        evidence.record([lasted], Feedback([False], [np.nan]))
    else:
        evidence.record([most], Feedback([True], [lasted]))


def budget_law(evidence: Evidence) -> tuple[Floats, Floats]:
    """Return amounts and their masses: Kaplan and Meier's estimate, with one more budget uniform on [0, max_budget].

    P(budget > t) is the product of 1 - d / n over the amounts up to t at which d of n that had lasted so long ended;
    what is left beyond the last amount lies at max_budget. Without the uniform one, a single budget would be believed
    to be all there ever is.

    >>> evidence = Evidence.empty(1, 10.0)
    >>> for amount in (4.0, 4.0, 8.0):
    ...     record_budget(evidence, amount)
    >>> amounts, masses = budget_law(evidence)
    >>> masses[np.isclose(amounts, 4.0)].sum().round(3).item(), (amounts @ masses).round(2).item()
    (0.5, 5.25)
    """
    most = evidence.max_budget
    uniform = most * (np.arange(_PARTS) + 0.5) / _PARTS
    seen, cut = (evidence.counts(kind)[0] for kind in ("seen", "failed"))
    at, until = (evidence.means(kind)[0] for kind in ("seen", "failed"))
    amount = np.concatenate([at[seen > 0.0], uniform, until[cut > 0.0], [most]])
    count = np.concatenate([seen[seen > 0.0], np.full(_PARTS, 1.0 / _PARTS), cut[cut > 0.0], [0.0]])
    ended = np.arange(amount.size) < np.sum(seen > 0.0) + _PARTS
    amount, place = np.unique(np.minimum(amount, most), return_inverse=True)
    ends, leaves = (np.bincount(place, weights, amount.size) for weights in (count * ended, count))
    lasting = np.cumsum(leaves[::-1])[::-1]  # what was censored at t had lasted so long
    with np.errstate(invalid="ignore"):
        survival = np.cumprod(np.where(ends > 0.0, 1.0 - ends / lasting, 1.0))
    survival[-1] = 0.0
    mass = np.maximum(-np.diff(survival, prepend=1.0), 0.0)
    return amount[mass > 0.0], mass[mass > 0.0]
