"""A finished experiment, as it lies in its folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, final

from headgate.experiments.base import Experiment, Outcome
from headgate.simulation import Result

RECORD = "outcome.json"
FORMAT = 1  # of the record and its numbers: one with another is as good as none


@final
@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A finished experiment, as it lies in its folder."""

    experiment: Experiment[Any]
    config: Any
    outcome: Outcome
    seconds: float
    seed: int
    versions: dict[str, str]
    figure: Path | None

    @classmethod
    def load(cls, experiment: Experiment[Any], folder: Path) -> Self | None:
        """Read a finished experiment, or return None if it is not."""
        try:
            record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
            if record["format"] != FORMAT:
                return None
            results = {key: Result.from_parquet(folder / key / "result.parquet") for key in record["results"]}
            made = type(experiment.full)
            config = made(**{key: tuple(v) if isinstance(v, list) else v for key, v in record["config"].items()})
        except (OSError, ValueError, KeyError, TypeError):
            return None
        outcome = Outcome(record["source"], results, record["numbers"])
        figure = None if experiment.draw is None else folder / f"{experiment.name}.png"
        return cls(experiment, config, outcome, record["seconds"], record["seed"], record["versions"], figure)
