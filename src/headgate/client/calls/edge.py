"""Calls of edges, and of whoever asks how the service is."""

from __future__ import annotations

from urllib.parse import urlencode

from headgate.client.answers import EdgeState, Json, Learner, PushAnswer, reader
from headgate.client.calls.call import Call, allocator_path, as_json, path_part


def learner(name: str, position: tuple[int, int] | None = None) -> Call[Learner]:
    """Return what an edge decides with; with the config and seq that it knows, the evidence only if that is new."""
    query = "" if position is None else "?" + urlencode({"config": position[0], "seq": position[1]})
    return Call("GET", f"{allocator_path(name)}/learner{query}", None, reader(Learner))


def push(name: str, edge: str, number: int, body: Json) -> Call[PushAnswer]:
    """Send what an edge has seen, once for each number: `body` has evidence and decisions; `headgate.Edge` makes it."""
    return Call(
        "PUT", f"{allocator_path(name)}/edges/{path_part(edge)}/pushes/{number}", as_json(body), reader(PushAnswer)
    )


def edges(name: str) -> Call[list[EdgeState]]:
    """Return the edges of an allocator, and what they have pushed."""
    return Call("GET", f"{allocator_path(name)}/edges", None, lambda data: list(map(reader(EdgeState), data["edges"])))


def health() -> Call[str]:
    """Return how the service is, if it can do its work; else raise an `UnavailableError`."""
    return Call("GET", "/readyz", None, lambda data: str(data["status"]))
