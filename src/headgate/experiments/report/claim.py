"""A claim of the paper, and what we found of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, final

import numpy as np

from headgate.experiments.part import Part
from headgate.laws import Floats
from headgate.simulation import Result


class Verdict(StrEnum):
    """What can be said of a claim."""

    HOLDS = "holds"
    ONLY = "holds only with …"
    FAILS = "does not hold"
    OPEN = "not tested here"


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, the verdict, and the number that shows it."""

    where: str
    says: str
    verdict: Verdict
    found: str
    """In a sentence or two; for ONLY it begins with the condition."""


class Ends(NamedTuple):
    """A policy in the last round: mean and standard deviation of regret, and the exponent it grows with."""

    mean: float
    sd: float
    slope: float


class Evidence:
    """The finished parts, as claims ask for them."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        self.parts = parts

    def numbers(self, name: str) -> Mapping[str, Any] | None:
        """Return an experiment's numbers, None if it has not been run."""
        part = self.parts.get(name)
        return None if part is None else part.outcome.numbers

    def checks(self, name: str) -> Mapping[str, Any]:
        """Return the numbers of a check; checks are always run."""
        found: Mapping[str, Any] = self.parts["checks"].outcome.numbers[name]
        return found

    def result(self, name: str, key: str = "regret") -> Result | None:
        """Return a simulation of an experiment, None if it has not been run."""
        part = self.parts.get(name)
        return None if part is None else part.outcome.results[key]


def initial_phase(result: Result, policy: str, arms: int, measure: str = "regret") -> tuple[int, float]:
    """Return the last checkpoint within the K floor(log T) rounds of RA-UCB's initial phase, and the regret there."""
    length = arms * int(np.log(result.rounds[-1]))
    place = int(np.count_nonzero(result.rounds <= length)) - 1
    return int(result.rounds[place]), float(getattr(result, measure)[policy][:, place].mean())


def ends(result: Result, policy: str, measure: str = "regret") -> Ends:
    """Summarise a policy; the exponent is that of the mean between T/10 and T."""
    values: Floats = getattr(result, measure)[policy]
    mean = values.mean(axis=0)
    start = int(np.searchsorted(result.rounds, result.rounds[-1] / 10))
    rise = float(np.log(max(mean[-1], 1e-12) / max(mean[start], 1e-12)))
    sd = float(values[:, -1].std(ddof=1)) if len(values) > 1 else 0.0
    return Ends(float(mean[-1]), sd, rise / float(np.log(result.rounds[-1] / result.rounds[start])))
