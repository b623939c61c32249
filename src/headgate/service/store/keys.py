"""API keys: made here, shown once, kept only as digests.

A secret is 256 random bits, so a plain SHA-256 of it cannot be reversed by guessing, and checking one costs nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, insert, select, update

from headgate.errors import InputError
from headgate.service import clock
from headgate.service.faults import NotFoundError
from headgate.service.store.audit import note
from headgate.service.store.schema import keys

Scope = Literal["read", "decide", "admin"]
_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\*?")
_MOST_PATTERNS = 100
SCOPES: tuple[Scope, ...] = ("read", "decide", "admin")  # each may do all that those before it may


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks: the key, and the allocators that exist for it."""

    key_id: str | None = None
    bound: tuple[str, ...] | None = None
    """Names, or beginnings of names with a star; None: all."""

    def sees(self, name: str) -> bool:
        """Whether an allocator of that name exists for it.

        >>> shop = Asker("k", ("shop-*", "quiz"))
        >>> shop.sees("shop-1"), shop.sees("quiz"), shop.sees("quiz2"), shop.sees("shop")
        (True, True, False, False)
        """
        if self.bound is None:
            return True
        return any(name.startswith(one[:-1]) if one.endswith("*") else name == one for one in self.bound)


ANYBODY = Asker()
"""Who asks where keys are not used, and the service itself."""


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
    allocators: str | None = None
    """Names of the allocators it is bound to, or beginnings of names with a star, between spaces; None: all."""

    def asker(self) -> Asker:
        """Return who asks with it, for the log and for what may be seen."""
        return Asker(self.id, None if self.allocators is None else tuple(self.allocators.split(" ")))

    def may(self, scope: Scope) -> bool:
        """Whether the key is good for that."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


def create_key(
    connection: Connection, actor: str, name: str, scope: str, rate: float, allocators: Sequence[str] | None = None
) -> str:
    """Store a new key and return its secret, which is not stored.

    `allocators` binds it: names, or beginnings of names with a star. Others do not exist for it.
    """
    if scope not in SCOPES:
        raise InputError(f"scope must be one of {', '.join(SCOPES)}, got {scope!r}")
    if not name or len(name) > 100 or not name.isprintable():
        raise InputError(f"a key's name must be printable text of 1 to 100 characters, got {name!r}")
    if not 0.0 < rate < float("inf"):
        raise InputError(f"rate must be requests a second, > 0, got {rate!r}")
    if allocators is not None and not 1 <= len(allocators) <= _MOST_PATTERNS:
        raise InputError(f"a key is bound to 1 to {_MOST_PATTERNS} allocators, got {len(allocators)}")
    for one in allocators or ():
        if _PATTERN.fullmatch(one) is None:
            raise InputError(f"allocators must be names, or beginnings of names with a star (shop-*), got {one!r}")
    bound = None if allocators is None else " ".join(allocators)
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    connection.execute(
        insert(keys).values(
            id=key_id,
            name=name,
            digest=digest(secret),
            scope=scope,
            rate=rate,
            created_at=clock.now(),
            allocators=bound,
        )
    )
    details = {"name": name, "scope": scope} | ({} if bound is None else {"allocators": bound})
    note(connection, actor, "create key", key_id, details)
    return f"hg_{key_id}_{secret}"


def revoke_key(connection: Connection, actor: str, key_id: str) -> None:
    """Make a key useless, within seconds for workers that are running."""
    result = connection.execute(
        update(keys).where(keys.c.id == key_id, keys.c.revoked_at.is_(None)).values(revoked_at=clock.now())
    )
    if not result.rowcount:
        raise NotFoundError(f"there is no key {key_id!r} in use")
    note(connection, actor, "revoke key", key_id, {})


def all_keys(connection: Connection) -> list[Key]:
    """Return every key, revoked ones too, oldest first."""
    return [Key(*row) for row in connection.execute(select(keys).order_by(keys.c.created_at))]


def key_of_token(token: str, keys: dict[str, Key]) -> Key | None:
    """Return the key whose secret this is, or None; the time taken tells nothing of how close it was."""
    prefix, _, rest = token.partition("_")
    key_id, _, secret = rest.partition("_")
    key = keys.get(key_id)
    right = hmac.compare_digest(digest(secret), key.digest if key else digest(""))
    return key if key and right and prefix == "hg" and key.revoked_at is None else None


def digest(secret: str) -> str:
    """Return what is stored of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()
