"""No answer may be beaten by more than its bound, whatever the problem: a slice here, minutes of it in `make fuzz`."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

import headgate as hg
from headgate.testing import check_certificate

from .programme import programme
from .random_problems import Batch, Tally, larger_batch, random_batch, scipy_laws, scipy_parameters


def look(seed: int, batches: range) -> Tally:
    tally = Tally()
    for number in batches:
        tally.look(random_batch(seed, number))
    return tally


def test_small_problems_against_a_refined_lattice() -> None:
    tally = look(7, range(10))
    assert not tally.wrong, "\n".join(tally.wrong[:5])
    assert tally.problems >= 200


@pytest.mark.parametrize("batch", [183, 307, 719, 1064, 1442, 1521, 1907, 2577, 2735, 2992, 3233, 3789])
def test_problems_whose_bound_was_false_once(batch: int) -> None:
    """Poles at the end of a support, elasticities, prices without digits: found among 100,000 random problems."""
    tally = look(20261116, range(batch, batch + 1))
    assert not tally.wrong, "\n".join(tally.wrong)


def test_every_distribution_of_scipys_is_a_law_or_is_refused_with_the_reason() -> None:
    laws, refused = scipy_laws()
    assert len(laws) + len(refused) == len(scipy_parameters())
    assert len(laws) >= 80
    reasons = ("thresholds are positive", "more than one peak", "leaves [0, 1]", "cannot be tabulated", "is known to")
    for name, reason in refused.items():
        assert name.split("(")[0] in reason, reason
        assert any(known in reason for known in reasons), reason


def test_larger_problems_by_another_way() -> None:
    tally = Tally()
    for number in range(8):
        tally.look_closely(larger_batch(10, number))
    assert not tally.wrong, "\n".join(tally.wrong[:5])


def test_larger_problems_by_the_check_that_is_shipped() -> None:
    for number in range(4):
        batch = random_batch(8, number, arms=6, count=3)
        best = batch.solve()
        for row in range(3):
            one = Batch(
                hg.Problem(batch.problem.law, batch.problem.activation[row], batch.problem.rate[row]),
                batch.budget[row],
                {name: v if isinstance(v, str) else v[row] for name, v in batch.options.items()},
                batch.name,
            )
            limits = {name: one.options[name] for name in ("lower", "upper") if name in one.options}
            value = batch.problem.value[row]
            answer = one.problem.solve(float(one.budget), value=value, **one.options)
            assert answer.bound == best.bound[row]
            check_certificate(answer, one.problem, value=value, **limits)


@pytest.mark.parametrize("seed", range(4))
def test_larger_problems_against_a_mixed_integer_programme(seed: int) -> None:
    rng = np.random.default_rng([9, seed])
    arms, law = 8, (hg.Weibull(2.5), hg.LogLogistic(3.0), hg.from_scipy("beta", 2, 5), hg.Gamma(0.7))[seed]
    problem = hg.Problem(law, rng.random(arms), np.exp(rng.normal(0.0, 0.5, arms)), value=rng.uniform(0.5, 2.0, arms))
    budget = 0.4 * float(np.sum(law.quantile(0.6, problem.rate)))
    best = problem.solve(budget)
    bound, found = programme(problem, budget)
    assert best.gap <= 1e-9
    assert best.value <= bound * (1.0 + 1e-6)  # HiGHS's feasibility tolerance
    if found.sum() <= budget:
        assert problem.expected_reward(found) <= best.bound
    assert bound <= 1.2 * best.bound  # the programme is no straw man


@pytest.mark.fuzz
def test_as_many_as_there_is_time_for() -> None:
    """Half of FUZZ_MINUTES (5 by default) of random problems, from a seed that is printed; FUZZ_SEED repeats it."""
    end = time.monotonic() + 30.0 * float(os.environ.get("FUZZ_MINUTES", "5"))
    seed, tally, number = int(os.environ.get("FUZZ_SEED", time.time_ns() % 2**32)), Tally(), 0
    while time.monotonic() < end and len(tally.wrong) < 20:
        tally.look_at(seed, number)
        number += 1
    print(f"seed {seed}, batches 0 to {number}: {tally}")
    assert not tally.wrong, "\n".join(tally.wrong)
