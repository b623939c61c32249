"""A time limit is recognised where rows pile up at it, and nowhere else; then failures are censored there."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headgate as hg
from headgate.calibration.log import Log
from headgate.calibration.reading.time_limit import TimeLimit
from headgate.errors import InputError

ACTIVATION, SCALE, SHAPE = (0.9, 0.7, 0.5, 0.8), (8.0, 12.0, 18.0, 25.0), 1.6
COLUMNS: dict[str, Any] = {"arm": "item", "success": "ok", "threshold": "s", "units": "s"}


def answers(path: Path, limits: tuple[float, ...], *, n: int = 1500, digits: int = 3, clip: bool = False) -> Path:
    """Answers to four questions, each with a time limit of its own, perhaps infinite; right or wrong, all have a time.

    With `clip` a right answer beyond the limit is still right: times are clipped, nobody was cut off.
    """
    rng = np.random.default_rng(1)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["student", "item", "ok", "s"])
        for student in range(n):
            for k, limit in enumerate(limits):
                time, knows = SCALE[k] * rng.weibull(SHAPE), rng.random() < ACTIVATION[k]
                right = knows and (time < limit or clip)
                table.writerow([student, f"q{k}", int(right), round(min(time, limit), digits)])
    return path


def read(path: Path, **more: Any) -> Log:
    return hg.read_log(path, **COLUMNS, **more)


def limit_of(log: Log) -> TimeLimit:
    assert log.reading.time_limit is not None
    return log.reading.time_limit


def test_a_limit_of_all_rows_is_recognised_and_censors(tmp_path: Path) -> None:
    log = read(answers(tmp_path / "log.csv", (30.0,) * 4))
    found = limit_of(log)
    assert set(found.limits.values()) == {30.0}
    assert log.kind == "censored"
    lost = ~log.rows.success
    assert np.isnan(log.rows.threshold[lost]).all()
    assert (log.rows.allocation == 30.0).all()
    assert found.read == 6000
    assert f"{found.rows:,} of 6,000 rows end at exactly 30 s without success" in found.words("s")
    fitted = hg.calibrate(log, law="weibull", bootstrap=0, budgets=[60.0])
    for fit, p, scale in zip(fitted.arms, ACTIVATION, SCALE, strict=True):
        # Wider than the 90% intervals: 99.9% of eight numbers.
        (low, high), (least, most) = fit.activation_interval, fit.rate_interval
        assert low - (high - low) < p < high + (high - low)
        assert least / (most / least) < 1.0 / scale < most * (most / least)
    provenance = fitted.problem.provenance
    assert provenance is not None
    assert provenance["time_limit"] == dict(found.limits)
    assert fitted.to_dict()["time_limit"] == dict(found.limits)


def test_taken_as_they_are_the_rows_at_the_limit_spoil_the_fit(tmp_path: Path) -> None:
    path = answers(tmp_path / "log.csv", (30.0,) * 4)
    plain = read(path, time_limit="none")
    assert plain.kind == "observed"
    assert plain.reading.time_limit is None
    last = hg.calibrate(plain, law="weibull", times="all", bootstrap=0, budgets=[60.0]).arms[3]
    assert last.activation < 0.65  # of 0.8: those who were cut off count as wrong


def test_arms_have_limits_of_their_own(tmp_path: Path) -> None:
    log = read(answers(tmp_path / "log.csv", (10.0, 20.0, 30.0, float("inf"))))
    limits = limit_of(log).limits
    assert [limits[f"q{k}"] for k in range(3)] == [10.0, 20.0, 30.0]
    longest = float(np.nanmax(log.rows.threshold[log.rows.arm == 3]))
    assert limits["q3"] >= longest  # no heap of its own: the largest time of the log
    assert "their arm's limit, 10 to" in limit_of(log).words("s")


def test_an_arm_too_rare_for_a_heap_shares_the_limit_of_all(tmp_path: Path) -> None:
    path = answers(tmp_path / "log.csv", (30.0,) * 4)
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(f"{n},rare,{n % 2},{5 + n}.5\n" for n in range(8)))
    log = read(path)
    assert limit_of(log).limits["rare"] == 30.0


@pytest.mark.parametrize("digits", [3, 0, -1])
def test_without_a_limit_none_is_seen(tmp_path: Path, digits: int) -> None:
    """Rounded times, even to tens, have ties at their largest, but fewer than below it."""
    log = read(answers(tmp_path / "log.csv", (float("inf"),) * 4, digits=digits))
    assert log.reading.time_limit is None
    assert log.kind == "observed"


def test_a_few_steps_are_not_a_limit(tmp_path: Path) -> None:
    """Times of one to five minutes: a tenth of the rows, most of them wrong, are at the largest, but more below."""
    minutes = np.repeat([1, 2, 3, 4, 5], [30, 30, 20, 12, 8])
    lines = [f"{n},q,{int(m < 3)},{m}" for n, m in enumerate(np.tile(minutes, 10))]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["student,item,ok,s", *lines]) + "\n", encoding="utf-8")
    assert read(path).reading.time_limit is None


def test_times_that_were_clipped_are_not_a_limit(tmp_path: Path) -> None:
    """As many are right at the largest time as elsewhere: whoever wrote the log cut the times, not the answers."""
    log = read(answers(tmp_path / "log.csv", (30.0, 30.0, float("inf"), 30.0)[:2], clip=True))
    assert log.reading.time_limit is None


def test_a_limit_that_is_given_counts_for_all_rows(tmp_path: Path) -> None:
    path = answers(tmp_path / "log.csv", (30.0,) * 4)
    log = read(path, time_limit=30)
    assert log.kind == "censored"
    assert (log.rows.allocation == 30.0).all()
    assert log.reading.how["time_limit"] == 30.0
    assert log.reading.dropped == {}
    short = read(path, time_limit=20)
    assert short.reading.dropped["success with a threshold above its allocation"] > 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"time_limit": "maybe"}, "time_limit must be one of auto, none, got 'maybe'"),
        ({"time_limit": -1.0}, "time_limit must be finite and > 0"),
        ({"time_limit": 30.0, "allocation": "given"}, "leave out allocation"),
    ],
)
def test_a_wrong_limit_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        hg.read_log("nowhere.csv", **COLUMNS, **more)


def test_the_rounds_budgets_are_what_they_took(tmp_path: Path) -> None:
    path = answers(tmp_path / "log.csv", (30.0,) * 4, n=300)
    log = read(path, round="student")
    assert log.budgets is not None
    assert log.budgets.max() < 120.0
    assert log.records is not None
    assert (log.records.allocation == 30.0).all()
