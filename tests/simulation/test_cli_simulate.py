"""`headgate simulate` prints the library's numbers, for people and for machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import headgate as hg
from headgate.cli.app import app
from headgate.errors import HeadgateError
from headgate.policies import RAUCB, Uniform
from headgate.simulation import Result, simulate

from .references import same

runner = CliRunner()
LINEUP = ("--policy", "ra-ucb:scale=1e-6", "--policy", "uniform")


@pytest.fixture
def problem_path(three: hg.Problem, tmp_path: Path) -> Path:
    path = tmp_path / "problem.toml"
    three.to_toml(path)
    return path


def output(*arguments: str | Path) -> str:
    common = ["--budget", "6", "--rounds", "80", "--runs", "3", "--workers", "1"]
    result = runner.invoke(app, ["simulate", *map(str, arguments), *common], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


@pytest.fixture
def expected(three: hg.Problem) -> Result:
    lineup: dict[str, Any] = {"ra-ucb:scale=1e-6": (RAUCB, {"scale": 1e-6}), "uniform": Uniform}
    return simulate(three, lineup, budget=6.0, rounds=80, runs=3, seed=2)


def test_the_table_shows_regret_interval_and_share(problem_path: Path, expected: Result) -> None:
    text = output(problem_path, *LINEUP, "--seed", "2")
    for summary in expected.summary(0.9):
        for words in (summary.policy, f"{summary.regret:,.1f}", f"{summary.low:,.1f} to {summary.high:,.1f}"):
            assert words in text
        assert f"{summary.share:.2%}" in text
    assert "90% interval" in text
    assert "80 rounds, mean of 3 runs" in text


def test_json_has_every_digit(problem_path: Path, expected: Result) -> None:
    data = json.loads(output(problem_path, *LINEUP, "--seed", "2", "--json"))
    assert [row["regret"] for row in data["summary"]] == [s.regret for s in expected.summary()]
    assert data["configuration"] == expected.configuration


@pytest.mark.parametrize("whole", [False, True])
def test_the_law_may_be_learned(three: hg.Problem, tmp_path: Path, *, whole: bool) -> None:
    """`--law auto` is for those that learn it; whole thresholds have laws of whole units."""
    world = hg.Problem(hg.DiscreteWeibull(1.2), three.activation, three.rate) if whole else three
    world.to_toml(tmp_path / "world.toml")
    lineup = ("--policy", "thompson", "--policy", "uniform", "--policy", "thompson:law=auto")
    data = json.loads(output(tmp_path / "world.toml", *lineup, "--law", "auto", "--json"))
    law = hg.laws.automatic(whole=whole)
    same_law = simulate(world, {"thompson": (hg.Thompson, {"law": law})}, budget=6.0, rounds=80, runs=3)
    regrets = {row["policy"]: row["regret"] for row in data["summary"]}
    assert regrets["thompson"] == regrets["thompson:law=auto"] == same_law.summary()[0].regret


def test_files_figure_and_resume(problem_path: Path, tmp_path: Path, expected: Result) -> None:
    out, plot = tmp_path / "out", tmp_path / "regret.png"
    text = output(problem_path, *LINEUP, "--seed", "2", "--out", out, "--plot", plot)
    assert f"result: {out / 'result.parquet'}" in text.replace("\n", "") or "result.parquet" in text
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert same(Result.from_parquet(out / "result.parquet"), expected)
    output(problem_path, *LINEUP, "--seed", "2", "--out", out, "--resume")


def test_hidden_budgets(problem_path: Path) -> None:
    text = output(problem_path, "--policy", "mg-ucb:scale=1e-6", "--policy", "thompson:law=exponential", "--hidden")
    assert "mg-ucb:scale=1e-6" in text
    assert "thompson:law=exponential" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--policy", "ucb"), "unknown policy 'ucb': it must be one of thompson"),
        (("--policy", "thompson:calm"), "OPTION=VALUE, got 'calm'"),
        (("--policy", "thompson:warm=1"), "does not take warm"),
        (("--policy", "thompson:law=cauchy"), "unknown law 'cauchy'"),
        (("--resume",), "--resume needs --out"),
        (("--plot", "x.gif"), "must end in"),
    ],
)
def test_bad_arguments_say_what_is_wrong(problem_path: Path, arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(HeadgateError, match=words):
        output(problem_path, *arguments)
