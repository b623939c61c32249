"""`simulate` measures what it says it does, and the same numbers however the work is cut up."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import headgate as hg
from headgate.errors import AllocationError, InputError, ParameterError
from headgate.policies import RAUCB, Greedy, Oracle, Policy, Thompson, Uniform
from headgate.simulation import Draws, simulate

from .references import MEASURES, same, slow_run

LINEUP: dict[str, Any] = {"thompson": Thompson, "ra-ucb": (RAUCB, {"scale": 1e-6}), "even": Uniform}


def wild(rng: np.random.Generator) -> hg.Problem:
    return hg.Problem(hg.Exponential(), rng.uniform(0.2, 1.0, 4), rng.uniform(0.1, 2.0, 4))


@pytest.mark.parametrize("name", LINEUP)
def test_it_agrees_with_the_plain_loop(three: hg.Problem, name: str) -> None:
    rounds = 60
    result = simulate(three, {name: LINEUP[name]}, budget=6.0, rounds=rounds, runs=3, seed=5, checkpoints=range(1, 61))
    make = partial(RAUCB, scale=1e-6, rounds=rounds) if name == "ra-ucb" else LINEUP[name]
    for run in range(3):
        expected = slow_run(Draws(three), make, lambda _: 6.0, 6.0, rounds, 5, run)
        for measure in MEASURES:
            np.testing.assert_allclose(getattr(result, measure)[name][run], expected[measure], rtol=1e-12, atol=1e-11)


def test_chunks_and_workers_do_not_change_a_number() -> None:
    call = partial(simulate, wild, LINEUP, budget=5.0, rounds=1030, runs=4, seed=2)  # more than one block
    whole = call(chunk=4)
    assert same(whole, call(chunk=1))
    assert same(whole, call(chunk=3, workers=2))


def test_a_longer_simulation_begins_with_the_shorter_one(three: hg.Problem) -> None:
    lineup = {"thompson": Thompson, "even": Uniform}
    short = simulate(three, lineup, budget=6.0, rounds=50, runs=2, checkpoints=[10, 50])
    long = simulate(three, lineup, budget=6.0, rounds=80, runs=2, checkpoints=[10, 50, 80])
    few = simulate(three, lineup, budget=6.0, rounds=50, runs=1, checkpoints=[10, 50])
    for name in lineup:
        np.testing.assert_array_equal(short.realised[name], long.realised[name][:, :2])
        np.testing.assert_array_equal(short.regret[name][:1], few.regret[name])


def test_policies_meet_the_same_world(three: hg.Problem) -> None:
    result = simulate(three, {"a": Uniform, "b": Uniform, "best": Oracle}, budget=6.0, rounds=200, runs=2)
    np.testing.assert_array_equal(result.reward["a"], result.reward["b"])
    # Realised regret is against the optimum in this very world: what the oracle gets.
    np.testing.assert_array_equal(result.realised["a"], result.reward["best"] - result.reward["a"])
    assert not result.regret["best"].any()
    assert not result.realised["best"].any()
    assert not np.array_equal(result.reward["a"][0], result.reward["a"][1])  # runs differ


def test_seeds_differ(three: hg.Problem) -> None:
    one, two = (simulate(three, {"even": Uniform}, budget=6.0, rounds=200, seed=s).reward["even"] for s in (0, 1))
    assert not np.array_equal(one, two)


def test_every_run_has_a_policy_seed_of_its_own(three: hg.Problem) -> None:
    """Whatever the chunks; and another simulation has others."""
    made: list[int] = []

    def thompson(law: Any, arms: int, max_budget: float, *, seed: Any) -> Policy:
        made.extend(np.atleast_1d(seed).tolist())
        return Thompson(law, arms, max_budget, seed=seed)

    seeds = []
    for seed, chunk in ((0, 7), (0, 2), (1, 7)):
        made.clear()
        simulate(three, {"thompson": thompson}, budget=6.0, rounds=2, runs=7, seed=seed, chunk=chunk)
        seeds.append(made[1:])  # the first checks the options
    assert len(set(seeds[0])) == 7
    assert seeds[1] == seeds[0]
    assert not set(seeds[2]) & set(seeds[0])


def test_realised_regret_is_expected_regret_on_average(three: hg.Problem) -> None:
    # Over 400 runs of 50 rounds, within 4 standard errors: fails by chance with probability 6e-5.
    result = simulate(three, {"even": Uniform}, budget=6.0, rounds=50, runs=400, seed=1)
    noise = result.realised["even"][:, -1] - result.regret["even"][:, -1]
    assert abs(noise.mean()) < 4.0 * noise.std() / 20.0
    assert noise.std() > 0.0


def test_a_problem_for_each_run() -> None:
    rng = np.random.default_rng(0)
    p, rate = rng.uniform(0.2, 1.0, (3, 4)), rng.uniform(0.1, 2.0, (3, 4))
    batch = simulate(hg.Problem(hg.Exponential(), p, rate), {"even": Uniform}, budget=5.0, rounds=40)
    assert batch.regret["even"].shape[0] == 3
    for run in range(3):
        best = hg.Problem(hg.Exponential(), p[run], rate[run]).solve(5.0).value
        np.testing.assert_allclose(batch.optimum["even"][run, -1], 40 * best, rtol=1e-9)


def test_drawn_problems_may_have_different_laws() -> None:
    def draw(rng: np.random.Generator) -> hg.Problem:
        shape = 0.7 if rng.random() < 0.5 else 0.9
        return hg.Problem(hg.Weibull(shape), rng.uniform(0.2, 1.0, 2), rng.uniform(0.1, 2.0, 2))

    drawn = [Draws(draw).problem(0, run) for run in range(6)]
    assert len({p.law for p in drawn}) == 2
    result = simulate(draw, {"thompson": Thompson}, budget=5.0, rounds=30, runs=6)
    single = [simulate(p, {"best": Oracle}, budget=5.0, rounds=30).optimum["best"][0] for p in drawn]
    np.testing.assert_allclose(result.optimum["thompson"], single, rtol=1e-12)


def test_cascade_counts_rounds_with_a_success(three: hg.Problem) -> None:
    result = simulate(three, {"even": Uniform, "best": Oracle}, budget=6.0, rounds=30, runs=2, reward="cascade")
    even = three.expected_reward([2.0, 2.0, 2.0], "cascade")
    best = three.solve(6.0, reward="cascade")
    np.testing.assert_allclose(result.regret["even"][:, -1], 30 * (best.value - even), rtol=1e-9)
    assert result.reward["even"].max() <= 30.0
    assert not result.regret["best"].any()


def test_every_way_to_give_a_policy(three: hg.Problem) -> None:
    def factory(law: Any, arms: int, max_budget: float, *, seed: Any, rounds: int) -> Policy:
        assert rounds == 25
        return Thompson(law, arms, max_budget, seed=seed, calm=3.0)

    ways: dict[str, Any] = {
        "pair": (Thompson, {"calm": 3.0}),
        "partial": partial(Thompson, calm=3.0),
        "factory": factory,
    }
    result = simulate(three, ways, budget=6.0, rounds=25, runs=2)
    np.testing.assert_array_equal(result.regret["pair"], result.regret["partial"])
    np.testing.assert_array_equal(result.regret["pair"], result.regret["factory"])


def test_a_policy_may_believe_in_another_law(three: hg.Problem) -> None:
    lineup: dict[str, Any] = {"right": Thompson, "wrong": (Thompson, {"law": hg.Exponential()})}
    result = simulate(three, lineup, budget=6.0, rounds=60, runs=2)
    assert not np.array_equal(result.regret["right"], result.regret["wrong"])


def test_default_checkpoints_are_logarithmic(three: hg.Problem) -> None:
    rounds = simulate(three, {"even": Uniform}, budget=6.0, rounds=1000).rounds
    assert rounds[0] == 1
    assert rounds[-1] == 1000
    assert np.all(np.diff(rounds) > 0)
    assert np.ptp(np.diff(np.log(rounds[rounds > 100]))) < 0.02


class Spendthrift(Uniform):  # type: ignore[misc]  # final, but for this
    def decide(self, state: Any, ask: Any) -> Any:
        x, after = super().decide(state, ask)
        return x * 1.01, after


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"rounds": 0}, ParameterError, "rounds must be a whole number of at least 1"),
        ({"runs": 1.5}, ParameterError, "runs must be a whole number"),
        ({"seed": -1}, ParameterError, "seed"),
        ({"policies": {}}, ParameterError, "policies"),
        ({"policies": {"x": 3}}, ParameterError, "'x' must be a class"),
        ({"policies": {"x": (Thompson, {"nothing": 1})}}, ParameterError, "nothing"),
        ({"policies": {"x": lambda *_, **__: 3}}, ParameterError, "must return a Policy"),
        ({"policies": {"x": (Greedy, {"seed": 1})}, "runs": 3}, ParameterError, "seeds"),
        ({"policies": {"x": Spendthrift}}, AllocationError, "'x' must allocate"),
        ({"checkpoints": [5, 3]}, ParameterError, "checkpoints"),
        ({"checkpoints": [5, 9]}, ParameterError, "up to 10"),
        ({"backend": "slurm"}, ParameterError, "backend must be one of loky, dask, ray"),
        ({"workers": 0}, ParameterError, "workers"),
        ({"address": "tcp://x"}, ParameterError, "address"),
        ({"problem": lambda _: 3}, ParameterError, "must return a single Problem"),
        ({"reward": "max"}, ParameterError, "reward"),
    ],
)
def test_bad_input_names_the_value_and_the_rule(
    three: hg.Problem, change: dict[str, Any], error: type[InputError], words: str
) -> None:
    arguments: dict[str, Any] = {"problem": three, "policies": {"x": Uniform}, "budget": 6.0, "rounds": 10}
    with pytest.raises(error, match=words):
        simulate(**(arguments | change))
