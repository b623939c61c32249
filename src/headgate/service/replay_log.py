"""Letting a policy follow an allocator's log: it decides what was asked for, and learns what was really given.

At each decision it knows what the log knew then, and no more. It is not what the policy would have learned from amounts
of its own, which nobody has tried. Reports from before they had a place in the log count, but teach nothing.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from headgate.errors import InputError, UnsupportedError
from headgate.evidence import Evidence
from headgate.evidence.fading import FadingSum
from headgate.feedback import Feedback
from headgate.policies import Policy, State, Thompson
from headgate.service.bodies import EvidenceBody
from headgate.service.engine.features import features_by_arm, features_of_request
from headgate.service.engine.order import Part, in_order, log_of
from headgate.service.engine.records import LoggedDecision, Reports, read_reports
from headgate.service.replay import Replayed, Trials, estimate
from headgate.service.spec import AllocatorSpec, ArmSpec, build_policy
from headgate.service.spec_checks import check_fading
from headgate.service.store import schema
from headgate.service.store.rows import arms_of, row_of

_PAGE = 2_000


@dataclass(slots=True)
class _Follower:
    """A policy of all arms there ever were; those that a decision did not have are not eligible in it."""

    spec: AllocatorSpec
    names: list[str]
    policy: Policy
    state: State
    windows: FadingSum | None = None
    """What it has learned by windows of time, where evidence fades."""
    rows: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    """The columns of `Trials`."""
    count: int = 0
    left_out: int = 0

    def decide(self, decision: LoggedDecision) -> dict[str, float] | None:
        """Return what the policy gives to each arm of a decision; None for one that is no split at once."""
        if not decision.allocation:  # a schedule, or a live round
            return None
        self._fade(decision.created_at)
        request = json.loads(decision.request)
        able = decision.allocation.keys() & set(request.get("eligible") or self.names)
        terms: dict[str, Any] = features_by_arm(
            self.policy, self.names, request.get("features"), request.get("arm_features")
        )
        for name, usual in (("value", self.policy.value), ("lower", 0.0), ("upper", np.inf)):
            if request.get(name) is not None:
                terms[name] = np.broadcast_to(usual, len(self.names)).astype(np.float64)
                for arm, number in request[name].items():
                    terms[name][self.names.index(arm)] = number
        terms["eligible"] = np.array([name in able for name in self.names])
        ask = self.policy.ask(float(request["budget"]), round=decision.round, **terms)
        x, self.state = self.policy.decide(self.state, ask)
        return dict(zip(self.names, x.tolist(), strict=True))

    def learn(self, part: Part) -> None:
        """Absorb a report."""
        results = [part.results.get(name) for name in self.names]
        reported = np.array([name in part.results for name in self.names])
        won = np.array([result is not None for result in results])
        thresholds = np.array([np.nan if result is None or result is True else result for result in results])
        x = np.array([part.amounts.get(name, 0.0) if name in part.results else 0.0 for name in self.names])
        terms = features_of_request(self.policy, self.names, part.request)
        self._fade(part.at)
        before = self.state.evidence.bins.copy() if self.windows is not None else 0.0
        self.state = self.policy.absorb(self.state, x, Feedback(won, thresholds, reported), **terms)
        if self.windows is not None:
            self.windows.add(self.state.evidence.bins - before)

    def _fade(self, now: int) -> None:
        """Let what counts of the evidence be that of a time."""
        turned = self.windows is not None and self.windows.turn(now, self.state.evidence.bins)
        if turned and isinstance(self.policy, Thompson):
            self.policy.renew(self.state)  # type: ignore[arg-type]  # its own state, as workers do

    def compare(
        self, decision: LoggedDecision, reports: Reports, policy_allocation: Mapping[str, float] | None
    ) -> None:
        """Write down a decision with what came of it and what the policy would have given."""
        if policy_allocation is None or decision.silent(reports) != []:
            self.left_out += 1
            return
        own = json.loads(decision.request).get("value") or {}
        values = dict(
            zip(self.names, np.broadcast_to(self.policy.value, len(self.names)).astype(float).tolist(), strict=True)
        )
        by_arm = decision.amounts(reports.spent) | reports.amounts
        for place, name in enumerate(self.names):
            result = reports.results.get(name)
            amounts = [by_arm.get(name, 0.0) if name in reports.results else 0.0, policy_allocation[name]]
            if self.policy.whole[place]:
                amounts = [float(np.floor(amount)) for amount in amounts]
            if not any(amounts):
                continue
            row = {
                "decision": self.count, "arm": place, "amount": amounts[0], "success": result is not None,
                "threshold": np.nan if result is None or result is True else result, "policy_amount": amounts[1],
                "value": float(own.get(name, values[name])),
            }  # fmt: skip
            for column, value in row.items():
                self.rows[column].append(value)
        self.count += 1


def replay(
    connection: Connection,
    name: str,
    *,
    policy: Mapping[str, Any] | None = None,
    law: Any = None,
    fades: Mapping[str, float | None] | None = None,
    level: float = 0.95,
    resamples: int = 200,
    seed: int = 0,
) -> Replayed:
    """Return what another policy or law would have earned per decision; what is not given is as it is.

    `fades` is a spec's half_life and window, in seconds.
    """
    follower = _follower(connection, name, policy, law, fades)
    key = row_of(connection, name)["id"]
    waiting: dict[int, tuple[LoggedDecision, dict[str, float] | None]] = {}
    for decision, part in log_of(connection, key):
        if part is not None:
            follower.learn(part)
            continue
        try:
            waiting[decision.round] = decision, follower.decide(decision)
        except (InputError, UnsupportedError) as wrong:
            raise InputError(f"decision {decision.id!r} cannot be made by this policy: {wrong}") from wrong
        if len(waiting) >= _PAGE:
            _compare(connection, key, follower, waiting)
    _compare(connection, key, follower, waiting)
    kinds = {"decision": np.int64, "arm": np.int64, "success": np.bool_}
    columns: dict[str, Any] = {
        column: np.array(follower.rows[column], dtype=kinds.get(column, np.float64))
        for column in Trials.__dataclass_fields__
    }
    cascade = follower.spec.reward == "cascade"
    return estimate(
        Trials(**columns), follower.count, cascade=cascade, left_out=follower.left_out, level=level,
        resamples=resamples, seed=seed,
    )  # fmt: skip


def _compare(connection: Connection, key: int, follower: _Follower, waiting: dict[int, Any]) -> None:
    """Look up what came of decisions, and write them down."""
    if waiting:
        reports = {(key, number): Reports() for number in waiting}
        read_reports(connection, reports)
        for number, (decision, policy_allocation) in waiting.items():
            follower.compare(decision, reports[key, number], policy_allocation)
        waiting.clear()


def _follower(
    connection: Connection,
    name: str,
    policy: Mapping[str, Any] | None,
    law: Any,
    fades: Mapping[str, float | None] | None,
) -> _Follower:
    row = row_of(connection, name)
    spec = AllocatorSpec.model_validate_json(row["spec"])
    arms = [ArmSpec.model_validate_json(arm.spec) for arm in arms_of(connection, row["id"])]
    changed = {"policy": policy, "law": law}
    spec = spec.model_copy(
        update={"guard": None} | {field: v for field, v in changed.items() if v is not None} | dict(fades or {})
    )
    if law is not None:
        arms = [arm.model_copy(update={"law": None}) for arm in arms]
    new_policy = build_policy(spec, arms, row["seed"])
    if fades is None and in_order(new_policy):  # a policy that does not fade so, for an allocator whose evidence does
        spec = spec.model_copy(update={"half_life": None, "window": None})
    check_fading(spec, new_policy)
    state, fading = new_policy.start(), spec.fading
    windows = None if fading is None else FadingSum(fading)
    if not in_order(new_policy):
        table = schema.imports.c
        for after, text in connection.execute(
            select(table.after, table.evidence).where(table.allocator_id == row["id"])
        ):
            if not after:  # a warm start, known before the first decision
                body = EvidenceBody.model_validate_json(text)
                names = [arm.name for arm in arms]
                warm = Evidence.from_dict(body.model_dump(), names).bins
                state.evidence.bins[...] += warm
                if windows is not None:
                    windows.add(warm)
    return _Follower(spec, [arm.name for arm in arms], new_policy, state, windows)
