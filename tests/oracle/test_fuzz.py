"""No answer may be beaten by more than its bound, whatever the problem: a slice here, minutes of it in `make fuzz`."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from scipy import optimize, sparse

import headgate as hg
from headgate.testing import check_certificate

from .random_problems import Case, accepted, best_found, random_case

ROUNDING = 2e-12  # of a sum of curves, relative


def complaint(case: Case, seed: object) -> str | None:
    """What is wrong with the oracle's answer to this problem, if anything."""
    try:
        answer = case.solve()
    except hg.errors.UnsupportedError:  # a law whose hazard rises twice has no cascade
        return None
    problem = case.problem
    name = f"seed {seed}: {problem!r} rate={problem.rate} p={problem.activation} B={case.budget} {case.options}"
    if not answer.x.sum() <= max(case.budget, np.sum(case.options.get("lower", 0.0))):
        return f"{name} spends {answer.x.sum()!r}"
    worth, found = best_found(case)
    if worth > float(answer.bound) * (1.0 + ROUNDING) + 1e-300:
        return f"{name}: {found} is worth {worth!r}, the bound is {answer.bound!r}"
    truth = float(case.problem.expected_reward(answer.x, case.options.get("reward", "sum")))
    if truth < float(answer.value) * (1.0 - 1e-9) - 1e-13:
        return f"{name}: says {answer.value!r}, is worth {truth!r}"
    return None


def test_small_problems_against_a_refined_lattice() -> None:
    laws = accepted()[::4]
    wrong = []
    for seed in range(400):
        rng = np.random.default_rng([7, seed])
        trouble = complaint(random_case(rng, laws, int(rng.integers(1, 4))), seed)
        if trouble:
            wrong.append(trouble)
    assert not wrong, "\n".join(wrong[:5])


def test_larger_problems_by_the_check_that_is_shipped() -> None:
    laws = accepted()[1::8]
    for seed in range(12):
        rng = np.random.default_rng([8, seed])
        case = random_case(rng, laws, int(rng.integers(4, 9)))
        limits = {name: case.options[name] for name in ("lower", "upper") if name in case.options}
        check_certificate(case.solve(), case.problem, **limits)


def piecewise_optimum(case: Case, points: int) -> np.ndarray:
    """The allocation that HiGHS finds on curves that are straight between `points`, a binary variable a piece."""
    arms = case.problem.arms
    x = np.linspace(0.0, case.budget, points)
    y = case.problem.success_probability(np.repeat(x[:, None], arms, axis=1)).T
    pieces = points - 1
    count = 2 * arms * pieces  # the share of each piece that is used, and whether it is full
    gain = np.zeros(count)
    gain[: arms * pieces] = -np.diff(y, axis=1).ravel()
    rows: list[int] = []
    columns: list[int] = []
    data: list[float] = []
    low: list[float] = []
    high: list[float] = []

    def constrain(terms: list[tuple[int, float]], least: float, most: float) -> None:
        for column, factor in terms:
            rows.append(len(low))
            columns.append(column)
            data.append(factor)
        low.append(least)
        high.append(most)

    for arm in range(arms):
        for k in range(pieces):
            used, full = arm * pieces + k, (arms + arm) * pieces + k
            constrain([(used, 1.0), (full, -1.0)], 0.0, np.inf)  # full only if used whole
            if k + 1 < pieces:
                constrain([(used + 1, 1.0), (full, -1.0)], -np.inf, 0.0)  # the next only if this is full
    width = np.diff(x)
    constrain([(arm * pieces + k, width[k]) for arm in range(arms) for k in range(pieces)], 0.0, case.budget)
    matrix = sparse.csr_array((data, (rows, columns)), shape=(len(low), count))
    whole = np.r_[np.zeros(arms * pieces), np.ones(arms * pieces)]
    solved = optimize.milp(
        gain,
        constraints=optimize.LinearConstraint(matrix, low, high),
        bounds=optimize.Bounds(0.0, 1.0),
        integrality=whole,
        options={"time_limit": 20.0},
    )
    shares = np.asarray(solved.x)[: arms * pieces].reshape(arms, pieces)
    return np.clip(shares @ width, 0.0, None)


@pytest.mark.parametrize("seed", range(3))
def test_larger_problems_against_a_mixed_integer_programme(seed: int) -> None:
    rng = np.random.default_rng([9, seed])
    arms = 6
    problem = hg.Problem(hg.Weibull(2.5), rng.random(arms), np.exp(rng.normal(0.0, 0.5, arms)))
    case = Case(problem, 0.4 * float(np.sum(1.0 / problem.rate)), {})
    found = piecewise_optimum(case, 40)
    found *= min(1.0, case.budget / found.sum())
    best = case.solve()
    assert problem.expected_reward(found) <= best.bound * (1.0 + ROUNDING)
    assert problem.expected_reward(found) >= 0.97 * best.value  # the programme is no straw man


@pytest.mark.fuzz
def test_as_many_as_there_is_time_for() -> None:
    """FUZZ_SECONDS of random problems (60 by default), from a seed that is printed; FUZZ_SEED repeats it."""
    seconds, seed = (
        float(os.environ.get("FUZZ_SECONDS", "60")),
        int(os.environ.get("FUZZ_SEED", time.time_ns() % 2**32)),
    )
    wrong: list[str] = []
    laws, count, worst = accepted(), 0, 0.0
    end = time.monotonic() + seconds
    while time.monotonic() < end and len(wrong) < 20:
        rng = np.random.default_rng([seed, count])
        case = random_case(rng, laws, int(rng.integers(1, 4)))
        trouble = complaint(case, [seed, count])
        worst = max(worst, float(case.solve().gap))
        if trouble:
            wrong.append(trouble)
        count += 1
    print(f"{count} problems from seed {seed}, {len(wrong)} violations, largest gap {worst:.2g}")
    assert not wrong, "\n".join(wrong)
