"""What a policy has earned beyond a share of its baseline, at the worst curves that the confidence regions allow.

The ledger of an arm is a signed weight for each of a row of amounts, so that for every curve G

    sum of weight_j G(x_j) = sum over the rounds of value * (G(what the arm got) - share * G(what the baseline gives)).

An amount between two of the row is shared out among the nearest four by Lagrange's cubic in log x, with an error of a
few millionths of a success; so nothing grows with the rounds, and all rounds are judged anew by what is known today.
"""

import math

import numpy as np

from headgate.kernels.compiled import gufunc
from headgate.kernels.curves import COLUMNS, cdf, fill_row, position
from headgate.kernels.part import njit
from headgate.kernels.region import LEAST, LOG_RATE, MOST, SHAPE, reshape


@njit(error_model="numpy")
def _enter(ledger, amounts, x, weight):
    """Add weight * G(x) to a ledger; `amounts` grow by one factor. Below the first G is taken to be straight."""
    if x <= 0.0:
        return
    if x < amounts[0]:
        ledger[0] += weight * x / amounts[0]
        return
    last = amounts.size - 1
    step = math.log(amounts[last] / amounts[0]) / last
    at = math.log(x / amounts[0]) / step
    first = min(max(int(at) - 1, 0), last - 3)
    for j in range(4):
        share = 1.0
        for k in range(4):
            if k != j:
                share *= (at - first - k) / (j - k)
        ledger[first + j] += weight * share


@njit(error_model="numpy")
def _worst(form, powers, table, places, amounts, ledger):
    """The least p * (sum of weights times G) over a region."""
    row, least = np.empty(COLUMNS), np.inf
    for g in range(places.shape[0]):
        reshape(row, form, powers, places[g, 0, SHAPE])
        for k in range(places.shape[1]):
            total = 0.0
            for j in range(amounts.size):
                if ledger[j] != 0.0:
                    total += ledger[j] * cdf(row, table, places[g, k, LOG_RATE] + position(row, amounts[j]))[0]
            least = min(least, total * places[g, k, MOST if total < 0.0 else LEAST])
    return least


@gufunc(
    [
        "void(int64[:], float64[:], float64[:], float64[:], float64[:], float64[:,:,:], float64[:,:], "
        "float64[:,:,:,:], float64[:], float64[:,:], float64[:,:], float64[:], float64[:], float64, float64[:,:], "
        "int64[:], float64[:])"
    ],
    "(k),(k),(k),(k),(k),(r,c,n),(k,w),(k,g,e,v),(m),(k,m),(t,k),(k),(k),()->(k,m),(),()",
)
def guard(
    base, a, b, shift, cap, table, powers, places, amounts, before, candidates, baseline, value, share, ledger, choice,
    lead,
):  # fmt: skip
    """Choose the first candidate allocation that keeps the lead, and enter it; the last one, the baseline, always does.

    `choice` is its number, `lead` the least that has been earned in all beyond a share of what the baseline would have.
    """
    arms, form = base.size, np.empty(COLUMNS)
    for t in range(candidates.shape[0]):
        lead[0], choice[0] = 0.0, t
        for i in range(arms):
            for j in range(amounts.size):
                ledger[i, j] = before[i, j]
            _enter(ledger[i], amounts, candidates[t, i], value[i])
            _enter(ledger[i], amounts, baseline[i], -share * value[i])
            fill_row(form, base[i], a[i], b[i], shift[i], cap[i], 1.0, 0.0)
            lead[0] += _worst(form, powers[i], table, places[i], amounts, ledger[i])
        if lead[0] >= 0.0:
            break
