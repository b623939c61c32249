"""Signing in: what a browser keeps is a short-lived token, never the key.

A token names its key, when its owner signed in and until when it is good. It is signed (HMAC-SHA-256) with what the
database keeps of the key, so every worker can check it, nothing more is stored, and a revoked key ends it.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass

from headgate.service.store.keys import Key

COOKIE = "headgate_session"
LIFE = 3600
"""Seconds that a token is good for. While a page is open it is renewed."""
LONGEST = 12 * 3600
"""Seconds after which a key must be given again, renewed or not."""


@dataclass(frozen=True, slots=True)
class Session:
    """A visitor who has signed in; times are whole seconds since 1970."""

    key: Key
    begun: int
    until: int

    def token(self) -> str:
        """Return what is kept in the cookie."""
        return ".".join((self.key.id, str(self.begun), str(self.until), _signature(self)))

    def cookie(self, secure: bool) -> str:
        """Return the header that keeps it where no script can read it and no other site can send it."""
        age = max(self.until - int(time.time()), 0)
        rules = f"Max-Age={age}; Path=/; HttpOnly; SameSite=strict{'; Secure' if secure else ''}"
        return f"{COOKIE}={self.token()}; {rules}"

    def renewed(self) -> Session | None:
        """Return a session that lasts longer, if half of this one is over and a longer one may be had."""
        now = int(time.time())
        until = min(now + LIFE, self.begun + LONGEST)
        return Session(self.key, self.begun, until) if self.until - now < LIFE // 2 and until > self.until else None


def begin(key: Key) -> Session:
    """Sign somebody in who has shown a key."""
    now = int(time.time())
    return Session(key, now, now + LIFE)


def session_of(token: str, keys: Mapping[str, Key]) -> Session | None:
    """Return the session of a token that we signed, that is not over, and whose key is in use."""
    parts = token.split(".")
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() and len(part) < 12 for part in parts[1:3]):
        return None
    key = keys.get(parts[0])
    if key is None or key.revoked_at is not None:
        return None
    session = Session(key, int(parts[1]), int(parts[2]))
    right = hmac.compare_digest(_signature(session).encode(), parts[3].encode())
    now = time.time()
    return session if right and session.begun - LIFE < now < session.until else None


def _signature(session: Session) -> str:
    text = f"headgate session {session.key.id} {session.begun} {session.until}"
    return hmac.new(session.key.digest.encode(), text.encode(), hashlib.sha256).hexdigest()
