"""The audit log: who changed what, and when."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, insert, select

from headgate.service import clock
from headgate.service.store.schema import audit


def note(connection: Connection, actor: str, action: str, subject: str, details: dict[str, Any]) -> None:
    """Write down an action, in the transaction that does it."""
    connection.execute(
        insert(audit).values(
            at=clock.now(), actor=actor, action=action, subject=subject, details=json.dumps(details, allow_nan=False)
        )
    )


def entries(connection: Connection, limit: int = 100) -> list[dict[str, Any]]:
    """Return the latest actions, newest first."""
    rows = connection.execute(select(audit).order_by(audit.c.id.desc()).limit(limit)).all()
    return [
        {
            "at": clock.as_text(row.at),
            "actor": row.actor,
            "action": row.action,
            "subject": row.subject,
            "details": json.loads(row.details),
        }
        for row in rows
    ]
