"""Criteo's log: counted as a loop over its rows would, and used where it is given."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from headgate import experiments
from headgate.calibration.reading import Criteo, read_log
from headgate.datasets.criteo import campaigns
from headgate.errors import InputError
from headgate.experiments.logged.exposures import compare, draw_log, fit_both, fit_clicks, missed

FILE = "criteo_attribution_dataset.tsv.gz"
Rows = list[tuple[int, int, int, int]]


def write_log(folder: Path, users: int, campaigns: int) -> Rows:
    """Write a log with a few columns more than are read; rows in the order of time."""
    rng = np.random.default_rng(0)
    size = 12 * users
    columns = (rng.integers(0, users, size), rng.integers(100, 100 + campaigns, size), rng.random(size) < 0.2)
    rows = [(t, int(u), int(c), int(hit)) for t, (u, c, hit) in enumerate(zip(*columns, strict=True))]
    with gzip.open(folder / FILE, "wt", encoding="utf-8") as file:
        file.write("timestamp\tuid\tcampaign\tconversion\tclick\tcost\n")
        file.writelines(f"{t}\t{u}\t{c}\t0\t{hit}\t1.5e-05\n" for t, u, c, hit in rows)
    return rows


def test_counts_are_those_of_a_loop(tmp_path: Path) -> None:
    rows = write_log(tmp_path, 40, 5)
    log = read_log(tmp_path / FILE, Criteo(campaigns=5))
    assert log.budgets is not None
    shown: dict[tuple[int, int], int] = defaultdict(int)
    first: dict[tuple[int, int], int] = {}
    budget: dict[int, int] = defaultdict(int)
    for _, user, campaign, hit in rows:
        shown[user, campaign] += 1
        budget[user] += 1
        if hit:
            first.setdefault((user, campaign), shown[user, campaign])
    assert sorted(log.budgets.tolist()) == sorted(budget.values())
    for name, fit in zip(log.names, fit_clicks(log.rows, log.names), strict=True):
        places = [n for (_, campaign), n in first.items() if campaign == int(name)]
        numbers, counts = np.unique(places, return_counts=True)
        assert fit.points.thresholds[:, 0].tolist() == numbers.tolist()
        assert fit.points.threshold_weight[:, 0].tolist() == counts.tolist()
        users = sum(campaign == int(name) for _, campaign in shown)
        assert fit.activation == pytest.approx(len(places) / users)


def test_the_cure_model_finds_the_truth_and_clickers_alone_do_not() -> None:
    """The campaign of 12.0 impressions and p = .47: 0.7 and .11 among clickers, with a distance that looks perfect."""
    truth = campaigns()
    fits = fit_both(draw_log(truth, 60_000, np.random.default_rng(3)), truth.names or ())
    made = compare(truth, 60_000, fits)
    one = next(row for row in made["campaigns"] if row["name"] == "c11")
    assert (one["typical"], one["p"]) == (pytest.approx(12.0), pytest.approx(0.47))
    for what in ("typical", "p"):
        low, high = one["cure"][f"{what}_interval"]
        assert low < one[what] < high < 2.3 * low
    assert one["clickers"]["typical"] == pytest.approx(0.7, abs=0.15)
    assert one["clickers"]["p"] == pytest.approx(0.11, abs=0.01)
    assert one["clickers"]["distance"] < 0.015
    # 30 intervals of 95%: more than 5 miss with probability .003; without the exposures nearly all do.
    assert missed(made, "cure")[0] <= 5
    assert missed(made, "clickers")[0] >= 25
    for row in made["earned"]:
        assert row["clickers"] <= row["best"] + 1e-12
        assert row["cure"] == pytest.approx(row["best"], rel=0.01)
    assert made["earned"][1]["clickers"] < 0.98 * made["earned"][1]["best"]


def test_a_generated_log_is_that_of_its_problem() -> None:
    """Clicks within n impressions are binomial with p G(n): every count within 4.5 standard deviations."""
    problem, rows = campaigns(), draw_log(campaigns(), 20_000, np.random.default_rng(5))
    for arm in range(problem.arms):
        own = rows.only(rows.arm == arm)
        assert own.count.sum() == 20_000
        for n in (1.0, 2.0, 5.0):
            shown = own.count[own.allocation >= n].sum()
            won = own.count[(own.allocation >= n) & own.success & (own.threshold <= n)].sum()
            chance = problem.activation[arm] * float(problem.law.of_arm(arm).cdf(n, problem.rate[arm]))
            assert abs(won - shown * chance) < 4.5 * np.sqrt(shown * chance * (1.0 - chance))


@pytest.mark.long
def test_the_log_is_used_where_it_is_given(tiny: None, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    write_log(tmp_path / "data", 400, 16)
    out = tmp_path / "out"
    experiments.reproduce(["criteo", "criteo-fit"], out, quick=True, data=tmp_path / "data")
    for name in ("criteo", "criteo-fit"):
        assert "Criteo's log" in json.loads((out / name / "outcome.json").read_text())["source"]
    assert "semi-synthetic" not in (out / "index.html").read_text(encoding="utf-8").lower()


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "criteo_attribution_dataset.tsv"
    path.write_text("a\tb\n1\t2\n")
    with pytest.raises(InputError, match="no column 'timestamp'; it has: a, b"):
        read_log(path, Criteo(campaigns=1))
    path.write_text("timestamp\tuid\tcampaign\tclick\n0\t1\t7\t1\n")
    with pytest.raises(InputError, match="at least 2 campaigns"):
        read_log(path, Criteo(campaigns=2))
