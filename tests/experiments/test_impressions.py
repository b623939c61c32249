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
from headgate.errors import InputError
from headgate.experiments.base import Setting
from headgate.experiments.logged.criteo_fit import fit_clicks

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
        assert fit.points.seen[:, 0].tolist() == numbers.tolist()
        assert fit.points.seen_weight[:, 0].tolist() == counts.tolist()
        users = sum(campaign == int(name) for _, campaign in shown)
        assert fit.activation == pytest.approx(len(places) / users)


def test_the_fit_finds_the_law_that_clicks_were_drawn_from(tiny: None, tmp_path: Path) -> None:
    """Within 4 standard errors or so, in three campaigns."""
    full = experiments.EXPERIMENTS["criteo-fit"]
    outcome = full.run(full.full, Setting(tmp_path))
    for panel in outcome.numbers["panels"]:
        assert sum(panel["counts"]) == 5000
        assert panel["shape"] == pytest.approx(panel["true_shape"], abs=0.06)
        assert panel["rate"] == pytest.approx(panel["true_rate"], rel=0.12)


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
