"""Budgets that change, and budgets that nobody tells the policy."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import headgate as hg
from headgate.errors import BudgetError, HeadgateError, ParameterError, ShapeError, UnsupportedError
from headgate.policies import MGUCB, RAUCB, Oracle, Thompson, Uniform
from headgate.simulation import Draws, simulate
from headgate.simulation.budgets import Budgets

from .references import same, slow_run


def coin(t: int, rng: np.random.Generator) -> float:
    return 4.0 if t % 2 else float(rng.uniform(1.0, 8.0))


def test_a_sequence_agrees_with_the_plain_loop(three: hg.Problem) -> None:
    budgets = np.linspace(2.0, 8.0, 40)
    result = simulate(three, {"thompson": Thompson}, budget=budgets, rounds=40, runs=2, checkpoints=range(1, 41))
    for run in range(2):
        expected = slow_run(Draws(three), Thompson, lambda t: budgets[t], 8.0, 40, 0, run)
        np.testing.assert_allclose(result.regret["thompson"][run], expected["regret"], rtol=1e-9, atol=1e-11)
        np.testing.assert_array_equal(result.realised["thompson"][run], expected["realised"])


def test_a_function_is_asked_once_a_round_of_each_run(three: hg.Problem) -> None:
    call = partial(simulate, three, {"best": Oracle, "even": Uniform}, budget=coin, max_budget=8.0, rounds=50)
    result = call(runs=3)
    assert np.abs(result.regret["best"]).max() < 1e-12
    assert not np.array_equal(result.optimum["even"][0], result.optimum["even"][1])
    assert same(result, call(runs=3, chunk=1))
    # Runs that share budgets with others, so that each budget is solved once, get the same optimum.
    few = simulate(three, {"even": Uniform}, budget=np.tile([2.0, 5.0], 25), rounds=50, runs=2, checkpoints=[1, 2, 50])
    values = three.solve([2.0, 5.0]).value
    np.testing.assert_allclose(few.optimum["even"][0], [values[0], values.sum(), 25 * values.sum()], rtol=1e-12)


def test_a_function_is_told_the_round_it_is_asked_for(three: hg.Problem) -> None:
    """Rounds count from 1, and go on from block to block."""
    asked: list[int] = []

    def budget(t: int, rng: np.random.Generator) -> float:
        asked.append(t)
        return 1.0 + t

    result = simulate(three, {"best": Oracle}, budget=budget, max_budget=100.0, rounds=4, checkpoints=[1, 2, 3, 4])
    np.testing.assert_allclose(result.optimum["best"][0], np.cumsum(three.solve([2.0, 3.0, 4.0, 5.0]).value))
    budgets = Budgets.of(budget, Draws(three), 1, 100, 1000.0)
    asked.clear()
    assert budgets.block(0, 0, 2, 10, 3).tolist() == [22.0, 23.0, 24.0]
    assert asked == [21, 22, 23]


def test_each_run_may_have_its_own_budgets(three: hg.Problem) -> None:
    budgets = np.array([[2.0] * 20, [7.0] * 20])
    result = simulate(three, {"best": Oracle}, budget=budgets, rounds=20, runs=2)
    np.testing.assert_allclose(result.optimum["best"][:, -1], 20 * three.solve([2.0, 7.0]).value, rtol=1e-12)


def test_whole_number_thresholds() -> None:
    problem = hg.Problem(hg.DiscreteWeibull(1.2), [0.8, 0.4], [0.3, 0.1])
    result = simulate(problem, {"best": Oracle, "thompson": Thompson}, budget=7.0, rounds=60, runs=2)
    assert np.abs(result.regret["best"]).max() < 1e-12
    assert np.all(result.regret["thompson"] >= -1e-12)


def test_pouring_without_knowing_the_budget_is_allocating(three: hg.Problem) -> None:
    # The paper's equivalence: at any budget MG-UCB has poured what RA-UCB would have allocated, up to one block.
    options: dict[str, Any] = {"scale": 1e-6}
    lineup = {"pours": (MGUCB, options), "knows": (RAUCB, options)}
    result = simulate(three, lineup, budget=coin, max_budget=8.0, rounds=40, runs=2, hidden={"pours"})
    np.testing.assert_allclose(result.regret["pours"], result.regret["knows"], rtol=0.02, atol=0.05)


def test_pouring_in_steps_loses_little_and_the_budget_holds(three: hg.Problem) -> None:
    fine, coarse = (
        simulate(three, {"best": Oracle}, budget=6.0, max_budget=8.0, rounds=5, runs=2, hidden=True, step=step)
        for step in (0.01, 2.0)
    )
    assert np.all(fine.regret["best"] >= -1e-12)
    assert np.all(fine.regret["best"] < coarse.regret["best"])
    steep = float(np.max(three.marginal([0.01] * 3)))  # of the steps after the first
    assert np.all(fine.regret["best"][:, -1] <= 5 * (3 + 1) * steep * 0.01)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"budget": None}, BudgetError, "budget is missing"),
        ({"budget": 0.0}, BudgetError, "above 0"),
        ({"budget": -1.0}, BudgetError, "budget must be"),
        ({"budget": coin}, BudgetError, "max_budget"),
        ({"budget": coin, "max_budget": 2.0}, BudgetError, "at most max_budget 2"),
        ({"budget": lambda t, rng: float("nan"), "max_budget": 2.0}, BudgetError, "nan"),
        ({"budget": [1.0, 2.0]}, ShapeError, "one for each of 10 rounds"),
        ({"budget": 6.0, "max_budget": 2.0}, BudgetError, "at most max_budget"),
        ({"hidden": True}, UnsupportedError, "cannot pour"),
        ({"hidden": {"y"}}, ParameterError, "hidden must name policies"),
    ],
)
def test_bad_budgets_are_refused(
    three: hg.Problem, change: dict[str, Any], error: type[HeadgateError], words: str
) -> None:
    arguments: dict[str, Any] = {"policies": {"x": Uniform}, "budget": 6.0, "rounds": 10}
    with pytest.raises(error, match=words):
        simulate(three, **(arguments | change))
