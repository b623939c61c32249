"""From a log to a learner that begins with what the log says: `evidence.json`, a policy, the service's import."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import headgate as hg
from headgate.calibration.reading import Columns
from headgate.cli.app import app
from headgate.client import ConflictError, InvalidRequestError
from headgate.errors import InputError, ShapeError, UnsupportedError
from headgate.service.bodies import EvidenceBody
from headgate.service.engine.changes import evidence_of_body
from headgate.service.settings import Settings
from tests.service.harness import running
from tests.unrendered import unrendered

TRUTH = hg.Problem(hg.Weibull([1.6, 1.2, 2.0]), [0.8, 0.5, 0.6], [0.05, 0.03, 0.1], ["web", "tv", "radio"])
NAMES = ("radio", "tv", "web")  # a log's arms are in the order of their names
COLUMNS = Columns(arm="channel", success="worked", threshold="took", allocation="given")
LIMIT = 100.0


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("logs") / "log.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["channel", "given", "worked", "took"])
        for _ in range(120):
            x = rng.uniform(0.0, 80.0, 3).round(1)
            feedback = TRUTH.play(x, rng)
            for name, given, won, took in zip(TRUTH.names, x, feedback.success, feedback.threshold, strict=True):
                rows.writerow([name, given, int(won), took if won else ""])
    return path


@pytest.fixture(scope="module")
def limited(table: Path) -> hg.Log:
    return hg.read_log(table, COLUMNS, max_budget=LIMIT)


@pytest.fixture(scope="module")
def folder(limited: hg.Log, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a calibration of the log leaves."""
    return written(limited, tmp_path_factory.mktemp("calibration"))


def written(log: hg.Log, folder: Path) -> Path:
    with unrendered():
        hg.calibrate(log, law="weibull", budgets=[60.0], bootstrap=0).write(folder)
    return folder


def evidence_of(table: Path, max_budget: float | None) -> hg.Evidence:
    """What the library makes of the rows themselves."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    won = [row["worked"] == "1" for row in rows]
    return hg.Evidence.of_rows(
        [NAMES.index(row["channel"]) for row in rows], [float(row["given"]) for row in rows], won,
        [float(row["took"]) if ok else np.nan for row, ok in zip(rows, won, strict=True)], max_budget=max_budget,
    )  # fmt: skip


@pytest.mark.parametrize("max_budget", [None, LIMIT])
def test_a_log_is_where_a_policy_begins(table: Path, folder: Path, tmp_path: Path, max_budget: float | None) -> None:
    place = folder if max_budget else written(hg.read_log(table, COLUMNS), tmp_path)
    problem = hg.load_problem(place / "problem.toml")
    assert problem.names == NAMES
    evidence = hg.Evidence.from_dict(json.loads((place / "evidence.json").read_text("utf-8")), problem.names)
    expected = evidence_of(table, max_budget)
    policy = hg.Thompson(problem.law, problem.arms, evidence.max_budget)
    policy.warm_start(evidence)
    assert policy.evidence.max_budget == expected.max_budget
    np.testing.assert_array_equal(policy.evidence.bins, expected.bins)
    # It allocates as one that has seen every row itself, and what it learns from now on is its own.
    taught = hg.Thompson(problem.law, problem.arms, evidence.max_budget)
    taught.evidence.bins[...] = expected.bins
    x = policy.allocate(60.0)
    np.testing.assert_array_equal(x, taught.allocate(60.0))
    assert not np.array_equal(x, hg.Thompson(problem.law, problem.arms, evidence.max_budget).allocate(60.0))
    policy.observe(x, problem.play(x, np.random.default_rng(1)))
    np.testing.assert_array_equal(evidence.bins, expected.bins)


def test_the_command_writes_what_the_service_imports(table: Path, tmp_path: Path) -> None:
    asked = [
        "calibrate", str(table), "--arm", "channel", "--success", "worked", "--threshold", "took", "--allocation",
        "given", "--max-budget", str(LIMIT), "--law", "weibull", "-b", "60", "--bootstrap", "0", "--out", str(tmp_path),
    ]  # fmt: skip
    with unrendered():
        said = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert said.exit_code == 0
    assert str(tmp_path / "evidence.json") in said.output
    body = EvidenceBody.model_validate_json((tmp_path / "evidence.json").read_text("utf-8"))
    found = evidence_of_body(body, list(TRUTH.names), LIMIT)  # an allocator with its arms in another order
    own = evidence_of(table, LIMIT).bins
    np.testing.assert_array_equal(found.bins, own[[NAMES.index(name) for name in TRUTH.names]])


@pytest.mark.parametrize("kind", ["files", "objects"])
def test_an_allocator_begins_with_problem_and_evidence(
    limited: hg.Log, folder: Path, tmp_path: Path, kind: str
) -> None:
    """In one call; what it then knows is what the log says. Said again it changes nothing, otherwise it is refused."""
    files = {"problem": folder / "problem.toml", "evidence": folder / "evidence.json"}
    with (
        running(Settings(database=f"sqlite:///{tmp_path}/warm.db", keys=False)) as http,
        hg.Client(str(http.base_url)) as client,
    ):
        evidence: Any = files["evidence"] if kind == "files" else limited.evidence
        for _ in range(2):
            made = client.put_allocator("media", problem=files["problem"], evidence=evidence)
        assert [arm.name for arm in made.arms] == list(NAMES)
        assert made.spec["max_budget"] == LIMIT
        known = hg.Evidence.from_dict(client.export_evidence("media"), NAMES)
        np.testing.assert_array_equal(known.bins, limited.evidence.bins)
        other = hg.Evidence.of_rows([0], [1.0], [False], [np.nan], arms=3, max_budget=LIMIT)
        with pytest.raises(ConflictError, match="did not begin with this evidence"):
            client.put_allocator("media", problem=files["problem"], evidence=other)
        wrong = other.to_dict(["radio", "tv", "nobody"])
        with pytest.raises(InvalidRequestError) as refused:
            client.put_allocator("more", problem=files["problem"], evidence=wrong)
        assert refused.value.fields[0].field == "evidence.arms"
        assert [one.name for one in client.allocators()] == ["media"], "all of it, or none"
        wrongs: list[tuple[dict[str, Any], str]] = [
            ({"problem": tmp_path / "none.toml"}, "cannot be read"),
            ({"problem": files["problem"]}, "needs arms, law and max_budget"),
            ({"problem": files["problem"], "evidence": tmp_path / "none.json"}, "cannot be read"),
            ({"problem": files["problem"], "evidence": folder / "calibration.json"}, "no max_budget"),
        ]
        for options, words in wrongs:
            with pytest.raises(InputError, match=words):
                client.put_allocator("more", **options)


def test_what_does_not_fit_is_refused(table: Path) -> None:
    with pytest.raises(InputError, match=r"max_budget must be at least 79\.8"):
        hg.read_log(table, COLUMNS, max_budget=50.0)
    evidence = evidence_of(table, LIMIT)
    for arms, max_budget in ((2, LIMIT), (3, 90.0)):
        policy = hg.Thompson(hg.Weibull(1.5), arms, max_budget)
        with pytest.raises(ShapeError, match="evidence must be at max_budget"):
            policy.warm_start(evidence)
        assert not policy.evidence.bins.any()
    with pytest.raises(UnsupportedError, match="remembers more than evidence"):
        hg.CUCB(hg.Weibull(1.5), 3, LIMIT, rounds=100).warm_start(evidence)
