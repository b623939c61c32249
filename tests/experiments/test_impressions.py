"""Criteo's log: counted as a loop over its rows would, and used where it is given."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from headgate import experiments
from headgate.errors import InputError
from headgate.experiments.logged.impressions import calibrate, fit_discrete, read
from headgate.laws import DiscreteWeibull

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
    seen = read(tmp_path / FILE, 5)
    shown: dict[tuple[int, int], int] = defaultdict(int)
    first: dict[tuple[int, int], int] = {}
    budget: dict[int, int] = defaultdict(int)
    for _, user, campaign, hit in rows:
        shown[user, campaign] += 1
        budget[user] += 1
        if hit:
            first.setdefault((user, campaign), shown[user, campaign])
    assert sorted(seen.budgets.tolist()) == sorted(budget.values())
    for arm, name in enumerate(seen.names):
        places = [n for (_, campaign), n in first.items() if campaign == int(name)]
        assert seen.counts[arm].tolist() == np.bincount(places)[1:].tolist()
        users = sum(campaign == int(name) for _, campaign in shown)
        assert seen.clicked[arm] == pytest.approx(len(places) / users)
    assert calibrate(seen).arms == 5


def test_the_fit_finds_the_law_it_was_drawn_from() -> None:
    law, rng = DiscreteWeibull(shape=0.8), np.random.default_rng(1)
    counts = np.bincount(law.sample(0.3, rng, 20_000).astype(np.int64))[1:].astype(np.float64)
    shape, rate = fit_discrete(counts)
    assert shape == pytest.approx(0.8, abs=0.03)  # 4 standard errors, about
    assert rate == pytest.approx(0.3, rel=0.05)


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
        read(path, 1)
    path.write_text("timestamp\tuid\tcampaign\tclick\n0\t1\t7\t1\n")
    with pytest.raises(InputError, match="at least 2 campaigns"):
        read(path, 2)
