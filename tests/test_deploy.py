"""What is in deploy/: manifests by their schemas, queries against real metrics, and one answer to how it is run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from headgate.cli.app import app
from headgate.service.settings import Settings
from tests.service.harness import QUIZ, results, running

yaml: Any = pytest.importorskip("yaml")
DEPLOY = Path(__file__).parents[1] / "deploy"
_NAME = re.compile(r"\bheadgate_[a-z_]+\b")


def queries() -> list[str]:
    """Every expression of the dashboard and the alerts."""
    dashboard = json.loads((DEPLOY / "grafana.json").read_text())
    found = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    found += [v["query"] for v in dashboard["templating"]["list"] if v["type"] == "query"]
    rules = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())
    return found + [rule["expr"] for group in rules["groups"] for rule in group["rules"]]


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The metrics of a service that has decided, heard of it, and refused."""
    place = tmp_path_factory.mktemp("metrics") / "headgate.db"
    with running(Settings(database=f"sqlite:///{place}", keys=False)) as client:
        client.put("/v1/allocators/quiz", json=QUIZ)
        made = client.post("/v1/allocators/quiz/decisions", json={"budget": 20.0}).json()
        said = {"results": results(made["allocation"], {"q1"})}
        client.post(f"/v1/decisions/{made['decision_id']}/outcome", json=said)
        client.get("/v1/allocators", headers={"Host": "elsewhere"})
        client.put("/v1/allocators/compared", json=QUIZ | {"baseline": "even", "holdout": 0.5})
        many = client.post(
            "/v1/allocators/compared/decisions/batch", json={"decisions": [{"budget": 20.0}] * 100}
        ).json()
        made = [answer["decision"] for answer in many["answers"]]
        told = [{"decision_id": one["decision_id"], "results": results(one["allocation"], {"q1"})} for one in made]
        client.post("/v1/outcomes", json={"outcomes": told})
        return client.get("/metrics").text


def test_every_metric_that_is_asked_for_exists(metrics: str) -> None:
    there = {line.split("{")[0].split(" ")[0] for line in metrics.splitlines() if not line.startswith("#")}
    asked = {name for query in queries() for name in _NAME.findall(query)}
    assert len(asked) > 10
    assert asked - there == set()


def test_every_label_that_is_asked_for_exists(metrics: str) -> None:
    for query in queries():
        for name in _NAME.findall(query):
            lines = [line for line in metrics.splitlines() if line.startswith((f"{name}{{", f"{name} "))]
            labels = {label for line in lines for label in re.findall(r'([a-z]+)="', line)}
            used = set(re.findall(rf"{name}\{{([a-z]+)=", query))
            assert used <= labels, (name, query)
        for route in re.findall(r'route="([^"]*)"', query):
            assert f'route="{route}"' in metrics, route


def test_brackets_of_every_query_are_closed() -> None:
    for query in queries():
        bare = re.sub(r'"[^"]*"', "", query)
        for opened, closed in ("()", "[]", "{}"):
            assert bare.count(opened) == bare.count(closed), query


def test_every_alert_is_in_the_runbook() -> None:
    rules = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())
    text = (DEPLOY.parent / "docs" / "runbook.md").read_text()
    for rule in rules["groups"][0]["rules"]:
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"]["summary"]
        assert rule["alert"] in text


def test_manifests_are_what_kubernetes_takes() -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="it has the schemas of Kubernetes")
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
    assert [d["kind"] for d in documents] == [
        "Deployment",
        "Service",
        "PodDisruptionBudget",
        "NetworkPolicy",
        "Ingress",
    ]
    for document in documents:
        validate.validate(document, validate.latest_version(), strict=True)


def options_of_serve() -> set[str]:
    command: Any = get_command(app)
    return {o for p in command.get_command(None, "serve").params for o in (*p.opts, *p.secondary_opts)}


def test_everything_runs_the_command_that_there_is() -> None:
    """Whatever starts the service gives it options that it has; nobody runs it as root or writes where it must not."""
    docker = (DEPLOY / "Dockerfile").read_text()
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["headgate"]
    unit = (DEPLOY / "headgate.service").read_text()
    entry = json.loads(
        next(line for line in docker.splitlines() if line.startswith("ENTRYPOINT"))[len("ENTRYPOINT ") :]
    )
    start = next(line for line in unit.splitlines() if line.startswith("ExecStart=")).split()
    used = {word for word in (*entry, *compose["command"], *start) if word.startswith("--")}
    assert used <= options_of_serve()
    assert entry[:2] == ["headgate", "serve"]
    assert re.search(r"^USER 10001:10001$", docker, re.MULTILINE)
    assert (compose["read_only"], compose["cap_drop"], compose["tmpfs"]) == (True, ["ALL"], ["/tmp"])  # noqa: S108
    assert "ports" not in compose, "only the proxy is reached from outside"
    for rule in ("DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "UMask=0077"):
        assert rule in unit
