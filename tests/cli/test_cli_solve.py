"""`headgate solve` prints the same numbers as the library, for people and for machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import headgate as hg
from headgate.cli.app import app

runner = CliRunner()


@pytest.fixture
def problem_path(tmp_path: Path) -> Path:
    path = tmp_path / "problem.toml"
    hg.Problem(hg.Weibull(1.6), [0.9, 0.6, 0.3], [0.2, 0.5, 0.1], ["web", "tv", "[bold]x=1"], units="euros").to_toml(
        path
    )
    return path


def output(*arguments: str | Path) -> str:
    result = runner.invoke(app, ["solve", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_the_table_shows_every_arm_and_the_certificate(problem_path: Path) -> None:
    text = output(problem_path, "--budget", "12")
    best = hg.load_problem(problem_path).solve(12.0)
    for words in ("arm", "allocation (euros)", "success probability", "marginal", "web", "tv", "[bold]x=1"):
        assert words in text
    for number in (f"{best.x[0]:.4f}", f"{best.x[1]:.4f}", f"{best.value:.9g}", f"{best.price:.9g}"):
        assert number in text
    for line in ("value ", "bound ", "gap ", "price ", "allocated  12 of 12 (euros)"):
        assert line in text


@pytest.mark.parametrize("reward", ["sum", "cascade"])
def test_json_has_every_digit(problem_path: Path, reward: str) -> None:
    data = json.loads(output(problem_path, "-b", "12", "--reward", reward, "--json"))
    problem = hg.load_problem(problem_path)
    best = problem.solve(12.0, reward=reward)  # type: ignore[arg-type]
    assert [arm["name"] for arm in data["arms"]] == list(problem.names)
    assert [arm["allocation"] for arm in data["arms"]] == best.x.tolist()
    assert [arm["success_probability"] for arm in data["arms"]] == problem.success_probability(best.x).tolist()
    assert [arm["marginal"] for arm in data["arms"]] == problem.marginal(best.x, reward).tolist()  # type: ignore[arg-type]
    for key in ("value", "bound", "gap", "price", "nodes"):
        assert data[key] == getattr(best, key).item()
    assert (data["budget"], data["reward"], data["units"]) == (12.0, reward, "euros")


def test_limits_are_given_by_name(problem_path: Path) -> None:
    arguments = ["--budget", "12", "--lower", "[bold]x=1=2.5", "--upper", "web=4", "--upper", "tv=1e1", "--json"]
    data = json.loads(output(problem_path, *arguments))
    amounts = {arm["name"]: arm["allocation"] for arm in data["arms"]}
    assert amounts["[bold]x=1"] >= 2.5
    assert amounts["web"] == 4.0
    assert amounts["tv"] <= 10.0


def test_tol_and_max_nodes_reach_the_oracle(tmp_path: Path) -> None:
    path = tmp_path / "quiz.toml"
    hg.datasets.ednet_quiz().to_toml(path)
    few = json.loads(output(path, "-b", "200", "--max-nodes", "1", "--json"))
    many = json.loads(output(path, "-b", "200", "--json"))
    loose = json.loads(output(path, "-b", "200", "--tol", "0.5", "--json"))
    assert few["nodes"] == loose["nodes"] == 1
    assert few["gap"] > 1e-9 >= many["gap"]


def test_infinite_marginals_are_null_in_json_and_inf_in_the_table(tmp_path: Path) -> None:
    path = tmp_path / "steep.toml"
    hg.Problem(hg.Weibull(0.5), [0.9, 0.6], [0.2, 0.5]).to_toml(path)
    assert json.loads(output(path, "-b", "0", "--json"))["arms"][0]["marginal"] is None
    assert "inf" in output(path, "-b", "0")


def test_plot_writes_the_figure_and_says_where(problem_path: Path) -> None:
    figure = problem_path.with_name("out.png")
    text = output(problem_path, "-b", "12", "--plot", figure)
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert text.splitlines()[-1].startswith("figure ")
    assert json.loads(output(problem_path, "-b", "12", "--plot", figure, "--json"))["budget"] == 12.0


def test_assumptions_of_the_paper_are_told(problem_path: Path) -> None:
    text = output(problem_path, "--budget", "12", "--assumptions")
    assert "NO  G is concave on [0, B]" in text
    data = json.loads(output(problem_path, "--budget", "12", "--assumptions", "--json"))
    assert {a["name"]: a["holds"] for a in data["assumptions"]}["mu tells the rate"] is True
    assert "assumptions" not in json.loads(output(problem_path, "--budget", "12", "--json"))
