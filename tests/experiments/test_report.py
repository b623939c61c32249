"""The page and the claims on it: self-contained, escaped, computed, the same every time."""

from __future__ import annotations

import json
import re
import shutil
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from headgate import experiments
from headgate.experiments import curves
from headgate.experiments.base import Part
from headgate.experiments.lineup import THOMPSON, WIDER
from headgate.experiments.report import estimation, quiz, structure
from headgate.experiments.report.claim import _texts
from headgate.experiments.report.judge import Verdict
from headgate.experiments.report.page import _regrets, write_reproduction
from headgate.figures import interactive
from headgate.simulation import Result

pytestmark = pytest.mark.long  # they look at all experiments, run once, small


class Reader(HTMLParser):
    """Collects links, and checks that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for key, value in attrs if key in {"href", "src", "srcset", "action", "data"}]
        if tag not in {"meta", "img", "br", "hr", "link"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_self_contained_and_well_formed(everything: Path) -> None:
    html = (everything / "index.html").read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in reader.links)
    assert "<script src" not in html
    shown = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert not re.search(r"https?://|@import|url\(", shown)
    assert shown.count('src="data:image/png') == sum(
        experiment.draw is not None for experiment in experiments.EXPERIMENTS.values()
    )


def test_every_simulation_can_be_looked_at_with_both_kinds_of_axes(everything: Path) -> None:
    html = (everything / "index.html").read_text(encoding="utf-8")
    charts = re.findall(
        r'<div id="chart-([^"]*)"></div>\s*<script type="application/json">(.*?)</script>', html, re.DOTALL
    )
    assert {name for name, _ in charts} == {
        f"{name}-{key}"
        for name in experiments.EXPERIMENTS
        for key in json.loads((everything / name / "outcome.json").read_text())["results"]
        if not key.startswith("delta-")
    }
    result = Result.from_parquet(everything / "theory" / "regret" / "result.parquet")
    theory = json.loads(dict(charts)["theory-regret"])
    lines = {trace["name"]: trace for trace in theory["traces"] if "fill" not in trace}
    assert set(lines) > set(result.policies) - {WIDER}
    assert curves.LIMIT in lines
    assert lines[THOMPSON]["x"] == result.rounds.tolist()
    assert lines[THOMPSON]["y"] == pytest.approx(result.regret[THOMPSON].mean(axis=0), rel=1e-5)
    asked = [button["args"][0]["yaxis.type"] for button in theory["layout"]["updatemenus"][0]["buttons"]]
    assert asked == ["log", "linear"]


def test_without_plotly_the_page_has_pictures_only(
    everything: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interactive, "find_spec", lambda _: None)
    loaded = [Part.load(e, everything / name) for name, e in experiments.EXPERIMENTS.items()]
    page = write_reproduction(tmp_path, [part for part in loaded if part is not None]).read_text(encoding="utf-8")
    assert "<script" not in page
    assert "data:image/png" in page


def test_regrets_are_compared_in_pairs(everything: Path) -> None:
    result = Result.from_parquet(everything / "theory" / "regret" / "result.parquet")
    rows = _regrets(result)
    assert rows[0][4] == ""
    more = result.regret[rows[1][0]][:, -1] - result.regret[rows[0][0]][:, -1]
    assert rows[1][4].startswith(f"{more.mean():+,.1f} (")
    assert re.fullmatch(r"[+-][\d,.]+ \([+-][\d,.]+ to [+-][\d,.]+\)", rows[1][4])


def test_the_page_has_regrets_with_intervals_configuration_and_versions(everything: Path) -> None:
    html = (everything / "index.html").read_text(encoding="utf-8")
    assert "95% interval" in html
    assert "numpy" in html
    assert "not Criteo's data" in unescape(html)
    assert "rounds 60, runs 2" in html


def test_every_claim_has_a_verdict_and_a_number(everything: Path) -> None:
    claims = json.loads((everything / "claims.json").read_text(encoding="utf-8"))
    assert len(claims) >= 25
    verdicts = {verdict.value for verdict in Verdict}
    for claim in claims:
        assert claim["verdict"] in verdicts
        if claim["verdict"] != Verdict.OPEN.value:
            assert re.search(r"\d", claim["found"]), claim
        if claim["verdict"] == Verdict.ONLY.value:
            assert claim["found"].startswith("…"), claim


def test_verdicts_that_do_not_depend_on_the_horizon(everything: Path) -> None:
    claims = {c["where"]: c["verdict"] for c in json.loads((everything / "claims.json").read_text(encoding="utf-8"))}
    for where in ("Lemma (Oracle Monotonicity)", "Lemma (greedy in steps)", "Lemma (RA-UCB = MG-UCB)"):
        assert claims[where] == Verdict.HOLDS.value
    for where in ("Theorem 1", "Lemmas on μ̂ and λ̂", "Lemma on p̂"):
        assert claims[where] == Verdict.ONLY.value
    for where in ("Oracle for EdNet", "Theorem (√T)", "Theorem ((log T)²)", "Surrogate G̃"):
        assert claims[where] == Verdict.FAILS.value


def test_claims_are_the_same_every_time(everything: Path, tmp_path: Path) -> None:
    experiments.reproduce(["theory"], tmp_path, quick=True, workers=2)
    again = {c["where"]: c["found"] for c in json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))}
    before = {c["where"]: c["found"] for c in json.loads((everything / "claims.json").read_text(encoding="utf-8"))}
    for where in ("Figure Theory", "Theorem (T^(4/5))"):
        assert again[where] == before[where]
    assert again["Figure RA-ETC"] == "Run headgate reproduce ra-etc."
    assert again["Lemmas on μ̂ and λ̂"] == "Run headgate reproduce lemmas."


def test_a_figure_does_its_own_work_only(tiny: None, tmp_path: Path) -> None:
    """Nothing else is run, and every verdict that is given is the figure's."""
    experiments.reproduce(["criteo-fit"], tmp_path, quick=True)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["criteo-fit"]
    claims = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    assert [c["where"] for c in claims if c["verdict"] != Verdict.OPEN.value] == ["Criteo's clickers"]


