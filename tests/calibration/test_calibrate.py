"""The whole calibration: a problem that solves, a page that stands alone, and the same numbers every time."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import headgate as hg
from headgate.calibration.calibration import Calibration, calibrate
from headgate.calibration.fitting.cautions import Caution, grouped
from headgate.calibration.records import Records
from headgate.calibration.report.advice import warning_lines
from headgate.calibration.report.chart import draw_chart
from headgate.calibration.report.curves import curves_of
from headgate.errors import InputError, ParameterError
from headgate.figures import interactive

from .logs import censored, log_of, observed

NAMES = ("<script>alert(1)</script>", "a & b", "$x^2$", 'quote"')
LAWS = [hg.Weibull(1.7), hg.LogNormal(0.6), hg.Gamma(3.0), hg.LogLogistic(2.5)]


@pytest.fixture(scope="module")
def found() -> Calibration:
    problem = hg.Problem(LAWS, [0.8, 0.5, 0.6, 0.3], [0.05, 0.03, 0.1, 0.04])
    log = log_of(observed(problem, 3000, 1), "observed", names=NAMES)
    return calibrate(log, budgets=[60.0, 120.0], bootstrap=30)


@pytest.fixture(scope="module")
def folder(found: Calibration, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("calibration") / "deep" / "out"
    assert found.write(place) == place / "calibration.html"
    return place


def test_each_arm_has_its_own_law(found: Calibration) -> None:
    assert [fit.law.name for fit in found.arms] == [law.name for law in LAWS]
    np.testing.assert_allclose(found.problem.rate, [0.05, 0.03, 0.1, 0.04], rtol=0.15)


def test_the_problem_file_is_read_by_solve(found: Calibration, folder: Path) -> None:
    problem = hg.load_problem(folder / "problem.toml")
    assert problem == found.problem
    assert problem.names == NAMES
    assert problem.solve(60.0).value == pytest.approx(found.gains[0].best.model)
    assert problem.provenance["likelihood"].startswith("law fitted to the thresholds of all rows")
    assert problem.provenance["dropped"] == {"no threshold": 3}
    assert len(problem.provenance["fits"]) == 4


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.sources: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.sources += [value or "" for key, value in attrs if key in {"src", "href"}]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_stands_alone_and_escapes_everything(folder: Path) -> None:
    page = _Page()
    page.feed((folder / "calibration.html").read_text(encoding="utf-8"))
    assert page.tags.count("script") == 3  # the chart's data, plotly, and what draws it: none of the names
    assert all(source.startswith(("data:image/png;base64,", "#")) for source in page.sources)
    assert page.tags.count("img") == 2 + len(NAMES)
    for words in (*NAMES, "What you would gain", "3 dropped", "no threshold", "Kaplan and Meier", "weibull"):
        assert words in page.text
    assert "<title>made up</title>" in (folder / "calibration.html").read_text(encoding="utf-8")


def test_the_chart_has_every_arm_with_band_dots_and_the_best_of_each_budget(found: Calibration) -> None:
    curves = curves_of(found)
    assert [arm.name for arm in curves.arms] == [NAMES[i] for i in np.argsort(-found.problem.activation)]
    drawn = draw_chart(found, curves)
    assert "<" not in drawn.data
    data = json.loads(drawn.data)
    assert len(data["traces"]) == 4 * len(NAMES)
    assert "<script>" not in json.dumps(data)
    line, band, dots, mark = data["traces"][:4]
    arm = curves.arms[0]
    np.testing.assert_allclose(line["y"], arm.model, rtol=1e-5)
    assert min(band["y"]) >= 0.0
    assert len(dots["error_y"]["array"]) == len(dots["x"])
    assert mark["x"] == pytest.approx([found.gains[-1].best.x[arm.arm]], rel=1e-5)
    buttons = data["layout"]["updatemenus"][0]["buttons"]
    assert [button["label"] for button in buttons] == ["best of 60 s", "best of 120 s"]
    moved, which = buttons[0]["args"]
    assert [data["traces"][i]["name"].endswith(", best") for i in which] == [True] * 4
    assert moved["x"][0] == pytest.approx([found.gains[0].best.x[arm.arm]], rel=1e-5)


def test_bands_hold_the_truth(found: Calibration) -> None:
    """Pointwise 90% of 30 resamples at 160 amounts of four arms: most of them hold it."""
    truth = hg.Problem(LAWS, [0.8, 0.5, 0.6, 0.3], [0.05, 0.03, 0.1, 0.04])
    curves = curves_of(found)
    right = truth.success_probability(np.repeat(curves.x[:, None], 4, axis=1))
    held, counted = [], []
    for arm in curves.arms:
        assert arm.low is not None
        assert arm.high is not None
        held.append(np.mean((arm.low <= right[:, arm.arm] + 1e-9) & (right[:, arm.arm] <= arm.high + 1e-9)))
        at = np.interp(arm.dots, curves.x, right[:, arm.arm])
        counted.append(np.mean((arm.share_low <= at + 2e-3) & (at <= arm.share_high + 2e-3)))
        assert np.all(arm.share_low <= arm.share)
        assert np.all(arm.share <= arm.share_high)
    assert np.mean(held) > 0.5
    assert np.mean(counted) > 0.5


@pytest.mark.usefixtures("unrendered")
def test_without_plotly_the_page_has_pictures_only(
    found: Calibration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interactive, "find_spec", lambda _: None)
    page = found.write(tmp_path).read_text(encoding="utf-8")
    assert "<script" not in page
    assert page.count("data:image/png") == 2 + len(NAMES)


def test_warnings_of_many_arms_are_one_line(found: Calibration) -> None:
    fits = [
        replace(found.arms[0], name=f"q{i}", cautions=(Caution(f"only {i}", "few"), *([Caution("a", "b")] * (i == 3))))
        for i in range(6)
    ]
    assert grouped(fits) == [(tuple(f"q{i}" for i in range(6)), "few"), (("q3",), "a")]
    lines = warning_lines(replace(found, arms=(*fits, replace(fits[0], name="calm", cautions=()))))
    assert lines == [("6 of 7 arms", "few (q0, q1, q2, q3 and 2 more)"), ("q3", "a")]
    assert warning_lines(replace(found, arms=tuple(fits)))[0] == ("all arms", "few")


def test_figures_and_data_are_written(found: Calibration, folder: Path) -> None:
    written = sorted(path.name for path in (folder / "figures").iterdir())
    assert written == [
        "arm-000-script-alert-1-script.png", "arm-001-a-b.png", "arm-002-x-2.png", "arm-003-quote.png",
        "gains.png", "overview.png",
    ]  # fmt: skip
    for name in written:
        assert (folder / "figures" / name).read_bytes().startswith(b"\x89PNG")
    data = json.loads((folder / "calibration.json").read_text(encoding="utf-8"))
    assert data == json.loads(json.dumps(found.to_dict()))
    assert [arm["name"] for arm in data["arms"]] == list(NAMES)
    assert data["gains"][0]["replay_gain"] == found.gains[0].replay_gain


def test_the_same_seed_gives_the_same_numbers() -> None:
    log = log_of(censored(hg.Weibull(1.5), 0.5, 0.1, 300, 0, arms=2), "censored")
    one, two, other = (calibrate(log, law="weibull", budgets=[20.0], bootstrap=20, seed=s) for s in (1, 1, 2))
    assert one.to_dict() == two.to_dict()
    assert one.to_dict() != other.to_dict()


def test_selection_leaves_a_smaller_problem() -> None:
    problem = hg.Problem([hg.Weibull(1.5), hg.LogNormal(1.0), hg.Weibull(1.9)], [0.5, 0.6, 0.7], [0.1] * 3)
    found = calibrate(log_of(observed(problem, 3000, 2), "observed"), law="weibull", select=2, bootstrap=0)
    assert found.problem.names == ("arm0", "arm2")
    assert found.left_out == ("arm1",)
    np.testing.assert_allclose(found.problem.activation, [0.5, 0.7], atol=0.04)
    assert found.gains[0].best.x.shape == (2,)


@pytest.mark.parametrize("whole", [False, True])
def test_every_kind_is_written(whole: bool, tmp_path: Path) -> None:
    law = hg.DiscreteWeibull(1.2) if whole else hg.LogNormal(2.5)
    log = log_of(censored(law, 0.5, 0.1, 400, 3, arms=3), "censored", whole=whole, units=None)
    success = log.rows.success & (log.rows.arm != 2)  # an arm that never succeeds
    object.__setattr__(log.rows, "success", success)
    found = calibrate(log, bootstrap=10)
    page = found.write(tmp_path)
    assert "no success in 400 rows" in page.read_text(encoding="utf-8")
    assert hg.load_problem(tmp_path / "problem.toml").activation[2] == 0.0


@pytest.mark.usefixtures("unrendered")
def test_the_problem_says_how_it_came_about(tmp_path: Path) -> None:
    log = log_of(censored(hg.Weibull(1.5), 0.5, 0.1, 400, 0, arms=3), "censored")
    how = {"columns": {"arm": "item"}, "where": {"year": "2020"}, "limit": 90.0}
    log = replace(log, reading=replace(log.reading, how=how), rows=replace(log.rows, resolution=2.0**-7))
    found = calibrate(log, law="weibull", select=2, level=0.8, bootstrap=0)
    found.write(tmp_path)
    told = hg.load_problem(tmp_path / "problem.toml").provenance
    assert told["headgate"] == hg.__version__
    assert told["reading"] == how
    assert told["level"] == 0.8
    assert told["left_out"] == list(found.left_out)
    assert told["rounded_to"] == 2.0**-7
    for fit, entry in zip(found.arms, told["fits"], strict=True):
        assert entry["rate_interval"] == pytest.approx(fit.rate_interval, rel=1e-5)
        assert fit.shape_interval is not None
        assert entry["shape_interval"] == pytest.approx(fit.shape_interval, rel=1e-5)


@pytest.mark.usefixtures("unrendered")
def test_figures_of_a_run_before_are_gone(tmp_path: Path) -> None:
    log = log_of(censored(hg.Weibull(1.5), 0.5, 0.1, 100, 0, arms=2), "censored", names=("old", "new"))
    calibrate(log, law="weibull", bootstrap=0).write(tmp_path)
    (tmp_path / "figures" / "arm-of-mine.png").write_bytes(b"")
    page = calibrate(log, law="weibull", select=1, by="rows", bootstrap=0).write(tmp_path)
    written = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert written == ["arm-000-old.png", "arm-of-mine.png", "gains.png", "overview.png"]
    assert "Rows are taken as independent" in page.read_text(encoding="utf-8")


@pytest.mark.usefixtures("unrendered")
def test_a_log_with_rounds_says_that_these_are_resampled(tmp_path: Path) -> None:
    log = log_of(censored(hg.Weibull(1.5), 0.5, 0.1, 100, 0, arms=2), "censored")
    rows = log.rows
    records = Records(rows.arm, rows.allocation, rows.success, rows.threshold, np.tile(np.arange(100).astype(str), 2))
    page = calibrate(replace(log, records=records), law="weibull", bootstrap=5).write(tmp_path)
    assert "5 resamples of the\nrounds" in page.read_text(encoding="utf-8")


def test_thresholds_of_0_are_counted() -> None:
    rows = censored(hg.Weibull(1.5), 0.8, 0.1, 300, 0)
    first = np.flatnonzero(rows.success)[:7]
    threshold = rows.threshold.copy()
    threshold[first] = 0.0
    found = calibrate(log_of(replace(rows, threshold=threshold), "censored"), law="weibull", bootstrap=0)
    assert any(text.startswith("7 thresholds are 0") for text in found.arms[0].warnings)
    none = replace(rows, threshold=np.where(rows.success, 0.0, np.nan))
    with pytest.raises(InputError, match="every threshold is 0"):
        calibrate(log_of(none, "censored"), law="weibull", bootstrap=0)


def test_options_are_checked() -> None:
    log = log_of(censored(hg.Exponential(), 0.5, 0.1, 50, 0), "censored")
    for options, words in (
        ({"level": 1.0}, "level must be within"),
        ({"bootstrap": -1}, "bootstrap must be a whole number"),
        ({"times": "some"}, "times must be one of"),
        ({"law": "gauss"}, "unknown law 'gauss': it must be one of"),
        ({"select": 2}, "select must be a whole number within 1 and 1"),
    ):
        with pytest.raises(ParameterError, match=words):
            calibrate(log, **options)
