"""Replay counts what happened; gains by model and replay are right where the truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headgate as hg
from headgate.calibration import calibrate, gain
from headgate.calibration.gain import Gain, Worth
from headgate.calibration.kaplan_meier import KaplanMeier
from headgate.calibration.log import Log, Rows
from headgate.calibration.replay import LEAST, ArmLog, replay, stops
from headgate.calibration.report.advice import advice as in_words
from headgate.calibration.resample import SPLITS, Refit
from headgate.calibration.splits import in_proportion, mean_allocations, usual_budgets
from headgate.errors import BudgetError

from .logs import censored, log_of, observed, rows_of

TRUTH = hg.Problem(hg.Weibull([1.6, 1.2, 2.0, 1.4]), [0.9, 0.5, 0.7, 0.2], [0.05, 0.03, 0.08, 0.02])


def played(n: int, seed: int, high: float = 120.0) -> Rows:
    """Rows of the truth at random allocations."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(5.0, high, (n, 4))
    feedback = TRUTH.play(x, rng)
    arm = np.tile(np.arange(4), n)
    return rows_of(arm, x.ravel(), feedback.success.ravel(), feedback.threshold.ravel())  # type: ignore[arg-type]


@given(st.integers(0, 10_000), st.floats(0.1, 60.0))
def test_replay_is_a_count_of_rows(seed: int, x: float) -> None:
    rows = played(60, seed, high=60.0)
    expected = []
    for arm in range(4):
        enough = [i for i in range(rows.arm.size) if rows.arm[i] == arm and rows.allocation[i] >= x]
        won = [i for i in enough if rows.success[i] and rows.threshold[i] <= x]
        expected.append(len(won) / len(enough) if len(enough) >= LEAST else np.nan)
    np.testing.assert_allclose(replay(rows, 4, np.full(4, x)), expected)


def test_replay_at_0_and_beyond_what_was_given() -> None:
    rows = played(500, 0)
    found = replay(rows, 4, np.array([[0.0] * 4, [500.0] * 4, [60.0, 0.0, 60.0, 60.0]]))
    assert found[0].tolist() == [0.0] * 4
    assert np.isnan(found[1]).all()
    assert found[2][1] == 0.0
    # 4 standard errors of a share among half of 500 rows.
    np.testing.assert_allclose(found[2], TRUTH.success_probability([60.0, 0.0, 60.0, 60.0]), atol=0.13)


def stopped(rows: Rows) -> Rows:
    """The same log, written by someone who notes what was spent."""
    return Rows(
        rows.arm, np.where(rows.success, rows.threshold, rows.allocation), rows.success, rows.threshold, rows.count
    )


def test_a_log_of_what_was_spent_is_replayed_by_kaplan_and_meier() -> None:
    rows = stopped(played(4000, 1))
    log = log_of(rows, "censored")
    assert stops(log)
    assert not stops(log_of(played(100, 1), "censored"))
    x = np.array([20.0, 30.0, 10.0, 50.0])
    found = replay(rows, 4, x, stopped=True)
    for arm in range(4):
        own = rows.arm == arm
        curve = KaplanMeier.of(rows.allocation[own], rows.success[own])
        assert found[arm] == pytest.approx(float(curve.at(x[arm])))
    # Counting as if everything had been given misses by far; Kaplan and Meier's is within 4 standard errors.
    np.testing.assert_allclose(found, TRUTH.success_probability(x), atol=0.035)
    assert replay(rows, 4, x)[0] < 0.7 * found[0]
    stack = ArmLog.of(rows, 0, stopped=True)
    both = stack._replace(weights=np.stack([stack.weights, 2.0 * stack.weights])).replay(np.array([20.0]))
    np.testing.assert_allclose(both[:, 0], found[0])


def test_rows_that_were_given_exactly_so_much_count() -> None:
    """Half of the rows were given 10 and half 20; a threshold of exactly y is reached by y."""
    given, won = np.repeat([10.0, 20.0], 40), np.tile([True, False], 40)
    threshold = np.where(won, given, np.nan)
    rows = rows_of([0] * 80, given, won, threshold)  # type: ignore[arg-type]
    x = np.array([[9.0], [10.0], [15.0], [20.0], [20.1]])
    np.testing.assert_array_equal(replay(rows, 1, x).ravel(), [0.0, 20 / 80, 0.0, 20 / 40, np.nan])
    # Written as what was spent: at 10 of 80 open rows 20 succeed and 20 give up, at 20 half of the 40 left succeed.
    np.testing.assert_array_equal(replay(rows, 1, x, stopped=True).ravel(), [0.0, 0.25, 0.25, 0.625, np.nan])


