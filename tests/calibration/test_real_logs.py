"""What is known of the real logs comes out again; they may not be shipped, so where they are absent these skip."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import headgate as hg
from headgate.calibration.calibration import Calibration, calibrate
from headgate.calibration.kaplan_meier import KaplanMeier
from headgate.calibration.log import Log
from headgate.calibration.reading import Columns, read_log
from headgate.calibration.replay import ArmLog, stops
from tests.calibration import references

pytestmark = pytest.mark.long
DATA = Path(__file__).parents[3] / "shared" / "data"


def needs(name: str) -> pytest.MarkDecorator:
    path = DATA / name
    return pytest.mark.skipif(not path.exists(), reason=f"{path} is not here, and may not be shipped")


@pytest.fixture(scope="module")
def ednet() -> Log:
    return read_log(DATA / "ednet_pseudo_users.csv", "ednet-pseudo")


@pytest.fixture(scope="module")
def untrimmed(ednet: Log) -> Calibration:
    return calibrate(ednet, law="weibull", budgets=[200.0, 400.0], bootstrap=60, times="all")


@needs("ednet_pseudo_users.csv")
def test_ednet_untrimmed_is_the_quiz_in_the_package(untrimmed: Calibration) -> None:
    quiz = hg.datasets.ednet_quiz("untrimmed")
    shapes, scales = [], []
    for fit in untrimmed.arms:
        arm = quiz.arm(fit.name)
        assert fit.shape == pytest.approx(quiz.law.shapes()["shape"][arm], rel=1e-4)
        assert fit.rate == pytest.approx(quiz.rate[arm], rel=1e-4)
        assert fit.activation == pytest.approx(quiz.activation[arm], abs=1e-9)
        shapes.append(fit.shape or 0.0)
        scales.append(1.0 / fit.rate)
    assert (min(shapes), max(shapes)) == pytest.approx((1.20, 1.94), abs=0.005)
    assert (min(scales), max(scales)) == pytest.approx((30.9, 48.4), abs=0.05)
    activation = untrimmed.problem.activation
    assert (activation.min(), activation.max()) == pytest.approx((0.216, 0.719), abs=0.0005)
    assert untrimmed.basis == "all"


@needs("ednet_pseudo_users.csv")
def test_ednet_gains_in_replay(untrimmed: Calibration) -> None:
    small, large = untrimmed.gains
    assert small.replay_gain == pytest.approx(1.9, abs=0.06)
    assert large.replay_gain == pytest.approx(0.48, abs=0.02)
    # Chosen on other rows it is as good: with 5,000 answers a question the choice is not luck.
    assert small.held_out == pytest.approx(small.replay_gain, abs=0.06)
    assert large.held_out == pytest.approx(large.replay_gain, abs=0.03)
    assert small.best.model == pytest.approx(2.114214, abs=1e-4)
    assert large.best.model == pytest.approx(3.841750, abs=1e-4)
    low, high = small.replay_gain_interval
    assert low < small.replay_gain < high < low + 0.3


@needs("ednet_pseudo_users.csv")
def test_ednet_correct_answers_are_faster(untrimmed: Calibration) -> None:
    said = [any("successes are faster" in text for text in fit.warnings) for fit in untrimmed.arms]
    assert sum(said) >= 15
    assert any("7,436 s" in text for fit in untrimmed.arms for text in fit.warnings)
    assert untrimmed.replay_error["successes"] < untrimmed.replay_error["all"]


@needs("ednet_pseudo_users.csv")
def test_ednet_trimmed_as_in_the_paper(ednet: Log, untrimmed: Calibration) -> None:
    found = calibrate(ednet, law="weibull", trim=(0.025, 0.975), budgets=[200.0, 400.0], bootstrap=0, times="all")
    for arm in (0, 7, 19):
        own = ednet.rows.arm == arm
        times = np.repeat(ednet.rows.threshold[own], ednet.rows.count[own])
        right = np.repeat(ednet.rows.success[own], ednet.rows.count[own])
        low, high = np.quantile(times, [0.025, 0.975])
        kept = (times >= low) & (times <= high)
        shape, scale = references.fit_truncated(times[kept], float(low), float(high))
        assert found.arms[arm].shape == pytest.approx(shape, rel=1e-3)
        assert 1.0 / found.arms[arm].rate == pytest.approx(scale, rel=1e-3)
        assert found.arms[arm].activation == pytest.approx(right[kept].mean())
    # Without the absurd times the law fits better, and the gain is the same.
    assert np.mean([fit.ks for fit in found.arms]) < 0.6 * np.mean([fit.ks for fit in untrimmed.arms])
    assert found.gains[0].replay_gain == pytest.approx(1.9, abs=0.1)
    assert found.gains[1].replay_gain == pytest.approx(0.48, abs=0.03)


@needs("ednet_pseudo_users.csv")
def test_ednet_selection_by_ks(ednet: Log) -> None:
    every = calibrate(ednet, law="weibull", bootstrap=0)
    best = calibrate(ednet, law="weibull", select=5, by="ks", bootstrap=0)
    smallest = sorted(every.arms, key=lambda fit: fit.ks)[:5]
    assert {fit.name for fit in best.arms} == {fit.name for fit in smallest}


@needs("aslib_runs.csv.gz")
@pytest.mark.parametrize(
    ("scenario", "arms", "cutoff"), [("QBF-2014", 14, 900), ("ASP-POTASSCO", 11, 600), ("BNSL-2016", 8, 7200)]
)
def test_aslib_solvers_are_arms_and_the_cutoff_is_given(scenario: str, arms: int, cutoff: int) -> None:
    mapping = Columns(
        arm="algorithm", success="ok", threshold="runtime", allocation="cutoff", units="s", where={"scenario": scenario}
    )
    log = read_log(DATA / "aslib_runs.csv.gz", mapping)
    assert (log.arms, log.kind, stops(log)) == (arms, "censored", False)
    assert set(log.rows.allocation) == {float(cutoff)}
    found = calibrate(log, budgets=[float(cutoff)], bootstrap=0)
    for fit in found.arms:
        # Every run was given the cutoff, so Kaplan and Meier's curve is the share solved, and p G must be close to it.
        assert fit.activation * float(fit.law.cdf(cutoff, fit.rate)) == pytest.approx(fit.share, abs=0.03)
        assert fit.ks < 0.1
    gain = found.gains[0]
    assert gain.best.model >= gain.even.model - 1e-9
    assert gain.even.replay == pytest.approx(gain.even.model, rel=0.06)


@needs("bank_marketing.csv")
def test_bank_months_are_arms_and_calls_are_counted() -> None:
    mapping = Columns(arm="month", success="y", threshold="campaign", allocation="campaign", units="calls", whole=True)
    log = read_log(DATA / "bank_marketing.csv", mapping)
    assert (log.arms, log.whole, log.reading.used, stops(log)) == (12, True, 45_211, True)
    found = calibrate(log, budgets=[6.0, 12.0], bootstrap=0)
    assert {fit.law.name for fit in found.arms} == {"discrete-weibull"}
    for arm, fit in enumerate(found.arms):
        seen = ArmLog.of(log.rows, arm, stopped=True)
        curve = KaplanMeier.of(seen.allocation, seen.success, seen.weights)
        assert fit.activation * float(fit.law.cdf(2.0, fit.rate)) == pytest.approx(float(curve.at(2.0)), abs=0.04)
    small = found.gains[0]
    assert np.all(small.best.x == np.floor(small.best.x))
    assert small.replay_gain == pytest.approx(small.model_gain, abs=0.25)
    assert small.held_out > 1.0
