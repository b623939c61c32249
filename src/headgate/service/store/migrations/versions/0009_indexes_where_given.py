"""Indexes of subjects and of deadlines without the rows that have none: most rounds write two pages less."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make them anew."""
    for table, column in (("decisions", "subject"), ("waiting", "expires_at")):
        name, given = f"ix_{table}_allocator_id_{column}", sa.text(f"{column} IS NOT NULL")
        op.drop_index(name, table)
        op.create_index(name, table, ["allocator_id", column], sqlite_where=given, postgresql_where=given)
