"""Making again, in the order of the log, what depends on it: live rounds, and decisions of policies that are folds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

from sqlalchemy import Connection, RowMapping, select

from headgate.evidence import Evidence
from headgate.service.engine.learner import Learner
from headgate.service.engine.live import Playing
from headgate.service.engine.order import END, log_of
from headgate.service.engine.records import LoggedDecision, Reports, in_full, read_reports
from headgate.service.store import schema


def live_rounds(connection: Connection, row: RowMapping) -> Iterator[str]:
    """Play every live round again, and compare what was handed out and what was counted in the end."""
    rounds, steps = schema.live, schema.live_steps
    here = rounds.c.allocator_id == row["id"]
    query = select(rounds, schema.decisions.c.id, schema.decisions.c.expires_at).join_from(rounds, schema.decisions)
    for live in connection.execute(query.where(here).order_by(rounds.c.round)).mappings().all():
        mine = steps.c.allocator_id == row["id"], steps.c.round == live["round"]
        step_rows = connection.execute(select(steps).where(*mine).order_by(steps.c.step)).mappings().all()
        same = len(step_rows) == live["steps"]
        for place, step in enumerate(step_rows):
            again = Playing.of_row(live, step_rows[: place + 1])
            same = same and step["step"] == place and again.answer(live["id"]) == step["answer"]
        playing = Playing.of_row(live, step_rows)
        read_reports(connection, {(row["id"], live["round"]): (reports := Reports())})
        outcome, results, amounts = playing.outcome().results, reports.results, reports.amounts
        if live["done"] and reports.parts == 1:  # else it was taken back, and perhaps corrected
            same = same and {arm: in_full(result, amounts[arm]) for arm, result in results.items()} == outcome
        if not same or (playing.round.done and not live["done"]) or (results and not live["done"]):
            yield f"live round {live['id']!r} is not what its steps say"


def in_their_order(
    connection: Connection, row: RowMapping, evidence: Evidence, begun: tuple[int, int]
) -> Iterator[str]:
    """Make every decision of a policy that depends on the order again, from its beginning, and compare its state too.

    That is nothing, or where a version began to guard what acts on sums, the evidence of then.
    """
    learner = Learner(connection, row)
    state = learner.state.to_dict()  # from the state that was kept, as workers do
    table, retractions = schema.states.c, schema.retractions.c
    stored_state = connection.execute(select(schema.states).where(table.allocator_id == row["id"])).mappings().first()
    times = select(retractions.place + retractions.reports, retractions.after).where(
        retractions.allocator_id == row["id"], retractions.reports > 0
    )
    back = [(0, 0), *connection.execute(times.order_by(retractions.number)).all(), (END, END)]
    # With every retraction all was learned again without what it took back: decisions until the next one know that.
    # Of a policy that began later than its log, only what came after the last retraction can be told.
    for (until, first), (_, last) in list(pairwise(back))[-1 if any(begun) else 0 :]:
        learner.state, number = learner.policy.start(), begun[0]
        if any(begun):
            before = evidence.bins - learner.since(connection, begun[1]).bins
            learner.state.evidence.bins[...] = before[learner.active]
        for decision, part in log_of(connection, row["id"], *begun, until=until if last < END else END):
            new = number if part is None else part.place
            if (
                stored_state is not None
                and last == END
                and new >= stored_state["decisions" if part is None else "reports"]
            ):
                yield from _check_state(learner, stored_state)
                stored_state = None
            if part is not None:
                learner.learn(part)
                continue
            number += 1
            if learner.again(decision) != _answer(decision) and first <= decision.round < last:
                yield f"decision {decision.id!r} is not what its policy decides after the log before it"
    if stored_state is not None:
        yield from _check_state(learner, stored_state)
    if learner.state.to_dict() != state:
        yield "the state of its policy is not that of the log"


def _check_state(learner: Learner, stored_state: RowMapping) -> Iterator[str]:
    """Compare a state that was kept with that of a learner that has come as far."""
    if json.loads(json.dumps(learner.state.to_dict())) != json.loads(stored_state["data"]):
        yield "the state that was kept is not that of the log"


def _answer(decision: LoggedDecision) -> dict[str, float] | list[tuple[str, float]]:
    return decision.policy_allocation or decision.allocation or decision.steps or {}
