"""A claim of the paper, the verdict, and how a claim is added: a function that looks at finished experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias, final

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


Parts: TypeAlias = Mapping[str, Part]
"""The finished experiments by name."""
Judgement: TypeAlias = tuple[Verdict, str]
Judge: TypeAlias = Callable[[Parts], Judgement]
_CLAIMS: list[tuple[str, str, str, Judge]] = []


def claim(experiment: str, where: str, says: str) -> Callable[[Judge], Judge]:
    """Add a claim, judged by the decorated function once `experiment` is finished; the page keeps their order."""

    def add(judge: Judge) -> Judge:
        _CLAIMS.append((experiment, where, says, judge))
        return judge

    return add


def all_claims(parts: Parts) -> list[Claim]:
    """Return every claim of the paper that is looked at, open where its experiment has not been run."""
    missing = "Run headgate reproduce {}."
    return [
        Claim(where, says, *(judge(parts) if name in parts else (Verdict.OPEN, missing.format(name))))
        for name, where, says, judge in _CLAIMS
    ]


def holds(condition: object) -> Verdict:
    """HOLDS or FAILS."""
    return Verdict.HOLDS if condition else Verdict.FAILS


class Ends(NamedTuple):
    """A policy in the last round: mean and standard deviation of regret, and the exponent it grows with."""

    mean: float
    sd: float
    slope: float


def lemma(parts: Parts, name: str) -> Mapping[str, Any]:
    """Return the numbers of one check of the lemmas."""
    numbers: Mapping[str, Any] = parts["lemmas"].outcome.numbers[name]
    return numbers


def initial_phase(result: Result, policy: str, arms: int, measure: str = "regret") -> tuple[int, float]:
    """Return the last checkpoint within the K floor(log T) rounds of RA-UCB's initial phase, and the regret there."""
    length = arms * int(np.log(result.rounds[-1]))
    place = int(np.count_nonzero(result.rounds <= length)) - 1
    return int(result.rounds[place]), float(getattr(result, measure)[policy][:, place].mean())


def ends(result: Result, *policies: str, measure: str = "regret") -> list[Ends]:
    """Summarise these policies; the exponent is that of the mean between T/10 and T."""
    start = int(np.searchsorted(result.rounds, result.rounds[-1] / 10))
    summaries = []
    for policy in policies:
        values: Floats = getattr(result, measure)[policy]
        mean = values.mean(axis=0)
        rise = float(np.log(max(mean[-1], 1e-12) / max(mean[start], 1e-12)))
        sd = float(values[:, -1].std(ddof=1)) if len(values) > 1 else 0.0
        slope = rise / float(np.log(result.rounds[-1] / result.rounds[start]))
        summaries.append(Ends(float(mean[-1]), sd, slope))
    return summaries
