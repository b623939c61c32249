"""The BudgetOptimizer of pymc-marketing and Headgate on ten problems: what each earns, and how long it takes.

Twelve channels with Hill curves, v x^s / (x^s + m^s), known exactly: a posterior of one draw. The optimiser runs as it
comes, SLSQP from an even start. `make race` installs it into an environment of its own.
"""

from __future__ import annotations

import warnings
from time import perf_counter

import arviz as az
import numpy as np
import pymc as pm
import pymc.dims as pmd
import xarray as xr
from pymc_marketing.mmm.budget_optimizer import BudgetOptimizer, CustomModelWrapper, MinimizeException

import headgate as hg

CHANNELS = [f"channel{k}" for k in range(12)]
PROBLEMS = [(slope, share) for slope in (0.8, 1.5, 2.5, 4.0, 6.0) for share in (0.3, 0.7)]
"""The slope of the curves, and the budget as a share of what takes all channels to half of their height."""


def arms(slope: float) -> tuple[np.ndarray, np.ndarray]:
    """The height of each curve, and where it is half as high."""
    rng = np.random.default_rng([2026, int(10 * slope)])
    return rng.uniform(0.2, 1.0, 12), np.exp(rng.normal(0.0, 0.6, 12))


def theirs(height: np.ndarray, middle: np.ndarray, slope: float, budget: float) -> tuple[np.ndarray, float]:
    """Their allocation and its seconds, without compilation; `MinimizeException` where their optimiser gives up."""
    with pm.Model(coords={"date": [0], "channel": CHANNELS}) as model:
        spend = pmd.Data("channel_data", np.zeros((1, 12)), dims=("date", "channel"))
        v = pmd.HalfNormal("height", dims=("channel",))
        m = pmd.HalfNormal("middle", dims=("channel",))
        curve = v * spend**slope / (spend**slope + m**slope)
        pmd.Deterministic("channel_contribution", curve.transpose("date", "channel"))
        pmd.Deterministic("total_contribution", curve.sum())
    posterior = xr.Dataset(
        {
            name: (("chain", "draw", "channel"), values[None, None])
            for name, values in (("height", height), ("middle", middle))
        },
        coords={"chain": [0], "draw": [0], "channel": CHANNELS},
    )
    wrapper = CustomModelWrapper(model, az.InferenceData(posterior=posterior), CHANNELS)
    optimiser = BudgetOptimizer(num_periods=1, model=wrapper)
    optimiser.allocate_budget(total_budget=budget)
    begun = perf_counter()
    budgets, _ = optimiser.allocate_budget(total_budget=budget)
    return np.asarray(budgets).ravel(), perf_counter() - begun


def main() -> None:
    """Print a table for docs/oracle.md."""
    print("| slope, budget | theirs | ours | they lose | theirs, ms | ours, ms |\n|---|---|---|---|---|---|")
    for slope, share in PROBLEMS:
        height, middle = arms(slope)
        budget = share * float(middle.sum())
        problem = hg.Problem(hg.LogLogistic(slope), height, 1.0 / middle)
        best = problem.solve(budget)
        begun = perf_counter()
        problem.solve(budget)
        ours = perf_counter() - begun
        row, own = f"| {slope}, {share} |", f"{best.value:.4f} (gap {best.gap:.0e})"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                x, seconds = theirs(height, middle, slope, budget)
        except MinimizeException as reason:
            print(f"{row} {reason} | {own} | | | {1e3 * ours:.2f} |", flush=True)
            continue
        x = np.maximum(x, 0.0) * min(1.0, budget / max(x.sum(), 1e-300))
        worth = float(problem.expected_reward(x))
        lost = 100.0 * (1.0 - worth / float(best.value))
        print(f"{row} {worth:.4f} | {own} | {lost:.1f}% | {1e3 * seconds:.0f} | {1e3 * ours:.2f} |", flush=True)


if __name__ == "__main__":
    main()
