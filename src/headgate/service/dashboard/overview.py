"""What the first page shows: every allocator in a line."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, RowMapping, func, select

from headgate.errors import HeadgateError
from headgate.laws import from_dict
from headgate.service import clock, snapshots, views
from headgate.service.memory import Memory
from headgate.service.snapshots import Snapshot
from headgate.service.spec import AllocatorSpec
from headgate.service.store import schema
from headgate.service.store.keys import ANYBODY, Asker

_LINES = 50  # allocators that get a line of their past
_POINTS = 30
_RECENT = 0.8
_IDLE = 60_000_000


def overview(connection: Connection, memory: Memory, asker: Asker = ANYBODY) -> dict[str, Any]:
    """Return every allocator that exists for who asks in short, busy ones first, archived ones last."""
    arms = schema.arms.c
    counts = select(arms.allocator_id, func.count()).where(arms.retired_at.is_(None)).group_by(arms.allocator_id)
    in_use = {row[0]: row[1] for row in connection.execute(counts)}
    rows = [row for row in connection.execute(select(schema.allocators)).mappings() if asker.sees(row["name"])]
    rows = sorted(rows, key=lambda row: (row["archived_at"] is not None, -row["decisions"], row["name"]))
    return {
        "allocators": [
            _line(connection, row, memory if i < _LINES else None) | {"arms": in_use.get(row["id"], 0)}
            for i, row in enumerate(rows)
        ]
    }


def _line(connection: Connection, row: RowMapping, memory: Memory | None) -> dict[str, Any]:
    past = [] if memory is None else remembered(connection, row, memory, _POINTS)[1]
    reward, rounds = recent_reward(row, past)
    counts = views.counts(connection, row)
    return {
        **summary(connection, row, AllocatorSpec.model_validate_json(row["spec"])),
        "decisions": counts.decisions,
        "complete": counts.complete,
        "pending": counts.pending,
        "recent": reward,
        "recent_rounds": rounds,
        "value": past[-1].value if past else None,
        "used": counts.given / counts.budget if counts.budget > 0.0 else None,
        "past": [point for _, point in rolling(past)],
    }


def summary(connection: Connection, row: RowMapping, spec: AllocatorSpec) -> dict[str, Any]:
    """Return what both pages say of an allocator."""
    return {
        "name": row["name"],
        "status": status(connection, row),
        "law": law_text(spec.law),
        "policy": spec.policy["name"],
        "version": row["config"],
        "units": spec.units,
    }


def remembered(connection: Connection, row: RowMapping, memory: Memory, most: int) -> tuple[int, list[Snapshot]]:
    """Return when the last snapshot was taken, and the past until then."""
    latest, key = snapshots.last_taken(connection, row["id"]), row["id"]
    return latest, memory.get(("past", key, latest, most), lambda: snapshots.history(connection, key, most))


def status(connection: Connection, row: RowMapping) -> str:
    """Return what an allocator is doing, in a word: new, waiting, learning, idle or archived."""
    if row["archived_at"] is not None:
        return "archived"
    if row["decisions"] == 0:
        return "new"
    if row["complete"] == 0:
        return "waiting"
    table = schema.decisions.c
    latest = connection.execute(
        select(table.created_at).where(table.allocator_id == row["id"], table.round == row["decisions"] - 1)
    ).scalar()
    return "learning" if latest is not None and clock.now() - latest < _IDLE else "idle"


def law_text(law: Any) -> str:
    """Return a law in a few words."""
    try:
        parsed_law = from_dict(law)
    except HeadgateError:  # a law that this process does not know
        return str(law.get("name", law) if isinstance(law, dict) else law)
    shapes = [
        f"{name} {value:.3g}"
        if isinstance(value, float | int)
        else f"{name} {'learned' if value == 'learn' else 'by arm'}"
        for name, value in parsed_law.shapes().items()
    ]
    words = parsed_law.to_dict()["name"].replace("_", "-")
    return f"{words}, {', '.join(shapes)}" if shapes else str(words)


def rolling(past: list[Snapshot]) -> list[tuple[int, float]]:
    """Return (complete, reward per round in the latest fifth of the rounds until then)."""
    points = []
    for now in past:
        reward, rounds = _since(now.complete, now.reward, past)
        if rounds:
            points.append((now.complete, reward / rounds))
    return points


def recent_reward(row: RowMapping, past: list[Snapshot]) -> tuple[float | None, int]:
    """Return the reward per round in the latest fifth of the rounds or a little more, and how many these are."""
    reward, rounds = _since(row["complete"], row["reward"], past)
    return (reward / rounds if rounds else None), rounds


def _since(complete: int, reward: int, past: list[Snapshot]) -> tuple[int, int]:
    before = [(then.complete, then.reward) for then in past if then.complete <= _RECENT * complete]
    start, won = before[-1] if before else (0, 0)
    return reward - won, complete - start
