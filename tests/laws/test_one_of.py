"""A law of which only candidates are known: "auto", what it refuses, and that Thompson tells the laws apart."""

from __future__ import annotations

import numpy as np
import pytest

import headgate as hg
from headgate.laws import LAWS, OneOf, automatic, from_dict


def test_auto_is_every_law_with_a_shape_to_learn() -> None:
    names = {law.name for law in automatic().laws}
    assert names == {
        name for name, law in LAWS.items() if law.free is not None and law.free.learnable and not law.integer
    }
    assert from_dict("auto") == automatic()
    assert from_dict(automatic().to_dict()) == automatic()


def test_whole_thresholds_have_candidates_of_their_own() -> None:
    assert all(law.integer for law in from_dict("auto-whole").laws)  # type: ignore[attr-defined]
    policy = hg.Thompson("auto-whole", arms=2, max_budget=8.0, seed=0)
    x = policy.allocate(8.0)
    assert np.array_equal(x, np.floor(x))
    with pytest.raises(hg.errors.ParameterError, match="auto"):
        from_dict({"name": "auto", "shape": 2.0})


@pytest.mark.parametrize("laws", [(), 3, ("weibull",), (hg.Weibull((1.0, 2.0)),), (hg.Weibull(), hg.DiscreteWeibull())])
def test_what_is_no_candidate_is_refused(laws: object) -> None:
    with pytest.raises(hg.errors.ParameterError):
        OneOf(laws)  # type: ignore[arg-type]


def test_nobody_else_knows_which_law_it_is() -> None:
    with pytest.raises(hg.errors.UnsupportedError, match="which law"):
        automatic().cdf(1.0, 1.0)
    with pytest.raises(hg.errors.UnsupportedError):
        hg.Greedy("auto", arms=2, max_budget=4.0, rounds=10).allocate(4.0)


def test_the_law_is_found_and_saved() -> None:
    problem, rng = hg.Problem(hg.LogNormal(0.4), [0.9, 0.8, 0.7, 0.9], [0.2, 0.3, 0.4, 0.5]), np.random.default_rng(0)
    policy = hg.Thompson("auto", 4, 30.0, seed=1)
    for _ in range(500):
        x = policy.allocate(30.0)
        policy.observe(x, problem.play(x, rng))
    law = policy.estimate().law
    assert sum(float(v) for v in law.values()) == pytest.approx(1.0)
    # One seed, generous: laws this narrow are alike in their middle, and a Lomax law cannot be narrow.
    assert law["log-normal"] + law["gamma"] + law["log-logistic"] > 0.8
    assert law["lomax"] < 0.1
    assert problem.expected_reward(policy.allocate(30.0)) > 0.97 * problem.solve(30.0).value
    again = hg.load_policy(policy.to_json())
    np.testing.assert_array_equal(again.allocate(30.0), policy.allocate(30.0))
