"""Water-filling for the exponential law: exact, without a search for the price.

With a_i = log(w_i rate_i), demand at log price l is sum max(0, (a_i - l) / rate_i): convex, falling and piecewise
linear. Newton's method from the left of its root therefore never passes it and ends exactly on it, dropping the
arms that are too dear on the way: the closed form that sorting gives, in linear time and without the sort.
"""

import math

import numpy as np

from headgate.kernels.compiled import gufunc

_TINY = 1e-300


@gufunc(
    ["void(float64[:], float64[:], float64, float64[:], float64[:], float64[:], float64[:])"],
    "(k),(k),()->(k),(),(),()",
)
def water_fill(weight, rate, budget, x, value, bound, price):
    """Maximise sum w_i (1 - exp(-rate_i x_i)) over x >= 0, sum x <= budget."""
    arms = weight.size
    level = np.empty(arms)
    members = np.empty(arms, np.int64)
    scale = np.empty(arms)
    count, total, spread, highest = 0, 0.0, 0.0, -np.inf
    for i in range(arms):
        x[i] = 0.0
        if weight[i] > 0.0:
            gain = weight[i] * rate[i]
            # Also where the product under- or overflows.
            level[count] = math.log(gain) if _TINY < gain < np.inf else math.log(weight[i]) + math.log(rate[i])
            scale[count] = 1.0 / max(rate[i], _TINY)
            members[count] = i
            total += level[count] * scale[count]
            spread += scale[count]
            highest = max(highest, level[count])
            count += 1
    if count == 0 or budget <= 0.0:
        value[0], bound[0], price[0] = 0.0, 0.0, math.exp(highest)
        return
    log_price = (total - budget) / spread
    while True:
        kept, total, spread = 0, 0.0, 0.0
        for k in range(count):
            if level[k] > log_price:
                level[kept], scale[kept], members[kept] = level[k], scale[k], members[k]
                total += level[k] * scale[k]
                spread += scale[k]
                kept += 1
        if kept in (count, 0):
            break
        count = kept
        following = (total - budget) / spread
        if following <= log_price:
            break
        log_price = following
    spent, spread = 0.0, 0.0
    for k in range(count):
        spent += max(level[k] - log_price, 0.0) * scale[k]
        spread += scale[k]
    finer = (spent - budget) / spread  # the next step of Newton's method, below the last digit of log_price
    nu = math.exp(log_price + finer)
    worth, spent, widest = 0.0, 0.0, members[0]
    for k in range(count):
        i, depth = members[k], max(level[k] - log_price - finer, 0.0)
        x[i] = depth * scale[k]
        spent += x[i]
        if x[i] > x[widest]:
            widest = i
        # w (1 - exp(-depth)); w exp(-depth) = price / rate, which is cheaper, and exact unless it cancels.
        worth += weight[i] - nu * scale[k] if depth > 0.1 else -weight[i] * math.expm1(-depth)
    rest = budget - spent
    bound[0], price[0] = worth + nu * rest, nu  # the dual function at nu
    if count > 1:  # so that the sum stays within the budget, in whatever order it is taken
        rest -= 3.4e-16 * budget
    if abs(rest) <= 1e-9 * x[widest]:  # what rounding left
        worth += rest * (weight[widest] * math.exp(-x[widest] * rate[widest])) * rate[widest]
        x[widest] += rest
    else:  # a budget for which even that has no digits: the arms left are worth the same
        worth = 0.0
        for k in range(count):
            i = members[k]
            x[i] = x[i] * (budget / spent) if spent > 0.0 else budget / count
            worth -= weight[i] * math.expm1(-x[i] / scale[k])
    value[0] = worth
    # Rounded up: sums of K terms, and a price that is known to a last digit of its logarithm.
    bound[0] = max(bound[0], worth) * (1.0 + 2.3e-16 * (48.0 + 0.5 * arms + 16.0 * abs(log_price)))