def test_the_lemmas_alone_give_their_verdicts(everything: Path, tmp_path: Path) -> None:
    """Each check is found by the claims that are about it, without any figure."""
    shutil.copytree(everything / "lemmas", tmp_path / "lemmas")
    experiments.reproduce(["lemmas"], tmp_path, quick=True)  # finished before
    claims = {c["where"]: c["verdict"] for c in json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))}
    untested = {c["where"] for c in _texts()["claims"] if c["of"] == "nothing"}
    figures = [where for where in claims if where.startswith("Figure ")]
    needs_figure = {*figures, "Unknown budgets", "Theorem (T^(4/5))", "Lemma (discretisation loss)"}
    needs_figure |= {
        where for where in claims if where.startswith(("LR-UCB", "Outlook", "EdNet's", "Criteo's"))
    } | untested
    assert {where for where, verdict in claims.items() if verdict == Verdict.OPEN.value} == needs_figure


def test_the_estimator_s_bias_is_the_known_one() -> None:
    found = estimation.bias()
    assert found["found_rate"] == pytest.approx(0.202, abs=0.002)  # PAPER_NOTES, by simulation
    assert found["found_activation"] == pytest.approx(0.428, abs=0.002)


def test_water_filling_is_not_optimal_for_the_quiz() -> None:
    optimum = {694.86: 6.521631, 400.0: 4.183531, 200.0: 2.299144}
    for row in quiz.water_filling()["rows"]:
        assert row["optimum"] == pytest.approx(optimum[row["budget"]], abs=1e-6)
        assert row["by_marginal"] < row["equal_marginals"] < row["optimum"]


def test_the_log_normal_law_alone_is_not_boosted_monotonically() -> None:
    broken = [name for name, row in structure.boosting_monotonicity().items() if row["share"] > 0.0]
    assert broken == ["log-normal 1"]
