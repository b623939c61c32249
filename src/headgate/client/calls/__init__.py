"""Calls of the API as values: what to send, and how to read what comes back. Nothing here does any input or output.

`Client` and `AsyncClient` have each of them as a method, which sends it and returns what `Call[T]` promises, a T.
"""

from __future__ import annotations

from headgate.client.calls.allocators import (
    Baseline,
    Law,
    add_arm,
    allocator,
    allocators,
    archive,
    change,
    put_allocator,
    retire_arm,
)
from headgate.client.calls.call import Call, HasDict
from headgate.client.calls.edge import edges, health, learner, push
from headgate.client.calls.records import (
    comparison,
    decisions,
    estimates,
    export_evidence,
    forget,
    history,
    import_evidence,
    retract,
    retractions,
)
from headgate.client.calls.rounds import (
    MOST_AT_ONCE,
    Results,
    decide,
    decide_many,
    decision,
    new_id,
    one_of_many,
    report,
    report_bodies,
    report_many,
    why,
)

__all__ = [
    "MOST_AT_ONCE",
    "Baseline",
    "Call",
    "HasDict",
    "Law",
    "Results",
    "add_arm",
    "allocator",
    "allocators",
    "archive",
    "change",
    "comparison",
    "decide",
    "decide_many",
    "decision",
    "decisions",
    "edges",
    "estimates",
    "export_evidence",
    "forget",
    "health",
    "history",
    "import_evidence",
    "learner",
    "new_id",
    "one_of_many",
    "push",
    "put_allocator",
    "report",
    "report_bodies",
    "report_many",
    "retire_arm",
    "retract",
    "retractions",
    "why",
]
