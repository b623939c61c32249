"""How the API describes itself: names, examples that work, and what the guard asks for, in `/openapi.json`.

`reference` turns that into what the page at `/docs` shows.
"""

from __future__ import annotations

import re
from typing import Any

from headgate.evidence import Evidence

Json = dict[str, Any]
_ARMS = ["q1", "q2", "q3"]
_RESULTS = {"q1": {"success": False}, "q2": {"success": True, "threshold": 4.2}}
#: Bodies of requests by the name of their operation, in an order in which they can be sent.
EXAMPLES: dict[str, Json] = {
    "put_allocator": {
        "arms": ["q1", {"name": "q2", "lower": 5.0}, "q3"],
        "law": {"name": "weibull", "shape": 1.6},
        "policy": {"name": "thompson"},
        "max_budget": 30.0,
        "units": "seconds",
    },
    "change_allocator": {"arms": [{"name": "q1", "upper": 15.0, "value": 2.0}]},
    "decide": {"budget": 20.0, "decision_id": "student-17", "context": {"class": "5b"}},
    "decide_many": {"decisions": [{"budget": 20.0, "decision_id": "student-18"}, {"budget": 25.0}]},
    "open_live": {"budget": 20.0, "decision_id": "student-19"},
    "report_step": {"success": True, "spent": 3.0},
    "report_step_of": {"success": True, "spent": 3.0},
    "report": {"results": _RESULTS},
    "report_of": {"results": _RESULTS},
    "report_many": {"outcomes": [{"decision_id": "student-18", "results": _RESULTS}]},
    "add_arm": {"name": "q4", "upper": 10.0},
    "put_retraction": {"since": "2026-01-01T12:00:00Z", "until": "2026-01-01T13:00:00Z", "reason": "a broken till"},
}
_MADE = {
    "decision_id": "till-7.0",
    "budget": 8.0,
    "allocation": {"q1": 8.0},
    "made_at": "2026-01-01T12:00:00Z",
    "results": {"q1": {"success": True, "threshold": 3.1}},
}
#: Values of parameters, for whoever tries the examples.
PARAMETERS = {
    "name": "quiz", "decision_id": "student-17", "live_id": "student-19", "number": "0", "import_id": "log-2026",
    "arm": "q3", "edge": "till-7", "retraction_id": "till-7-broken",
    "subject": "student-17",
}  # fmt: skip
_TAGS = [
    {"name": "decisions", "description": "Every round: split a budget, say what came of it."},
    {"name": "allocators", "description": "What decides: made, looked at, changed."},
    {"name": "edges", "description": "Deciding in the caller's own process, with what all of them have seen."},
    {"name": "records", "description": "What is done to the log itself."},
    {"name": "health", "description": "For those who run the service."},
]


def complete(schema: Json) -> Json:
    """Give operations plain names and examples, and say that the guard asks for a key."""
    bearer = {"type": "http", "scheme": "bearer", "description": "A key made by `headgate keys create`."}
    schema["components"]["securitySchemes"] = {"key": bearer}
    schema["security"] = [{}, {"key": []}]  # without one, where the service asks for none
    schema["tags"] = _TAGS
    examples = EXAMPLES | {"put_evidence": _evidence(), "push": {"evidence": _evidence(), "decisions": [_MADE]}}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            name = operation["operationId"].removesuffix(_tail(path, method))
            operation["operationId"] = name
            operation["summary"] = operation["description"].split(".")[0].split(";")[0]
            for parameter in operation.get("parameters", ()):
                if parameter["name"] in PARAMETERS:
                    parameter["example"] = PARAMETERS[parameter["name"]]
            if name in examples:
                operation["requestBody"]["content"]["application/json"]["example"] = examples[name]
    return schema


def _evidence() -> Json:
    """Return what one row of a log leaves: q1 got 8 and succeeded at 3.1."""
    return Evidence.of_rows([0], [8.0], [True], [3.1], arms=len(_ARMS), max_budget=30.0).to_dict(_ARMS)


def _tail(path: str, method: str) -> str:
    """Return what FastAPI appends to the name of an operation."""
    return re.sub(r"\W", "_", path) + f"_{method}"


def reference(schema: Json) -> Json:
    """Return what the page shows: operations by their tags, then the models."""
    models = schema["components"]["schemas"]
    sections = []
    for tag in schema["tags"]:
        operations_of_tag = [
            _operation(method, path, operation)
            for path, operations in schema["paths"].items()
            for method, operation in operations.items()
            if tag["name"] in operation["tags"]
        ]
        sections.append({**tag, "operations": operations_of_tag})
    tables = {
        name: {"about": model.get("description", ""), "fields": _fields(model)}
        for name, model in sorted(models.items())
    }
    return {"sections": sections, "models": tables}


def _operation(method: str, path: str, operation: Json) -> Json:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return {
        "name": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "about": operation["description"],
        "parameters": [
            {
                "name": one["name"],
                "place": one["in"],
                "kind": _kind(one["schema"]),
                "about": one.get("description", one["schema"].get("description", "")),
                "required": one.get("required", False),
            }
            for one in operation.get("parameters", ())
        ],
        "takes": _kind(content["schema"]) if content else None,
        "example": content.get("example"),
        "answers": [
            {
                "status": status,
                "about": answer["description"],
                "kind": _kind(answer.get("content", {}).get("application/json", {}).get("schema", {})),
            }
            for status, answer in sorted(operation["responses"].items())
        ],
    }


def _fields(model: Json) -> list[Json]:
    required = model.get("required", ())
    return [
        {"name": name, "kind": _kind(field), "about": field.get("description", ""), "required": name in required}
        for name, field in model.get("properties", {}).items()
    ]


def _kind(schema: Json) -> str:
    """Say in a few words what a schema takes.

    >>> _kind({"anyOf": [{"type": "array", "items": {"$ref": "#/components/schemas/Step"}}, {"type": "null"}]})
    'list of Step or null'
    """
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return " or ".join(dict.fromkeys(map(_kind, schema[union])))
    if "enum" in schema or "const" in schema:
        return " or ".join(f'"{value}"' for value in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_kind(schema['additionalProperties'])}"
    limits = [
        f"{sign} {schema[name]:g}"
        for name, sign in (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"))
        if name in schema
    ]
    return " ".join([str(kind), *limits])
