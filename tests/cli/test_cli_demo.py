"""`headgate demo` solves the quiz, lets policies race, and leaves a page and a problem file."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from typer.testing import CliRunner

import headgate as hg
from headgate.cli.app import app
from tests.unrendered import unrendered


@pytest.mark.long
def test_the_demo_shows_the_gain_and_the_races_and_prints_the_page_last(tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    for again in (False, True):  # the second run shows what the first one found
        with unrendered() if again else nullcontext():
            result = CliRunner().invoke(app, ["demo", "--quick", "--out", str(out)], catch_exceptions=False)
        assert result.exit_code == 0
        for words in ("694.86 s", "6.52163", "+14.4%", "4.18353", "+62.8%", "2.29914", "+204.9%", "5 of 20"):
            assert words in result.output
        assert result.output.count("even split") >= 3
        assert result.output.splitlines()[-1] == str(out / "index.html")
    page = (out / "index.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 4
    for words in (
        "Played live",
        "live, learned",
        "live gains",
        "Calls to customers",
        "40 calls",
        "Beside the even split",
    ):
        assert words in " ".join(page.split())
        assert words.lower() in " ".join(result.output.lower().split())
    assert "http" not in page
    assert hg.load_problem(out / "quiz.toml") == hg.datasets.ednet_quiz()
