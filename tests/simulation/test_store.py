"""What is finished is on disk, and an interrupted simulation goes on from there."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headgate as hg
from headgate.errors import InputError
from headgate.extras import extra
from headgate.policies import Thompson, Uniform
from headgate.simulation import Result, simulate

from .references import MEASURES, same


class Interrupted(Uniform):  # type: ignore[misc]  # final, but for this
    """Presses Ctrl-C when the third batch of runs is made (after the one that checks the options)."""

    made = 0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        type(self).made += 1
        if type(self).made == 4:
            raise KeyboardInterrupt


def test_ctrl_c_keeps_what_is_finished_and_resume_goes_on(three: hg.Problem, tmp_path: Path) -> None:
    Interrupted.made = 0
    call = partial(simulate, three, {"even": Interrupted}, budget=6.0, rounds=30, runs=5, chunk=1)
    with pytest.raises(KeyboardInterrupt):
        call(out=tmp_path)
    assert len(list((tmp_path / "units").glob("*.npz"))) == 2
    assert not (tmp_path / "result.parquet").exists()
    Interrupted.made = 10
    result = call(out=tmp_path, resume=True)
    assert Interrupted.made == 10 + 1 + 3  # the check, and the three runs that were missing
    assert same(result, call())
    assert same(result, Result.from_parquet(tmp_path / "result.parquet"))


def test_a_torn_file_is_played_again(three: hg.Problem, tmp_path: Path) -> None:
    call = partial(simulate, three, {"thompson": Thompson}, budget=6.0, rounds=30, runs=3, chunk=1, out=tmp_path)
    first = call()
    damaged = tmp_path / "units" / "000001.npz"
    damaged.write_bytes(damaged.read_bytes()[:100])
    (tmp_path / "units" / "000002.npz").unlink()
    assert same(first, call(resume=True))


def test_what_is_there_is_never_overwritten(three: hg.Problem, tmp_path: Path) -> None:
    call = partial(simulate, three, {"even": Uniform}, budget=6.0, rounds=30, out=tmp_path)
    call()
    with pytest.raises(InputError, match="holds a simulation already"):
        call()
    with pytest.raises(InputError, match="another budget"):
        call(budget=7.0, resume=True)
    with pytest.raises(InputError, match="another seed"):
        call(seed=1, resume=True)
    assert same(call(resume=True), simulate(three, {"even": Uniform}, budget=6.0, rounds=30))


def test_the_table_is_tidy_and_the_json_complete(three: hg.Problem, tmp_path: Path) -> None:
    lineup: dict[str, Any] = {"even": Uniform, "thompson": (Thompson, {"calm": 5.0})}
    result = simulate(three, lineup, budget=6.0, rounds=50, runs=2, seed=4, checkpoints=[5, 50])
    path = result.to_parquet(tmp_path / "some.parquet")
    table = extra("pyarrow.parquet").read_table(path)
    assert table.column_names == ["policy", "run", "round", *MEASURES]
    assert table.num_rows == 2 * 2 * 2
    rows = table.to_pylist()
    for row in rows:
        place = row["run"], [5, 50].index(row["round"])
        for name in MEASURES:
            assert row[name] == getattr(result, name)[row["policy"]][place]
    data = json.loads((tmp_path / "some.json").read_text())
    assert data["seed"] == 4
    assert data["versions"]["headgate"] == hg.__version__
    assert {"python", "numpy", "scipy", "numba"} <= set(data["versions"])
    assert data["configuration"]["policies"]["thompson"]["options"] == {"calm": "5.0"}
    assert data["configuration"]["law"] == {"name": "weibull", "shape": 0.8}
    again = Result.from_parquet(path)
    assert same(result, again)
    assert again.metadata() == data


def test_the_summary_is_students_t(three: hg.Problem) -> None:
    result = simulate(three, {"thompson": Thompson}, budget=6.0, rounds=50, runs=6)
    (summary,) = result.summary(0.9)
    final = result.regret["thompson"][:, -1]
    half = 2.015048373 * final.std(ddof=1) / np.sqrt(6)  # t of 5 degrees of freedom, 95%
    np.testing.assert_allclose([summary.low, summary.high], [final.mean() - half, final.mean() + half], rtol=1e-8)
    assert summary.share == pytest.approx(1.0 - final.mean() / (50 * three.solve(6.0).value))
    (alone,) = simulate(three, {"even": Uniform}, budget=6.0, rounds=5).summary()
    assert np.isnan(alone.low)
    assert alone.regret >= 0.0
