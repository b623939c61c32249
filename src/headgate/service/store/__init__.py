"""The database: append-only decisions and reports are the truth, evidence is their sum."""

from headgate.service.store.database import Database
from headgate.service.store.opening import open_database

__all__ = ["Database", "open_database"]
