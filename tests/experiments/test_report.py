"""The page and the claims on it: self-contained, escaped, computed, the same every time."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from headgate import experiments
from headgate.experiments.report import estimation, quiz, structure
from headgate.experiments.report.claim import Verdict


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
    assert not re.search(r"https?://|<script|@import|url\(", html)
    assert html.count("data:image/png") == sum(
        experiment.draw is not None for experiment in experiments.EXPERIMENTS.values()
    )


def test_the_page_has_regrets_with_intervals_configuration_and_versions(everything: Path) -> None:
    html = (everything / "index.html").read_text(encoding="utf-8")
    assert "90% interval" in html
    assert "numpy" in html
    assert "not Criteo&#x27;s data" in html
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
    for where in ("Theorem 1", "Lemma (Oracle Monotonicity)", "Lemma (greedy in steps)", "Lemma (RA-UCB = MG-UCB)"):
        assert claims[where] == Verdict.HOLDS.value
    for where in ("Lemmas on μ̂ and λ̂", "Lemma on p̂", "Theorem (√T)"):
        assert claims[where] == Verdict.ONLY.value
    assert claims["Oracle for EdNet"] == Verdict.FAILS.value


def test_claims_are_the_same_every_time(everything: Path, tmp_path: Path) -> None:
    names = ["theory", "unknown-budget"]
    experiments.reproduce(names, tmp_path, quick=True, workers=2)
    again = {c["where"]: c["found"] for c in json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))}
    before = {c["where"]: c["found"] for c in json.loads((everything / "claims.json").read_text(encoding="utf-8"))}
    for where in ("Figure Theory", "Unknown budgets", "Lemma (discretisation loss)", "Theorem (T^(4/5))"):
        assert again[where] == before[where]
    assert again["Figure RA-ETC"] == "Run headgate reproduce ra-etc."
    assert again["Lemmas on μ̂ and λ̂"] == "Run headgate reproduce lemmas."


def test_a_figure_does_its_own_work_only(tiny: None, tmp_path: Path) -> None:
    """Nothing else is run, and every verdict that is given is the figure's."""
    experiments.reproduce(["criteo-fit"], tmp_path, quick=True)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["criteo-fit"]
    claims = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    assert {claim["verdict"] for claim in claims} == {Verdict.OPEN.value}


def test_the_lemmas_alone_give_their_verdicts(tiny: None, tmp_path: Path) -> None:
    """Each check is found by the claims that are about it, without any figure."""
    experiments.reproduce(["lemmas"], tmp_path, quick=True)
    claims = {c["where"]: c["verdict"] for c in json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))}
    figures = [where for where in claims if where.startswith("Figure ")]
    needs_figure = {*figures, "Unknown budgets", "Theorem (T^(4/5))", "Lemma (discretisation loss)"}
    assert {where for where, verdict in claims.items() if verdict == Verdict.OPEN.value} == needs_figure


def test_the_estimator_s_bias_is_the_known_one() -> None:
    found = estimation.bias()
    assert found["found_rate"] == pytest.approx(0.202, abs=0.002)  # PAPER_NOTES, by simulation
    assert found["found_activation"] == pytest.approx(0.428, abs=0.002)


def test_water_filling_is_not_optimal_for_the_quiz() -> None:
    optimum = {694.86: 5.979945, 400.0: 3.841750, 200.0: 2.114214}
    for row in quiz.water_filling()["rows"]:
        assert row["optimum"] == pytest.approx(optimum[row["budget"]], abs=1e-6)
        assert row["by_marginal"] < row["equal_marginals"] < row["optimum"]


def test_the_log_normal_law_alone_is_not_boosted_monotonically() -> None:
    broken = [name for name, row in structure.boosting_monotonicity().items() if row["share"] > 0.0]
    assert broken == ["log-normal 1"]