def test_a_log_of_what_was_spent_tells_nothing_beyond_its_largest_amount() -> None:
    """Where the last row ended the curve ends: it does not go on level."""
    rows = stopped(played(400, 3, high=30.0))
    for arm in range(4):
        last = float(rows.allocation[rows.arm == arm].max())
        seen = ArmLog.of(rows, arm, stopped=True)._replace(least=1.0)
        at, beyond = seen.replay(np.array([last, last * 1.001]))
        assert np.isfinite(at)
        assert np.isnan(beyond)


def test_the_held_out_gain_is_replayed_on_the_other_half() -> None:
    """In one half only arm 0 ever succeeds, in the other only arm 1: what one chooses is worthless on the other."""
    parts, refits = [], []
    halves = 2 * SPLITS
    for arm in range(2):
        own = np.arange(halves) % 2 == arm  # the halves in which this arm succeeds
        won = np.repeat([True, False], 30)
        weights = np.where(own[:, None] == won, 1.0, 0.0)
        parts.append(ArmLog(np.full(60, np.inf), won, np.where(won, 5.0, np.nan), weights))
        refits.append(Refit(hg.Weibull((9.0,) * halves), np.full(halves, 0.2), np.where(own, 0.9, 0.0)))
    others = np.array([[6.0, 6.0], [5.0, 1.0]])
    assert gain._held_out(refits, parts, 12.0, others) == (-1.0, -1.0)
    same = [part._replace(weights=part.weights[np.arange(halves) ^ 1]) for part in parts]
    over_even, over_logged = gain._held_out(refits, same, 12.0, others)
    assert over_even == 0.0  # each half now replays what it would have chosen
    assert over_logged == 1.0  # arm 1 gets too little of what was logged: half of the successes
    assert np.isnan(gain._held_out(refits, same, 12.0, others[:1])[1])


def test_the_ends_of_an_interval_are_its_quantiles() -> None:
    assert gain._ends(np.linspace(0.0, 1.0, 1001), 0.9) == pytest.approx((0.05, 0.95))
    assert np.isnan(gain._ends(np.array([1.0, np.nan]), 0.9)).all()


def test_intervals_are_as_wide_as_the_binomial_law_says() -> None:
    """Every row was given the same, so replay is a share; 400 resamples tell its width to within 12% (3.5 s.e.)."""
    rng = np.random.default_rng(0)
    threshold = hg.Exponential().sample(0.1, rng, 1000)
    won = (rng.random(1000) < 0.6) & (threshold <= 30.0)
    rows = rows_of([0] * 1000, np.full(1000, 30.0), won, np.where(won, threshold, np.nan))  # type: ignore[arg-type]
    worth = calibrate(log_of(rows, "censored"), law="exponential", budgets=[30.0], bootstrap=400).gains[0].even
    share = float(np.mean(won))
    assert worth.replay == pytest.approx(share)
    width = 2.0 * 1.645 * np.sqrt(share * (1.0 - share) / 1000.0)
    for low, high in (worth.replay_interval, worth.model_interval):
        assert high - low == pytest.approx(width, rel=0.15)  # the model's is hardly shorter: everything was given a lot


@given(st.floats(0.0, 200.0), st.lists(st.floats(0.01, 9.0), min_size=1, max_size=9))
def test_whole_splits_are_whole_and_use_everything(budget: float, weights: list[float]) -> None:
    x = in_proportion(budget, np.array(weights), whole=True)
    assert np.all(x == np.floor(x))
    assert np.all(x >= 0.0)
    assert x.sum() == pytest.approx(np.floor(budget + 1e-9))
    exact = budget * np.array(weights) / np.sum(weights)
    up = x > exact
    if up.any() and not up.all():  # the largest remainders are rounded up
        rest = exact - np.floor(exact + 1e-9)
        assert rest[up].min() >= rest[~up].max() - 1e-9
    assert in_proportion(budget, np.array(weights), whole=False).sum() == pytest.approx(budget)


def test_an_even_split() -> None:
    assert in_proportion(10.0, np.ones(4), whole=False).tolist() == [2.5] * 4
    assert in_proportion(10.0, np.ones(4), whole=True).tolist() == [3.0, 3.0, 2.0, 2.0]
    assert in_proportion(7.0, np.array([1.0, 2.6, 3.4]), whole=True).tolist() == [1.0, 3.0, 3.0]
    assert in_proportion(float(np.nextafter(3.0, 0.0)), np.ones(3), whole=True).tolist() == [1.0] * 3


@pytest.fixture(scope="module")
def log() -> Log:
    return log_of(played(4000, 2), "censored")


