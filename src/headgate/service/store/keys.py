"""API keys: made here, shown once, kept only as digests.

A secret is 256 random bits, so a plain SHA-256 of it cannot be reversed by guessing, and checking one costs nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, insert, select, update

from headgate.errors import InputError
from headgate.service import clock
from headgate.service.faults import NotFoundError
from headgate.service.store.audit import note
from headgate.service.store.schema import keys

Scope = Literal["read", "decide", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "decide", "admin")  # each may do all that those before it may


@dataclass(frozen=True, slots=True)
class Key:
    """A key as it is stored: who it is for and what it may do, not the secret."""

    id: str
    name: str
    digest: str
    scope: Scope
    rate: float
    """Requests a second, in the long run; bursts may be twice that."""
    created_at: int
    revoked_at: int | None = None

    def may(self, scope: Scope) -> bool:
        """Whether the key is good for that."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


def create_key(connection: Connection, actor: str, name: str, scope: str, rate: float) -> str:
    """Store a new key and return its secret, which is not stored."""
    if scope not in SCOPES:
        raise InputError(f"scope must be one of {', '.join(SCOPES)}, got {scope!r}")
    if not name or len(name) > 100 or not name.isprintable():
        raise InputError(f"a key's name must be printable text of 1 to 100 characters, got {name!r}")
    if not 0.0 < rate < float("inf"):
        raise InputError(f"rate must be requests a second, > 0, got {rate!r}")
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    connection.execute(
        insert(keys).values(id=key_id, name=name, digest=digest(secret), scope=scope, rate=rate, created_at=clock.now())
    )
    note(connection, actor, "create key", key_id, {"name": name, "scope": scope})
    return f"hg_{key_id}_{secret}"


def revoke_key(connection: Connection, actor: str, key_id: str) -> None:
    """Make a key useless, within seconds for workers that are running."""
    done = connection.execute(
        update(keys).where(keys.c.id == key_id, keys.c.revoked_at.is_(None)).values(revoked_at=clock.now())
    )
    if not done.rowcount:
        raise NotFoundError(f"there is no key {key_id!r} in use")
    note(connection, actor, "revoke key", key_id, {})


def all_keys(connection: Connection) -> list[Key]:
    """Return every key, revoked ones too, oldest first."""
    return [Key(*row) for row in connection.execute(select(keys).order_by(keys.c.created_at))]


def match(token: str, known: dict[str, Key]) -> Key | None:
    """Return the key whose secret this is, or None; the time taken tells nothing of how close it was."""
    prefix, _, rest = token.partition("_")
    key_id, _, secret = rest.partition("_")
    key = known.get(key_id)
    right = hmac.compare_digest(digest(secret), key.digest if key else digest(""))
    return key if key and right and prefix == "hg" and key.revoked_at is None else None


def digest(secret: str) -> str:
    """Return what is stored of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()
