"""What was believed over time: a row now and then, for the dashboard.

Rows are spaced geometrically in complete decisions, so a million decisions leave some 550 of them. The truth is
elsewhere: a snapshot that is missing costs nothing but a point in a chart.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
from sqlalchemy import Connection, RowMapping, func, insert, select

from headgate.service import clock, upkeep
from headgate.service.beliefs import Belief, believe
from headgate.service.faults import UnavailableError
from headgate.service.service import Service
from headgate.service.store import schema
from headgate.service.store.rows import row_of

MOST_ARMS = 100
"""Of more arms, those that got most so far are kept."""
_GROWTH = 1.02
_SECONDS = ((1_000, 1.0), (float("inf"), 5.0))  # the least time between two, up to so many complete decisions
_PAUSE = 0.5
_REST = ((1_000, 20.0), (float("inf"), 300.0))
"""Up to so many complete decisions, an allocator has none for so many times as long as one took."""
_SHARE = 20.0
"""Nor has any other, for so many times as long: however many allocators there are, requests come first."""
_log = logging.getLogger("headgate.service")

ArmThen = tuple[float, float, float, float, float, float | None, float]
"""Activation and its interval, rate and its interval (None: not bounded), its part of the best allocation."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was counted and believed at some time."""

    taken_at: int
    decisions: int
    complete: int
    reward: int
    budget: float
    given: float
    typical: float
    """The budget of the best allocation: the mean of complete decisions."""
    value: float
    """Expected reward of the best allocations for the budgets that came, by the estimates of that time."""
    value_interval: tuple[float, float]
    arms: Mapping[str, ArmThen] = field(repr=False)

    def to_json(self) -> str:
        """Write what is stored beside the time."""
        values = asdict(self)
        del values["taken_at"]
        return json.dumps(values, allow_nan=False, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def of_row(cls, taken_at: int, data: str) -> Self:
        """Read a row."""
        return cls(taken_at=taken_at, **json.loads(data))


def take(connection: Connection, name: str) -> Snapshot:
    """Return an allocator as it is now; nothing is written."""
    row = row_of(connection, name)
    return snapshot_of(row, believe(connection, row))


def snapshot_of(row: RowMapping, belief: Belief) -> Snapshot:
    """Return what a snapshot keeps of a belief."""
    unit = belief.spec.max_budget / schema.BUDGET_UNITS
    low, high = belief.value_interval
    return Snapshot(
        taken_at=clock.now(),
        decisions=row["decisions"],
        complete=row["complete"],
        reward=row["reward"],
        budget=row["budget_units"] * unit,
        given=row["given_units"] * unit,
        typical=_short(belief.budget),
        value=_short(belief.value),
        value_interval=(_short(low), _short(high)),
        arms={belief.names[arm]: _arm(belief, arm) for arm in most_given(belief)[:MOST_ARMS]},
    )


def most_given(belief: Belief) -> list[int]:
    """Return the arms' places, those first that got most so far; before that, in their own order."""
    evidence = belief.evidence
    total = np.sum(evidence.counts("played") * evidence.means("played"), axis=-1)
    return [int(arm) for arm in np.argsort(-total, kind="stable")]


def _arm(belief: Belief, arm: int) -> ArmThen:
    estimate = belief.estimate
    low, high = (float(v) for v in estimate.activation_interval[arm])
    least, most = (float(v) for v in estimate.rate_interval[arm])
    return (
        _short(float(estimate.activation[arm])), _short(low), _short(high),
        _short(float(estimate.rate[arm])), _short(least), _short(most) if np.isfinite(most) else None,
        _short(float(belief.best.x[arm])),
    )  # fmt: skip


def _short(value: float) -> float:
    return float(f"{value:.5g}")


# -- writing -----------------------------------------------------------------------------------------------------------


def due(complete: int, now: int, last_complete: int, last_taken: int) -> bool:
    """Whether it is time for another: 2% more complete decisions, and a second or more since the last."""
    seconds = next(least for most, least in _SECONDS if complete <= most)
    return complete >= _GROWTH * last_complete + 1.0 and now >= last_taken + round(seconds * 1e6)


def keep(connection: Connection, name: str, snapshot: Snapshot) -> bool:
    """Store a snapshot, unless another worker was first; the allocator is locked, so only one can be."""
    row = row_of(connection, name, lock=True)
    complete, taken_at = _last(connection, row["id"])
    if not due(snapshot.complete, snapshot.taken_at, complete, taken_at):
        return False
    values = {"allocator_id": row["id"], "taken_at": snapshot.taken_at, "data": snapshot.to_json()}
    connection.execute(insert(schema.snapshots).values(values))
    return True


async def keep_snapshots(service: Service) -> None:
    """Take and store snapshots of every allocator when they are due, until cancelled."""
    known: dict[int, tuple[int, int]] = {}
    await upkeep.every(_PAUSE, lambda: keep_due(service, known))


async def keep_due(service: Service, known: dict[int, tuple[int, int]]) -> None:
    """Store what is due now; `known` remembers the last of each allocator, to ask the database for few."""
    for key, name, complete in await service.look(_allocators):
        if key in known and not due(complete, clock.now(), *known[key]):
            continue
        known[key] = await service.look(_last, key)
        if not due(complete, clock.now(), *known[key]):
            continue
        try:
            began = time.perf_counter()
            snapshot = await service.look(take, name)
            took = time.perf_counter() - began
            await service.note(keep, name, snapshot)
            rest = next(times for most, times in _REST if complete <= most) * took
            known[key] = (snapshot.complete, snapshot.taken_at + round(rest * 1e6))
            await asyncio.sleep(_SHARE * took)
        except UnavailableError:
            raise
        except Exception:  # noqa: BLE001  # the other allocators shall have theirs
            _log.exception("no snapshot of allocator %s", name)
            known[key] = (known[key][0], clock.now() + 60_000_000)  # try again in a minute


def _allocators(connection: Connection) -> Sequence[Any]:
    table = schema.allocators.c
    return connection.execute(select(table.id, table.name, table.complete).where(table.complete > 0)).all()


def _last(connection: Connection, key: int) -> tuple[int, int]:
    """Return how many decisions were complete at the last snapshot, and when it was taken."""
    table = schema.snapshots
    row = connection.execute(
        select(table).where(table.c.allocator_id == key).order_by(table.c.taken_at.desc()).limit(1)
    ).first()
    return (0, 0) if row is None else (json.loads(row.data)["complete"], row.taken_at)


# -- reading -----------------------------------------------------------------------------------------------------------


def last_taken(connection: Connection, key: int) -> int:
    """Return when the last snapshot was taken; 0: never."""
    table = schema.snapshots.c
    return connection.execute(select(func.max(table.taken_at)).where(table.allocator_id == key)).scalar() or 0


def history(connection: Connection, key: int, most: int) -> list[Snapshot]:
    """Return an allocator's snapshots, oldest first; of more than `most`, evenly chosen ones and the last."""
    table = schema.snapshots.c
    mine = table.allocator_id == key
    times = connection.execute(select(table.taken_at).where(mine).order_by(table.taken_at)).scalars().all()
    if len(times) > most:
        times = [times[place] for place in np.unique(np.linspace(0, len(times) - 1, most).round().astype(int))]
    rows = select(table.taken_at, table.data).where(mine, table.taken_at.in_(times)).order_by(table.taken_at)
    return [Snapshot.of_row(taken_at, data) for taken_at, data in connection.execute(rows)]
