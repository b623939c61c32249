"""At least one success a round, from logs: whole rounds as they were or completed, claims, and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import headgate as hg
from headgate.calibration.differing.rounds import dependence, fit_rounds, rounds_of
from headgate.calibration.reading import Columns, read_log
from headgate.cli.app import app
from headgate.errors import InputError
from tests.calibration.test_differing_features import write

COLUMNS = Columns(arm="solver", success="ok", threshold="s", allocation="given", round="instance", keep_rounds=True)
ROUNDS, ARMS = 160, 3


def thresholds(seed: int = 0, *, shared: bool = True) -> Any:
    """Rounds of two kinds: what is hard is hard for all arms, or nothing is shared."""
    rng = np.random.default_rng(seed)
    hard = rng.random((ROUNDS, 1 if shared else ARMS)) < 0.5
    return rng.exponential(1.0, (ROUNDS, ARMS)) * np.where(hard, 60.0, 1.0)


def table(reach: Any, given: Any) -> dict[str, Any]:
    who, which = np.indices(reach.shape)
    given = np.broadcast_to(given, reach.shape)
    won = reach <= given
    return {
        "instance": [f"i{r}" for r in who.ravel()], "solver": [f"s{k}" for k in which.ravel()],
        "ok": won.ravel(), "s": np.where(won, reach, np.nan).ravel(), "given": given.ravel(),
    }  # fmt: skip


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return read_log(write(tmp_path_factory.mktemp("rounds") / "log.csv", table(thresholds(), 10.0)), COLUMNS)


def test_complete_rounds_are_optimised_as_they_were(log: Any) -> None:
    reach = thresholds()
    found = rounds_of(log)
    same = {tuple(row) for row in np.where(reach <= 10.0, reach, np.inf).round(9).tolist()}
    assert {tuple(row) for row in found.thresholds.round(9).tolist()} == same
    (gain,) = fit_rounds(log, [3.0], bootstrap=40).gains
    best = hg.Rounds(found.thresholds, 10.0).best_static(3.0, "cascade", smooth=0.3)
    np.testing.assert_allclose(gain.choice.x, best.x)
    assert gain.choice.complete
    assert gain.choice.fitted == pytest.approx(float(best.value))
    assert gain.choice.fitted <= gain.choice.bound
    claim = gain.choice.claim
    assert gain.claim_interval[0] < claim < gain.claim_interval[1]
    others = thresholds(seed=1)
    solved = float(np.mean((others <= gain.choice.x).any(axis=1)))
    assert abs(claim - solved) < 4.0 * np.sqrt(0.5 / ROUNDS)


def test_dependent_arms_are_told_from_independent_ones(log: Any, tmp_path: Path) -> None:
    (shared,) = fit_rounds(log, [3.0], bootstrap=0).gains
    assert shared.correlation > 0.5
    assert shared.p_value == 0.001
    assert shared.lost > 0.05  # multiplied failures promise more than there is
    assert np.isnan(shared.claim_interval).all()
    apart = read_log(write(tmp_path / "log.csv", table(thresholds(2, shared=False), 10.0)), COLUMNS)
    (free,) = fit_rounds(apart, [3.0], bootstrap=0).gains
    assert abs(free.correlation) < 0.15
    assert free.p_value > 0.01
    assert abs(free.lost) < 0.5 * shared.lost


def test_dependence_is_the_mean_correlation() -> None:
    rng = np.random.default_rng(0)
    won = rng.random((400, 3)) < 0.5
    won[:, 1] = won[:, 0]
    table_of: Any = np.corrcoef(won.T)
    pairs = table_of[np.triu_indices(3, 1)]
    found, p = dependence(won, rng)
    assert found == pytest.approx(pairs.mean(), abs=0.01)  # equal but for the weights of arms, which are near 1
    assert p < 0.01
    assert dependence(np.ones((10, 3), dtype=np.bool_), rng) == (0.0, 1.0)


def test_rounds_cut_short_are_completed_by_kinds(tmp_path: Path) -> None:
    reach, rng = thresholds(), np.random.default_rng(3)
    log = read_log(write(tmp_path / "log.csv", table(reach, rng.uniform(0.2, 6.0, reach.shape))), COLUMNS)
    found = fit_rounds(log, [3.0], bootstrap=0)
    (gain,) = found.gains
    assert found.kinds in found.held_out
    assert not gain.choice.complete
    best = float(hg.Rounds(reach).best_static(3.0, "cascade").value)
    assert np.mean((reach <= gain.choice.x).any(axis=1)) > 0.9 * best
    assert abs(gain.choice.claim - best) < 0.12


def test_an_arm_twice_in_a_round_is_named(tmp_path: Path) -> None:
    rows = table(thresholds(), 10.0)
    rows["solver"][4] = rows["solver"][3]
    log = read_log(write(tmp_path / "log.csv", rows), COLUMNS)
    with pytest.raises(InputError, match="arm 's0' twice in round 'i1'"):
        fit_rounds(log)


def test_rounds_must_be_read(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", table(thresholds(), 10.0))
    plain = Columns(arm="solver", success="ok", threshold="s", allocation="given")
    with pytest.raises(InputError, match="reward 'cascade' needs to know which rows share a round"):
        hg.calibrate(read_log(path, plain), reward="cascade", law="exponential", bootstrap=0)
    with pytest.raises(InputError, match="round is missing"):
        Columns(arm="solver", success="ok", threshold="s", keep_rounds=True)


@pytest.mark.usefixtures("unrendered")
def test_the_command_says_how_dependent_arms_are(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", table(thresholds(), 10.0))
    options = ["calibrate", str(path), "--arm", "solver", "--success", "ok", "--threshold", "s", "--law", "exponential",
               "--allocation", "given", "-b", "3", "--bootstrap", "20", "--reward", "cascade"]  # fmt: skip
    missing = CliRunner().invoke(app, options)
    assert missing.exit_code != 0
    done = CliRunner().invoke(app, [*options, "--round", "instance", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "arms share their rounds' fate" in done.output
    assert "proved for these rounds as they were" in " ".join(done.output.split())
    page = (tmp_path / "out" / "calibration.html").read_text()
    assert "have a correlation of" in page
    data = json.loads((tmp_path / "out" / "calibration.json").read_text())["rounds"]
    assert data["kinds"] is None
    assert data["gains"][0]["complete"] is True
    assert sum(data["gains"][0]["allocation"].values()) <= 3.0 * (1 + 1e-9)
    assert data["gains"][0]["p_value"] == 0.001
