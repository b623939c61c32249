"""A decision's budget and an allocator's `on_expiry` in columns of their own: both were read out of JSON texts."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_PAGE = 5_000
_allocators = sa.table("allocators", sa.column("id"), sa.column("spec"), sa.column("on_expiry"))
_decisions = sa.table(
    "decisions", sa.column("allocator_id"), sa.column("round"), sa.column("request"), sa.column("budget")
)


def upgrade() -> None:
    """Add them, and fill them from the texts: in Python, where a float is read exactly."""
    op.add_column("allocators", sa.Column("on_expiry", sa.String(length=10), nullable=False, server_default="ignore"))
    op.add_column("decisions", sa.Column("budget", sa.Float(precision=53), nullable=True))
    connection = op.get_bind()
    for key, spec in connection.execute(sa.select(_allocators.c.id, _allocators.c.spec)).all():
        connection.execute(
            sa.update(_allocators).where(_allocators.c.id == key).values(on_expiry=json.loads(spec)["on_expiry"])
        )
        _fill_budgets(connection, key)


def _fill_budgets(connection: sa.Connection, allocator_id: int) -> None:
    table, start = _decisions.c, 0
    mine = table.allocator_id == allocator_id
    fill = (
        sa.update(_decisions)
        .where(mine, table.round == sa.bindparam("turn"))
        .values(budget=sa.bindparam("amount", type_=sa.Float(53)))
    )
    while True:
        page = connection.execute(
            sa.select(table.round, table.request).where(mine, table.round >= start).order_by(table.round).limit(_PAGE)
        ).all()
        if not page:
            return
        connection.execute(fill, [{"turn": turn, "amount": json.loads(text)["budget"]} for turn, text in page])
        start = page[-1][0] + 1
