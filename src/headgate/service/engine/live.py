"""Live rounds over HTTP: one is opened like a decision, and then reported and handed out step by step.

The round as it was opened is stored once, and each report of a step beside it; where it stands is a fold of these. When
it is over, by itself, by the caller or by its deadline, what every arm got and what came of it is one report of its
decision.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan
from typing import Self

from headgate.errors import InputError
from headgate.live import LiveRound
from headgate.service.bodies import ArmResult, Outcome, StepReport
from headgate.service.faults import RefusedError
from headgate.service.store.schema import Fields


@dataclass(slots=True)
class Playing:
    """A live round after so many steps; the same in every worker that follows its reports."""

    round: LiveRound
    names: list[str]
    steps: int = 0

    @classmethod
    def of_row(cls, row: Fields, reports: Iterable[Fields]) -> Self:
        """Follow the reports of a stored round."""
        data = json.loads(row["data"])
        playing = cls(LiveRound.from_json(data["round"]), data["arms"])
        for step in reports:
            playing.report(StepReport(success=bool(step["success"]), spent=step["spent"], last=bool(step["last"])))
        return playing

    def data(self) -> str:
        """Return what is stored of a round when it is opened."""
        return json.dumps({"arms": self.names, "round": self.round.to_json()}, ensure_ascii=False)

    def report(self, step: StepReport) -> None:
        """Say what came of the step that was handed out."""
        self.round.next()
        try:
            self.round.report(success=step.success, spent=step.spent)
        except InputError as wrong:
            raise RefusedError(str(wrong), "spent") from wrong
        self.steps += 1
        if step.last:
            self.round.stop()
        self.round.next()  # so that it is known whether this was the last

    def answer(self, decision_id: str) -> str:
        """Return what the caller is told: the next step, or that there is none."""
        step = self.round.next()
        left = self.round.left
        fields = None if step is None else {"number": self.steps, "arm": self.names[step.arm], "amount": step.amount}
        return json.dumps(
            {"decision_id": decision_id, "step": fields, "left": left if left < float("inf") else None,
             "done": step is None},
            ensure_ascii=False, separators=(",", ":"),
        )  # fmt: skip

    def outcome(self) -> Outcome:
        """Return what came of the arms that were served, and what each got in all."""
        feedback, results = self.round.feedback, {}
        for name, x, won, threshold in zip(
            self.names, self.round.x.tolist(), feedback.success.tolist(), feedback.threshold.tolist(), strict=True
        ):
            if x > 0.0:
                has_threshold = won and not isnan(threshold)
                results[name] = ArmResult(success=won, threshold=threshold if has_threshold else None, amount=x)
        return Outcome(results=results)
