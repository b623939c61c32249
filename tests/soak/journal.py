"""The test's own record of what the service acknowledged, and the comparison with what the service then has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import headgate as hg
from headgate.client import Client, Decision
from headgate.kernels.bins import COUNT, SUM

ARMS = [f"q{place}" for place in range(6)]
MAX_BUDGET = 40.0
KINDS = ("failed", "played", "seen")


@dataclass(slots=True)
class Journal:
    """Acknowledged answers: decisions, and per decision what was accepted of each arm."""

    decisions: dict[str, Decision] = field(default_factory=dict)
    results: dict[str, dict[str, float | None]] = field(default_factory=dict)

    def decided(self, decision: Decision) -> None:
        """Take note of a decision; the same id must always get the same answer."""
        before = self.decisions.setdefault(decision.decision_id, decision)
        assert before == decision

    def heard(self, key: str, results: dict[str, float | None]) -> None:
        """Take note of results that were accepted now or before."""
        known = self.results.setdefault(key, {})
        for arm, value in results.items():
            assert known.setdefault(arm, value) == value

    def evidence(self) -> hg.Evidence:
        """The evidence of one process that saw all of it, in the order of this journal."""
        rows: list[tuple[int, float, bool, float]] = []
        for key, results in self.results.items():
            amounts = self.decisions[key].allocation or {}
            rows += [
                (ARMS.index(arm), amounts[arm], value is not None, np.nan if value is None else value)
                for arm, value in results.items()
                if amounts[arm] > 0.0
            ]
        columns = [np.array(column) for column in zip(*rows, strict=True)]
        return hg.Evidence.of_rows(*columns, arms=len(ARMS), max_budget=MAX_BUDGET)

    def compare(self, client: Client, name: str) -> None:
        """Everything acknowledged is in the log as it was acknowledged, and nothing else; the evidence is its sum."""
        past = {one.decision.decision_id: one for one in client.history(name, page=1000)}
        assert past.keys() == self.decisions.keys()
        for key, decision in self.decisions.items():
            assert past[key].decision == decision
            assert past[key].results == self.results.get(key, {})
        assert sorted(one.round for one in past.values()) == list(range(len(past)))
        assert np.array_equal(bins_of(client.export_evidence(name)), self.evidence().bins)
        counts = client.allocator(name).counts
        assert counts.decisions == len(past)
        assert counts.complete == sum(one.complete for one in past.values())


def bins_of(export: dict[str, Any]) -> Any:
    """The export as the bins of an `Evidence`."""
    found = hg.Evidence.empty(len(ARMS), export["max_budget"])
    for arm, kinds in export["arms"].items():
        for kind, cells in kinds.items():
            for place, count, total in cells:
                found.bins[ARMS.index(arm), KINDS.index(kind), [COUNT, SUM], place] = count, total
    return found.bins
