"""How a service is run: what the command line says, handed to every worker through the environment."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import Self

_NAME = "HEADGATE_SERVICE"
REMEMBERED_ARMS = 20_000


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the state is, who may ask, and how much at once."""

    database: str = "sqlite:///headgate.db"
    keys: bool = True
    """Whether every request needs an API key."""
    local: bool = True
    """Whether only this machine can reach it."""
    most_bytes: int = 1_000_000
    """Of a request's body."""
    keep_days: float | None = None
    """Days after which decisions become their sum, of allocators that do not say; None: never."""
    remember_arms: int = REMEMBERED_ARMS
    """Of how many arms a worker keeps learners in memory."""
    demo: bool = False
    """Whether a simulated classroom plays along."""
    otel: bool = False
    """Whether traces and metrics are sent by OpenTelemetry."""

    def to_environment(self) -> None:
        """Leave the settings for the workers that this process starts."""
        os.environ[_NAME] = json.dumps(asdict(self))

    @classmethod
    def from_environment(cls) -> Self:
        """Read what `to_environment` left."""
        return cls(**json.loads(os.environ.get(_NAME, "{}")))
