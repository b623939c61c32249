"""A problem as a mixed-integer programme, which HiGHS solves and bounds by itself."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

import headgate as hg
from headgate.laws import Floats

highspy: Any = import_module("highspy")  # its types are incomplete


def programme(problem: hg.Problem, budget: float, cells: int = 80) -> tuple[float, Floats]:
    """Choose a cell for each arm: it costs its left end and returns the curve at its right end. HiGHS's own bound.

    The curves do not fall, so no allocation is worth more than the bound; the left ends are an allocation.
    """
    arms, amounts = problem.arms, np.linspace(0.0, budget, cells + 1)
    curves = (problem.value * problem.success_probability(np.repeat(amounts[:, None], arms, axis=1))).T
    model = highspy.Highs()
    model.silent()
    chosen = np.array([[model.addBinary() for _ in range(cells)] for _ in range(arms)])
    for row in chosen:
        model.addConstr(sum(row[1:], row[0]) == 1)
    spent = sum((chosen[i, k] * float(k) for i in range(arms) for k in range(1, cells)), 0.0)
    model.addConstr(spent <= cells)
    model.setOptionValue("time_limit", 20.0)
    model.maximize(sum((chosen[i, k] * float(curves[i, k + 1]) for i in range(arms) for k in range(cells)), 0.0))
    info, values = model.getInfo(), np.array(model.getSolution().col_value).reshape(arms, cells)
    return float(info.mip_dual_bound), amounts[np.argmax(values, axis=1)]
