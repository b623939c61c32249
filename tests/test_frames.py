"""Results as people see them: short texts, data frames, tables in notebooks, figures."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headgate as hg
from headgate import frames
from headgate.errors import InputError, UnsupportedError

ARMS = ["north", "<b>", "east"]
WORLD = hg.Problem(hg.Weibull(1.6), [0.9, 0.6, 0.3], [0.2, 0.5, 0.1], arms=ARMS, units="s")
ROWS = pd.DataFrame(
    [(ARMS[i % 3], 9.0, i % 3 < 2, 1.0 + (7 * i) % 5 if i % 3 < 2 else None) for i in range(90)],
    columns=["arm", "given", "ok", "needed"],
)


def _results() -> dict[str, Any]:
    policy = hg.Thompson(WORLD.law, arms=ARMS, max_budget=30.0)
    policy.observe([9.0, 9.0, 9.0], {"north": 2.0, "<b>": None, "east": True})
    log = hg.read_log(ROWS, arm="arm", success="ok", threshold="needed", allocation="given", units="s")
    return {
        "allocation": WORLD.solve(12.0),
        "frontier": WORLD.frontier([6.0, 12.0]),
        "plan": WORLD.plan([5.0, 9.0]),
        "estimate": policy.estimate(),
        "result": hg.simulate(WORLD, {"uniform": hg.Uniform}, budget=12.0, rounds=5, runs=2),
        "log": log,
        "calibration": hg.calibrate(log, law="weibull", bootstrap=0),
        "rounds": hg.Rounds([[1.0, 9.0, np.nan], [2.0, np.inf, 3.0]], names=ARMS),
    }


@pytest.fixture(scope="module", name="results")
def _made() -> dict[str, Any]:
    return _results()


SIZES = {
    "allocation": 3, "frontier": 6, "plan": 2, "estimate": 3, "result": 10, "log": 3, "calibration": 3, "rounds": 6,
}  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
def test_every_result_is_short_and_a_table_and_a_figure(results: dict[str, Any], name: str, tmp_path: Path) -> None:
    result = results[name]
    text = repr(result)
    assert len(text) < 400
    assert len(text.splitlines()) <= 5
    table = result.to_frame()
    assert isinstance(table, pd.DataFrame)
    assert (len(table), list(table)) == (SIZES[name], list(result.columns()))
    if name != "result":
        assert set(table["arm"]) <= set(ARMS)
    shown = result._repr_html_()
    assert "<b>" not in shown.replace("&lt;b&gt;", "")
    assert shown.count("<tr>") <= 13
    path = result.plot(tmp_path / "figure.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert result.plot()._repr_png_().startswith(b"\x89PNG")


def test_the_numbers_are_the_results_own(results: dict[str, Any]) -> None:
    best, frontier, estimate = results["allocation"], results["frontier"], results["estimate"]
    table = best.to_frame().set_index("arm")
    assert table.loc["north", "allocation"] == best.x["north"]
    assert table.loc["north", "share"] == best.x["north"] / 12.0
    last = frontier.to_frame().query("row == 1 and arm == 'north'").iloc[0]
    assert (last["budget"], last["value"], last["allocation"]) == (12.0, best.value, best.x["north"])
    first = estimate.to_frame().iloc[0]
    assert (first["rate"], first["rate_low"], first["rate_high"]) == (estimate.rate[0], *estimate.rate_interval[0])
    plan = results["plan"]
    assert plan.to_frame()["arm"].tolist() == [ARMS[arm] for arm in plan.order]
    log = results["log"].to_frame().set_index("arm")
    needed = ROWS[ROWS["arm"] == "north"]["needed"]
    seen = tuple(log.loc["north", ["rows", "successes", "share", "mean_threshold"]])
    assert seen == pytest.approx((30, 30, 1.0, needed.mean()))
    assert log.loc["east", "successes"] == 0
    rounds = results["rounds"].to_frame()
    assert rounds["success"].tolist() == [True, True, False, True, False, True]
    fitted = results["calibration"].to_frame().set_index("arm")
    gain = results["calibration"].gains[-1]
    assert fitted.loc["<b>", f"best_{gain.budget:g}"] == gain.best.x[results["log"].names.index("<b>")]


def test_texts_say_what_matters(results: dict[str, Any]) -> None:
    assert "gap=" in repr(results["allocation"])
    assert "north: " in repr(results["allocation"])
    assert "budget=6..12" in repr(results["frontier"])
    assert repr(results["log"]) == "Log(3 arms, 90 rows used, censored, 66.7% successes, up to 9 s)"
    assert repr(results["calibration"]).startswith("Calibration(3 arms, 90 rows; laws: weibull 2, exponential 1)")
    many = hg.Problem(hg.Exponential(), np.full(500, 0.5), 1.0)
    assert len(repr(many.solve(9.0))) < 200
    assert len(repr(hg.Thompson(hg.Exponential(), 500, 9.0).estimate())) < 200
    assert len(repr(hg.Thompson(hg.Exponential(), 500, 9.0).evidence)) < 100


def test_a_batch_has_rows_but_no_figure() -> None:
    batch = hg.Problem(hg.Exponential(), [[0.5, 0.9], [0.4, 0.8]], 1.0).solve(3.0)
    assert batch.to_frame()["row"].tolist() == [0, 0, 1, 1]
    with pytest.raises(UnsupportedError, match=r"batch of shape \(2,\)"):
        batch.plot()
    estimate = hg.Thompson(hg.Exponential(), 2, 9.0, seed=[1, 2]).estimate()
    assert (len(estimate.to_frame()), "batch=(2,)" in repr(estimate)) == (4, True)
    with pytest.raises(UnsupportedError, match="one learner"):
        estimate.plot()


def test_a_frame_of_the_library_that_is_there(results: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="pandas, polars, got 'numpy'"):
        results["allocation"].to_frame("numpy")
    polars = ModuleType("polars")
    polars.DataFrame = dict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "polars", polars)
    monkeypatch.setattr(frames, "find_spec", lambda name: name == "polars" or None)
    assert results["plan"].to_frame()["place"] == [0, 1]
    monkeypatch.setattr(frames, "find_spec", lambda _: None)
    with pytest.raises(UnsupportedError, match="pandas or polars: pip install pandas"):
        results["plan"].to_frame()
    with pytest.raises(UnsupportedError, match="pip install polars"):
        results["plan"].to_frame("polars")
