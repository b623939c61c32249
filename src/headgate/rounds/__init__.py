"""Tables of whole rounds: arms that share a round's fate, as they were or completed by kinds."""

from headgate.rounds.crossfit import Choice, choose
from headgate.rounds.table import Rounds

__all__ = ["Choice", "Rounds", "choose"]
