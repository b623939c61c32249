"""A learner: an allocator's policy in memory, a cache of what the database holds and never more than that."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sqlalchemy import Connection, select

from headgate.evidence import Evidence
from headgate.kernels.bins import COUNT, SUM
from headgate.kernels.record import record
from headgate.laws import Floats
from headgate.service.faults import RefusedError
from headgate.service.spec import AllocatorSpec, ArmSpec, build_law, build_policy
from headgate.service.store import schema

Cells = list[dict[str, int]]
_MOST_STEPS = 2_000  # of a schedule: all of them are in the answer


class Learner:
    """The policy of the arms in use, and the evidence of all arms, retired ones too.

    It stands at a `config` and a `seq` of its allocator's row: `catch_up` brings it to that of the database, which the
    caller has locked. What is applied in a transaction that then fails leaves it wrong: throw it away.
    """

    def __init__(self, connection: Connection, row: schema.Fields) -> None:
        self.id: int = row["id"]
        self.name: str = row["name"]
        self.spec = AllocatorSpec.model_validate_json(row["spec"])
        self.config = self.seq = -1
        self.catch_up(connection, row)

    def catch_up(self, connection: Connection, row: schema.Fields) -> None:
        """Take over what other workers have changed since."""
        if row["config"] != self.config:
            self._configure(connection, row)
        if row["seq"] != self.seq:
            cells = connection.execute(
                select(schema.evidence).where(
                    schema.evidence.c.allocator_id == self.id, schema.evidence.c.seq > self.seq
                )
            ).all()
            if cells:
                table = np.array([tuple(cell)[1:6] for cell in cells], dtype=np.int64)
                arm, kind, place = table[:, 0], table[:, 1], table[:, 2]
                self.evidence.bins[arm, kind, COUNT, place] = table[:, 3]
                self.evidence.bins[arm, kind, SUM, place] = table[:, 4]
            self.seq = row["seq"]
            if not self._all_active:
                self._share()

    def _configure(self, connection: Connection, row: schema.Fields) -> None:
        arms = connection.execute(
            select(schema.arms).where(schema.arms.c.allocator_id == self.id).order_by(schema.arms.c.position)
        ).all()
        specs = [ArmSpec.model_validate_json(arm.spec) for arm in arms]
        self.config, self.seq = row["config"], -1
        self.names = [arm.name for arm in arms]
        self.position = {name: place for place, name in enumerate(self.names)}
        self.active = np.array([place for place, arm in enumerate(arms) if arm.retired_at is None])
        self.policy = build_policy(self.spec, [specs[place] for place in self.active])
        self.active_names = [self.names[place] for place in self.active]
        law = build_law(self.spec, specs)
        self.whole = law.whole_arms(len(arms))
        self.evidence = Evidence.empty(len(arms), self.spec.max_budget)
        self._delta = Evidence.empty(len(arms), self.spec.max_budget)
        self._all = np.ones(len(arms), dtype=np.bool_)
        self._all_active = len(self.active) == len(arms)
        self.state = self.policy.start(self.evidence if self._all_active else None)

    def _share(self) -> None:
        """Let the policy see the evidence of the arms in use, where these are not all."""
        self.state.evidence.bins[...] = self.evidence.bins[self.active]

    # -- decisions ---------------------------------------------------------------------------------------------------

    def allocate(self, budget: float, turn: int) -> dict[str, float]:
        """Split a budget, as the decision of that number."""
        x, self.state = self.policy.decide(self.state, self.policy.ask(budget, round=turn))
        return dict(zip(self.active_names, x.tolist(), strict=True))

    def schedule(self, step: float | None, turn: int) -> list[tuple[str, float]]:
        """Plan for a budget that nobody knows yet."""
        policy, names = self.policy, self.active_names
        least = self.spec.max_budget / _MOST_STEPS
        if step is not None and step < least:
            raise RefusedError(f"step must be at least max_budget / {_MOST_STEPS}, {least:g}, got {step:g}", "step")
        blocks = min(1024, max(_MOST_STEPS // len(names), 16))
        resolution = self.spec.max_budget / blocks if step is None else None
        if step is None and policy.whole.any():
            step, resolution = float(np.ceil(max(self.spec.max_budget / blocks, 1.0))), None
        ask = policy.ask(policy.max_budget, round=turn)
        (arms, amounts), self.state = policy.decide_pour(self.state, ask, step, resolution)
        steps: list[tuple[str, float]] = []
        for arm, amount in zip(arms.tolist(), amounts.tolist(), strict=True):
            if steps and steps[-1][0] == names[arm]:
                steps[-1] = (names[arm], steps[-1][1] + amount)
            else:
                steps.append((names[arm], amount))
        return steps

    # -- evidence ----------------------------------------------------------------------------------------------------

    def count(self, amounts: Mapping[str, float], results: Mapping[str, float | None]) -> None:
        """Add results to what this transaction has gathered; raise, and add nothing, if they cannot be counted."""
        arms, delta = len(self.names), self._delta
        x, won, seen = np.zeros(arms), np.zeros(arms, dtype=np.bool_), np.full(arms, np.nan)
        for name, threshold in results.items():
            place = self.position[name]
            x[place] = np.floor(amounts[name]) if self.whole[place] else amounts[name]
            if threshold is not None:
                won[place], seen[place] = True, threshold
        if not record(delta.bins, delta.edges, delta.max_budget * (1.0 + 1e-9), x, won, seen, self._all):
            raise RefusedError("the results cannot be counted: a threshold lies above what its arm got", "results")

    def add(self, bins: Floats) -> None:
        """Add evidence from elsewhere to what this transaction has gathered."""
        self._delta.bins[...] += bins

    def settle(self) -> Cells:
        """Take over what was gathered; return it as cells to add to the database, in the order of their keys."""
        delta = self._delta.bins
        arm, kind, place = np.nonzero(delta[:, :, COUNT, :])
        if not arm.size:
            return []
        self.seq += 1
        counts, totals = delta[arm, kind, COUNT, place], delta[arm, kind, SUM, place]
        table = np.stack([arm, kind, place, counts.astype(np.int64), totals.astype(np.int64)], axis=1).tolist()
        self.evidence.bins[...] += delta
        delta[...] = 0.0
        if not self._all_active:
            self._share()
        return [
            {"allocator_id": self.id, "position": a, "kind": k, "bin": b, "number": n, "total": t, "seq": self.seq}
            for a, k, b, n, t in table
        ]


def evidence_of(connection: Connection, allocator_id: int, arms: int, max_budget: float) -> Evidence:
    """Read an allocator's evidence."""
    found = Evidence.empty(arms, max_budget)
    table = schema.evidence
    for cell in connection.execute(select(table).where(table.c.allocator_id == allocator_id)):
        found.bins[cell.position, cell.kind, COUNT, cell.bin] = cell.number
        found.bins[cell.position, cell.kind, SUM, cell.bin] = cell.total
    return found
