"""The first tables. A database that is new gets the newest ones at once, so nobody has to make these any more."""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """There is nothing to upgrade from."""