def test_gains_are_those_of_the_truth(log: Log) -> None:
    found = calibrate(log, law="weibull", budgets=[40.0, 100.0], bootstrap=120)
    for each in found.gains:
        best, even = TRUTH.solve(each.budget), TRUTH.expected_reward(np.full(4, each.budget / 4))
        truth = float(best.value / even) - 1.0
        assert each.model_gain == pytest.approx(truth, abs=0.08)
        assert each.replay_gain == pytest.approx(truth, abs=0.12)
        assert each.held_out == pytest.approx(truth, abs=0.12)
        assert each.bound >= each.best.model - 1e-9
        assert each.gap <= 1e-6
        assert each.best.x.sum() <= each.budget * (1.0 + 1e-12)
        for worth in (each.even, each.best):
            value = float(TRUTH.expected_reward(worth.x))
            for ends in (worth.model_interval, worth.replay_interval):
                # 90% intervals, four times: wider by half on each side they miss once in several hundred seeds.
                half = 0.75 * (ends[1] - ends[0])
                assert ends[0] - half < value < ends[1] + half
        assert each.model_gain_interval[0] < each.model_gain < each.model_gain_interval[1]


def test_replay_intervals_cover() -> None:
    hit, runs = 0, 60
    x = np.array([20.0])
    for seed in range(runs):
        rows = censored(hg.Exponential(), 0.6, 0.1, 300, seed)
        seen = ArmLog.of(rows, 0)
        rng = np.random.default_rng(seed)
        drawn = seen._replace(weights=rng.poisson(seen.weights, (200, seen.weights.size)).astype(np.float64))
        low, high = np.quantile(drawn.replay(x), [0.05, 0.95])
        hit += low <= 0.6 * (1.0 - np.exp(-2.0)) <= high
    assert 45 <= hit <= 60  # 54 expected, standard deviation 2.3


def test_the_logged_allocation_is_in_proportion(log: Log) -> None:
    given = mean_allocations(log)
    assert given is not None
    found = calibrate(log, law="weibull", budgets=[40.0], bootstrap=0)
    logged = found.gains[0].logged
    assert logged is not None
    np.testing.assert_allclose(logged.x, 40.0 * given / given.sum())
    assert np.isnan(found.gains[0].model_gain_interval).all()
    assert usual_budgets(log) == tuple(float(f"{given.sum() * part:.3g}") for part in (0.25, 0.5, 1.0))


def test_what_cannot_be_replayed_is_said() -> None:
    found = calibrate(log_of(played(400, 2, high=20.0), "censored"), law="weibull", budgets=[300.0], bootstrap=20)
    only = found.gains[0]
    assert np.isnan(only.replay_gain)
    assert np.isnan(only.held_out)
    assert only.beyond
    assert np.isfinite(only.model_gain)


def test_an_arm_with_fewer_than_20_rows_is_not_replayed() -> None:
    rows = played(LEAST - 1, 0)
    assert np.isnan(replay(rows, 4, np.full(4, 6.0))).all()
    assert np.isnan(replay(stopped(rows), 4, np.full(4, 6.0), stopped=True)).all()
    log = log_of(observed(TRUTH, LEAST - 1, 0), "observed")
    found = calibrate(log, law="weibull", budgets=[80.0], bootstrap=10)
    assert np.isnan(found.gains[0].replay_gain)
    assert found.replay_error == {}


def test_a_gain_of_nothing_over_nothing_is_none() -> None:
    rows = played(100, 0)
    none = Rows(rows.arm, rows.allocation, np.zeros(400, dtype=np.bool_), np.full(400, np.nan), rows.count)
    only = calibrate(log_of(none, "censored"), budgets=[40.0], bootstrap=0).gains[0]
    assert np.isnan(only.model_gain)
    assert np.isnan(only.replay_gain)
    assert only.replayed
    assert not only.beyond


def test_successes_alone_predict_better_where_they_are_faster() -> None:
    rows = observed(TRUTH, 3000, 0)
    slow = np.where(rows.success, rows.threshold, 1.5 * rows.threshold)
    log = log_of(Rows(rows.arm, rows.allocation, rows.success, slow, rows.count), "observed")
    found = calibrate(log, law="weibull", budgets=[80.0], bootstrap=0, times="all")
    assert found.basis == "all"
    assert found.replay_error["successes"] < 0.5 * found.replay_error["all"]
    other = calibrate(log, law="weibull", budgets=[80.0], bootstrap=0)
    assert other.basis == "successes"  # by itself
    assert other.replay_error == pytest.approx(found.replay_error)


