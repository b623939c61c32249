"""Alembic's entry: it is given a connection by `store.database`, in a transaction that holds the lock."""

from alembic import context

from headgate.service.store.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
