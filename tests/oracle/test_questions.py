"""What else is asked of a problem: values, prices, targets, frontiers, arms that do not take part."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import headgate as hg
from headgate.errors import BudgetError, ParameterError, ShapeError, UnsupportedError
from headgate.laws import Law

LAWS: list[Law] = [hg.Exponential(), hg.Weibull(2.5), hg.LogNormal(0.6), hg.from_scipy("beta", 2, 5)]
each_law = pytest.mark.parametrize("law", LAWS, ids=["exponential", "weibull", "log-normal", "beta"])


def problem_of(law: Law, arms: int = 6, **details: object) -> hg.Problem:
    rng = np.random.default_rng(3)
    return hg.Problem(law, rng.uniform(0.2, 1.0, arms), rng.uniform(0.3, 2.0, arms), **details)  # type: ignore[arg-type]


def test_a_value_is_a_weight() -> None:
    value = np.array([5.0, 1.0, 0.0, 2.0, 1.0, 1.0])
    problem = problem_of(hg.Weibull(2.0), value=value)
    best = problem.solve(5.0)
    plain = hg.solve(hg.Weibull(2.0), problem.activation * value, problem.rate, 5.0)
    assert best.x.tolist() == plain.x.tolist()
    assert best.value == pytest.approx(float(problem.expected_reward(best.x)))
    assert best.x[2] == 0.0
    this_time = problem_of(hg.Weibull(2.0)).solve(5.0, value=value)
    assert this_time.x.tolist() == best.x.tolist()
    again = hg.Problem.from_toml(problem.to_toml())
    assert again == problem
    assert "value" not in problem_of(hg.Weibull(2.0)).to_toml()
    with pytest.raises(ParameterError, match="cascade"):
        problem.solve(5.0, reward="cascade")
    with pytest.raises(ParameterError, match="value must be"):
        problem_of(hg.Weibull(2.0), value=-1.0)
    with pytest.raises(ShapeError, match="value"):
        problem.solve(5.0, value=[1.0, 2.0])


def test_values_are_simulated() -> None:
    problem = problem_of(hg.Exponential(), value=[1.0, 1.0, 1.0, 1.0, 1.0, 50.0])
    result = hg.simulate(problem, {"oracle": hg.Oracle, "even": hg.Uniform}, budget=4.0, rounds=50, runs=2, seed=1)
    best = problem.solve(4.0)
    even = problem.expected_reward(np.full(6, 4.0 / 6.0))
    np.testing.assert_allclose(result.regret["even"][:, -1], 50.0 * (best.value - even), rtol=1e-9)
    np.testing.assert_allclose(result.regret["oracle"][:, -1], 0.0, atol=1e-6)


@each_law
def test_a_price_buys_what_is_worth_it(law: Law) -> None:
    problem = problem_of(law)
    for price in (0.02, 0.1, 0.3):
        bought = problem.solve(price=price)
        # Nothing on a fine grid is worth more at that price, arm by arm.
        x = np.linspace(0.0, 60.0, 60_001)[:, None]
        surplus = problem.success_probability(np.repeat(x, 6, axis=1)) - price * x
        own = problem.success_probability(bought.x) - price * bought.x
        assert np.all(surplus.max(axis=0) <= own + 1e-9)
        # And the budget that it costs cannot be spent better.
        assert problem.solve(float(bought.budget)).value <= bought.bound


def test_a_price_in_whole_units() -> None:
    problem = problem_of(hg.DiscreteWeibull(1.7))
    bought = problem.solve(price=0.05)
    n = np.arange(80.0)[:, None]
    surplus = problem.success_probability(np.repeat(n, 6, axis=1)) - 0.05 * n
    own = problem.success_probability(bought.x) - 0.05 * bought.x
    np.testing.assert_allclose(own, surplus.max(axis=0), atol=1e-12)


def test_prices_that_make_no_sense() -> None:
    problem = problem_of(hg.Exponential())
    with pytest.raises(BudgetError, match="price must be"):
        problem.solve(price=-0.1)
    with pytest.raises(ShapeError, match="price must be one number"):
        problem.solve(price=[0.1, 0.2])  # type: ignore[arg-type]
    with pytest.raises(BudgetError, match="either a budget or a price"):
        problem.solve()
    with pytest.raises(BudgetError, match="either a budget or a price"):
        problem.solve(1.0, price=1.0)
    with pytest.raises(UnsupportedError, match="sum"):
        problem.solve(price=0.1, reward="cascade")


@each_law
def test_the_least_budget_for_a_target(law: Law) -> None:
    problem = problem_of(law)
    for target in (0.3, 1.5, 2.4):
        best = problem.budget_for(target)
        budget = float(best.budget)
        assert best.value >= target
        assert problem.solve(budget * (1.0 - 1e-8)).bound < target * (1.0 + 1e-9)
    with pytest.raises(BudgetError, match="no budget buys"):
        problem.budget_for(6.0)
    with pytest.raises(BudgetError, match="target"):
        problem.budget_for(-1.0)


def test_a_target_in_whole_units() -> None:
    problem = problem_of(hg.DiscreteWeibull(1.4))
    best = problem.budget_for(1.2)
    assert best.value >= 1.2
    assert problem.solve(float(best.budget) - 1.0).value < 1.2


def test_a_frontier_is_its_budgets(tmp_path: Path) -> None:
    problem = problem_of(hg.Weibull(2.5))
    budgets = np.linspace(0.0, 12.0, 9)
    frontier = problem.frontier(budgets)
    assert frontier.x.shape == (9, 6)
    for row, budget in enumerate(budgets):
        assert frontier.x[row].tolist() == problem.solve(float(budget)).x.tolist()
    assert np.all(np.diff(frontier.value) >= -1e-12)
    from headgate.figures import draw_frontier

    assert draw_frontier(frontier, tmp_path / "frontier.svg", units="hours").stat().st_size > 1000


def test_arms_that_do_not_take_part() -> None:
    problem = problem_of(hg.Weibull(2.0))
    able = np.array([True, False, True, True, False, True])
    best = problem.solve(5.0, eligible=able)
    assert best.x[~able].tolist() == [0.0, 0.0]
    rest = hg.solve(hg.Weibull(2.0), problem.activation[able], problem.rate[able], 5.0)
    np.testing.assert_allclose(best.x[able], rest.x, rtol=1e-9)
    with pytest.raises(BudgetError, match="not eligible"):
        problem.solve(5.0, eligible=able, lower=[0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    with pytest.raises(ParameterError, match="true or false"):
        problem.solve(5.0, eligible=[2, 1, 1, 1, 1, 1])


def test_what_an_allocation_says_of_itself() -> None:
    problem = problem_of(hg.Weibull(2.0))
    assert "gap=" in repr(problem.solve(5.0))
    assert "arms independent" not in repr(problem.solve(5.0))
    assert "arms independent" in repr(problem.solve(5.0, reward="cascade"))
    assert "batch=(2,)" in repr(problem.frontier([1.0, 2.0]))