def test_a_bad_budget_is_refused(log: Log) -> None:
    for budget in (-1.0, 0.0, np.nan, np.inf):
        with pytest.raises(BudgetError, match="budget must be"):
            calibrate(log, law="exponential", budgets=[budget], bootstrap=0)


def test_times_are_chosen_by_rows_held_out() -> None:
    """Where times do not depend on success, those of all rows are twice as many and tell more, whatever the seed."""
    few = hg.Problem(hg.Weibull(1.6), [0.15] * 6, [0.05] * 6)
    chosen = [
        calibrate(log_of(observed(few, 400, seed), "observed"), law="weibull", budgets=[80.0], bootstrap=0).basis
        for seed in range(5)
    ]
    assert chosen.count("all") >= 4


def test_the_splits_say_what_each_arm_earns(log: Log) -> None:
    found = calibrate(log, law="weibull", budgets=[60.0], bootstrap=0).gains[0]
    assert found.logged is not None
    for worth in (found.even, found.best, found.logged):
        np.testing.assert_allclose(worth.model_by_arm.sum(), worth.model)
        np.testing.assert_allclose(worth.replay_by_arm.sum(), worth.replay)
        for arm in range(4):
            seen = ArmLog.of(log.rows, arm).replay(worth.x[[arm]])
            assert worth.replay_by_arm[arm] == pytest.approx(float(seen[0]))


def test_what_is_given_to_all_alike_is_the_even_split() -> None:
    rows = played(300, 4)
    alike = Rows(rows.arm, np.full(rows.arm.size, 130.0), rows.success, rows.threshold, rows.count)
    assert calibrate(log_of(alike, "censored"), law="weibull", budgets=[60.0], bootstrap=0).gains[0].logged is None


def made(**changes: object) -> Gain:
    """A gain of 10% that is sure, but for what is changed."""
    worth = Worth(np.ones(2), 1.0, (0.9, 1.1), 1.0, (0.9, 1.1), np.full(2, 0.5), np.full(2, 0.5))
    usual = Gain(
        2.0, worth, worth, None, bound=1.0, gap=0.0, model_gain=0.1, model_gain_interval=(0.05, 0.15),
        replay_gain=0.1, replay_gain_interval=(0.05, 0.15), held_out=0.1, held_out_logged=float("nan"), beyond=(),
    )  # fmt: skip
    return replace(usual, **changes)  # type: ignore[arg-type]


NAN = float("nan")


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({}, "change"),
        ({"replay_gain_interval": (NAN, NAN)}, "change"),  # no resamples: held out alone decides
        ({"held_out_logged": 0.02}, "change"),
        ({"held_out": 0.0}, "keep"),
        ({"held_out": -0.01}, "keep"),
        ({"held_out_logged": -0.01}, "keep"),  # better than even, worse than what is done
        ({"replay_gain_interval": (-0.01, 0.2)}, "keep"),
        ({"held_out": NAN}, "try"),
        ({"held_out": NAN, "model_gain": NAN, "withheld": True}, "keep"),
        ({"held_out": NAN, "model_gain": 0.0}, "keep"),
    ],
)
def test_the_advice_is_to_change_only_for_what_rows_held_out_show(changes: dict[str, object], advice: str) -> None:
    gained = made(**changes)
    assert gained.advice == advice
    said = in_words(gained, "s")
    assert said.startswith("With 2 s: ")
    assert ("keep what you do" in said) == (advice == "keep")
    assert "nan" not in said


def test_nothing_is_claimed_of_what_is_not_identified() -> None:
    """Five rows: the model would promise something, and nobody should believe it."""
    won = np.array([True, False, True, False, True])
    rows = rows_of([0, 0, 1, 1, 1], np.full(5, 10.0), won, np.array([2.0, NAN, 1.0, NAN, 9.5]))  # type: ignore[arg-type]
    (few,) = calibrate(log_of(rows, "censored"), budgets=[10.0], bootstrap=20).gains
    assert few.withheld
    assert np.isnan([few.model_gain, *few.model_gain_interval, few.replay_gain, few.held_out]).all()
    assert few.advice == "keep"
    (many,) = calibrate(log_of(played(400, 2), "censored"), budgets=[60.0], bootstrap=0).gains
    assert not many.withheld


def test_arms_alike_are_left_as_they_are() -> None:
    """Equal arms: the even split is the best, and a choice made on half of the rows does not beat it on the other."""
    same = hg.Problem(hg.Exponential(), [0.6] * 4, [0.1] * 4)
    kept = 0
    for seed in range(8):
        log = log_of(observed(same, 300, seed), "observed")
        kept += calibrate(log, law="exponential", budgets=[60.0], bootstrap=50, seed=seed).gains[0].advice == "keep"
    assert kept == 8
