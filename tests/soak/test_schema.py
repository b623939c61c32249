"""schemathesis over the OpenAPI schema: whatever is sent, no 5xx, and no answer that the schema does not allow."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from headgate.client import Client
from tests.soak.conftest import LONG, short_or_long
from tests.soak.servers import Server, verified

pytestmark = pytest.mark.soak

CASES = short_or_long(5_000, 20_000)
KNOWN: dict[str, tuple[Any, ...]] = {
    "name": ("quiz", "schedule", "whole", "strict", "compared"),
    "decision_id": ("d-quiz", "d-whole", "s-schedule"),
    "import_id": ("import-1",),
    "arm": ("a", "extra/arm"),
    "live_id": ("l-quiz", "l-strict"),
    "number": (0, 1, 2),
    "edge": ("edge-1", "edge-2"),
    "retraction_id": ("taken-back", "again"),
    "subject": ("somebody", "nobody"),
}

# What a request that breaks the schema may be answered with; 413: some of them are larger than a body may be.
REFUSALS = {"checks": {"negative_data_rejection": {"expected-statuses": [404, 405, 409, 413, 415, 422]}}}


def fill(client: Client) -> None:
    """Make allocators of several kinds, with decisions: what the paths of the cases find."""
    client.put_allocator("quiz", ["a", "b"], {"name": "weibull", "shape": 1.6}, 30.0)
    client.put_allocator("schedule", ["a", "b"], "exponential", 4.0, on_expiry="failure", feedback_deadline=1.0)
    client.put_allocator("whole", ["a", "b"], {"name": "discrete-weibull", "shape": 1.2}, 9.0, reward="cascade")
    client.put_allocator("strict", ["a", {"name": "b", "lower": 1.0, "upper": 2.0}], "exponential", 9.0)
    client.put_allocator("compared", ["a", "b"], "exponential", 9.0, baseline={"a": 3.0}, holdout=0.5)
    for name in KNOWN["name"]:
        client.decide(name, 4.0, decision_id=f"d-{name}")
    client.decide("schedule", None, decision_id="s-schedule")
    client.decide("quiz", 4.0, subject="somebody")
    client.add_arm("quiz", "extra/arm")


def cases_of(operation: Any) -> st.SearchStrategy[Any]:
    """Return cases of an operation: right ones and wrong ones, most of them about something that is there."""
    from schemathesis import GenerationMode

    wanted = [parameter.name for parameter in operation.path_parameters]
    right, wrong = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
    found = [operation.as_strategy(right).map(familiar)]
    if wanted or operation.query or operation.body:
        found.append(operation.as_strategy(wrong))
    for place in range(5) if wanted else ():
        known = {name: KNOWN[name][place % len(KNOWN[name])] for name in wanted}
        found.append(operation.as_strategy(right, path_parameters=known).map(familiar))
        if operation.body or operation.query:
            found.append(operation.as_strategy(wrong, path_parameters=known))
    return st.one_of(found)


def familiar(case: Any) -> Any:
    """Let results and evidence be of arms that exist, and a new allocator have a law and a policy that do."""
    if isinstance(case.body, dict) and "max_budget" in case.body and "law" in case.body:
        case.body |= {"law": "exponential", "policy": {"name": "thompson"}}
    if isinstance(case.body, dict) and isinstance(case.body.get("evidence"), dict):  # a push: let some get through
        case.body["evidence"] |= {"max_budget": 30.0, "bins": [8, 16], "arms": {}}
        for made in case.body.get("decisions") or ():
            made |= {
                member: dict(zip("ab", made[member].values(), strict=False)) for member in ("allocation", "results")
            }
    for member in ("results", "arms"):
        if isinstance(case.body, dict) and isinstance(case.body.get(member), dict):
            names = [*"ab", *case.body[member]]
            case.body[member] = dict(zip(names, case.body[member].values(), strict=False))
    return case


def test_schemathesis(tmp_path: Path, figure: Callable[[str], None]) -> None:
    import requests
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks as openapi

    seen: Counter[int] = Counter()
    began = time.monotonic()
    with Server(f"sqlite:///{tmp_path / 'headgate.db'}") as server, requests.Session() as session:
        with Client(server.url) as client:
            fill(client)
        for key in KNOWN["live_id"]:
            opened = {"budget": 4.0, "decision_id": key}
            session.post(f"{server.url}/v1/allocators/{key[2:]}/live", json=opened, timeout=60).raise_for_status()
        schema = schemathesis.openapi.from_url(
            f"{server.url}/openapi.json", config=schemathesis.Config.from_dict(REFUSALS)
        )
        operations: list[Any] = [found.ok() for found in schema.get_all_operations()]  # type: ignore[union-attr]  # ours are
        checks = [
            not_a_server_error,
            openapi.status_code_conformance,
            openapi.content_type_conformance,
            openapi.response_headers_conformance,
            openapi.response_schema_conformance,
            openapi.negative_data_rejection,
        ]
        weights = [4 * bool(o.body) + bool(o.query) + bool(o.path_parameters) for o in operations]
        for operation, weight in zip(operations, weights, strict=True):

            @seed(6)
            @settings(
                max_examples=CASES * weight // sum(weights) + 20,
                deadline=None,
                database=None,
                phases=[Phase.generate, Phase.shrink] if LONG else [Phase.generate],
                suppress_health_check=list(HealthCheck),
                verbosity=Verbosity.quiet,
            )
            @given(case=cases_of(operation))
            def holds(case: Any) -> None:
                answer = case.call(session=session)
                seen[answer.status_code] += 1
                case.validate_response(answer, checks=checks)

            holds()
        checked = verified(server.database)
    statuses = ", ".join(f"{count:,} x {status}" for status, count in sorted(seen.items()))
    assert seen.total() >= CASES
    figure(
        f"{seen.total():,} cases of {len(operations)} operations in {time.monotonic() - began:.0f} s: no 5xx, "
        f"no violation ({statuses}; {checked})"
    )
