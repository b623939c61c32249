"""What the page of an allocator shows, as the data that it asks for every two seconds."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sqlalchemy import Connection, RowMapping, func, select

from headgate.service import clock, snapshots, views
from headgate.service.beliefs import LEVEL, Belief, believe
from headgate.service.changed import changed
from headgate.service.comparison import compare
from headgate.service.dashboard import curves
from headgate.service.dashboard.curves import band, rim
from headgate.service.dashboard.overview import recent_reward, remembered, rolling, summary
from headgate.service.memory import Memory
from headgate.service.snapshots import Snapshot
from headgate.service.store import schema
from headgate.service.store.rows import row_of

MOST_SHOWN = 12
"""Arms that are drawn: more could not be told apart."""
_NO_WINDOWS: dict[str, Any] = {"at": [], "threshold": None, "arms": []}
_POINTS = 120
_LATEST = 50  # decisions whose mean is the allocation as it is given now


def detail(connection: Connection, name: str, memory: Memory, find: str = "", have: int = 0) -> dict[str, Any]:
    """Return everything on the page: arms whose name holds `find`, the past only if there is more than at `have`."""
    row = row_of(connection, name)
    key = (row["id"], row["config"], row["seq"], row["complete"])
    belief: Belief = memory.get(("belief", *key), lambda: believe(connection, row))
    spec = belief.spec
    matching = [arm for arm in snapshots.most_given(belief) if find.casefold() in belief.names[arm].casefold()]
    shown = sorted(matching[:MOST_SHOWN])
    arms = memory.get(("arms", *key, *shown), lambda: _arms(belief, shown))
    latest, past = remembered(connection, row, memory, _POINTS)
    mean_allocation, rounds = _mean_allocation(connection, row)
    turned = (row["id"], row["config"], row["window_at"])
    drift = (
        None
        if spec.fading is None
        else memory.get(
            ("changed", *turned, *shown), lambda: changed(connection, row["id"], belief, shown) or _NO_WINDOWS
        )
    )
    retired = schema.arms.c.retired_at.is_not(None) & (schema.arms.c.allocator_id == row["id"])
    return {
        **summary(connection, row, spec),
        "archived_at": clock.as_text(row["archived_at"]),
        "max_budget": spec.max_budget,
        "reward_kind": spec.reward,
        "deadline": spec.feedback_deadline,
        "level": LEVEL,
        "find": find,
        "arms_in_use": len(belief.names),
        "arms_matching": len(matching),
        "arms_retired": connection.execute(select(func.count()).select_from(schema.arms).where(retired)).scalar_one(),
        "counts": views.counts(connection, row).model_dump(),
        "now": _now(row, belief, past),
        "comparison": compare(connection, name).model_dump(),
        "drift": drift,
        "latest_rounds": rounds,
        "arms": [{**arm, "given": mean_allocation.get(arm["name"], 0.0) if mean_allocation else None} for arm in arms],
        "rest": _rest(belief, shown, mean_allocation),
        "latest": latest,
        "history": None if have == latest else _history(past, [belief.names[arm] for arm in shown]),
    }


def _now(row: RowMapping, belief: Belief, past: list[Snapshot]) -> dict[str, Any]:
    reward, rounds = recent_reward(row, past)
    return {
        "reward": reward,
        "rounds": rounds,
        "mean_reward": row["reward"] / row["complete"] if row["complete"] else None,
        "value": belief.value if row["complete"] else None,
        "value_interval": belief.value_interval if row["complete"] else None,
        "budget": belief.budget,
    }


def _arms(belief: Belief, shown: list[int]) -> list[dict[str, Any]]:
    estimate, far = belief.estimate, curves.reach(belief, shown)
    words = views.knowledge(estimate)
    trials, won = belief.trials, belief.successes
    edges = rim(belief, shown) if shown else np.empty((0, 0, 2))
    arms = []
    for place, arm in enumerate(shown):
        best = _amount(belief, belief.best.x[arm])
        low, high = band(belief, arm, edges[:, place], np.array([best]))
        least, most = estimate.rate_interval[arm].tolist()
        arms.append(
            {
                "name": belief.names[arm],
                "known": words[arm],
                "activation": [float(estimate.activation[arm]), *estimate.activation_interval[arm].tolist()],
                "rate": [float(estimate.rate[arm]), least, most if np.isfinite(most) else None],
                "chance": [float(belief.chance(arm, np.array([best]))[0]), float(low[0]), float(high[0])],
                "best": best,
                "trials": int(trials[arm]),
                "successes": int(won[arm]),
                "curve": curves.curve(belief, arm, edges[:, place], far),
            }
        )  # fmt: skip
    return arms


def _amount(belief: Belief, value: Any) -> float:
    """Return an amount without the dust of rounding."""
    return float(value) if value > 1e-9 * belief.spec.max_budget else 0.0


def _rest(belief: Belief, shown: list[int], mean_allocation: dict[str, float]) -> dict[str, Any]:
    """Return what the arms that are not shown get together."""
    names = {belief.names[arm] for arm in shown}
    return {
        "arms": len(belief.names) - len(shown),
        "best": _amount(belief, belief.best.x.sum() - belief.best.x[shown].sum()),
        "given": sum(amount for name, amount in mean_allocation.items() if name not in names)
        if mean_allocation
        else None,
    }


def _mean_allocation(connection: Connection, row: RowMapping) -> tuple[dict[str, float], int]:
    """Return the mean of the latest allocations, without those of a holdout.

    Schedules and live rounds are not counted: they give as they go.
    """
    table = schema.decisions.c
    answers = connection.execute(
        select(table.answer)
        .where(table.allocator_id == row["id"], table.round >= row["decisions"] - _LATEST)
    ).scalars()  # fmt: skip
    decisions = [json.loads(answer) for answer in answers]
    allocations = [one["allocation"] for one in decisions if one["allocation"] and one.get("mode") != "holdout"]
    total: dict[str, float] = {}
    for allocation in allocations:
        for arm, amount in allocation.items():
            total[arm] = total.get(arm, 0.0) + amount
    return {arm: amount / len(allocations) for arm, amount in total.items()}, len(allocations)


def _history(past: list[Snapshot], names: list[str]) -> dict[str, Any]:
    points = dict(rolling(past))
    return {
        "at": [clock.as_text(then.taken_at) for then in past],
        "complete": [then.complete for then in past],
        "reward": [points.get(then.complete) for then in past],
        "mean": [then.reward / then.complete if then.complete else None for then in past],
        "value": [then.value for then in past],
        "low": [then.value_interval[0] for then in past],
        "high": [then.value_interval[1] for then in past],
        "arms": {name: [then.arms.get(name) for then in past] for name in names},
    }
