"""What an experiment is: a frozen configuration, a run that returns data, and a figure drawn from the data alone.

`Part` is a finished one, as it lies in its folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar, final

from headgate.simulation import Result, simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

C = TypeVar("C")
LEVEL = 0.95  # the level of every confidence interval on the page
RECORD = "outcome.json"
FORMAT = 3  # the version of the record and its numbers: a record of another version is not read


@final
@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a run found: simulations by name, other numbers as plain JSON data, and where the data came from."""

    source: str
    results: Mapping[str, Result] = field(default_factory=dict)
    numbers: Mapping[str, Any] = field(default_factory=dict)


class Table(NamedTuple):
    """A table of texts below a figure."""

    caption: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@final
@dataclass(frozen=True, slots=True)
class Setting:
    """Where an experiment is run, and with what; nothing here but the seed and the data changes a number."""

    folder: Path
    seed: int = 0
    workers: int = 1
    data: Path | None = None

    def simulate(self, key: str, problem: Any, policies: Mapping[str, Any], **options: Any) -> Result:
        """Simulate, keeping what is finished in a folder of that name, so that an interrupted run goes on."""
        options |= {"seed": self.seed, "workers": self.workers, "out": self.folder / key, "resume": True}
        return simulate(problem, policies, **options)

    def file(self, *names: str) -> Path | None:
        """Return the first of these files that the data folder has."""
        if self.data is None:
            return None
        return next((path for path in (self.data / name for name in names) if path.is_file()), None)


@final
@dataclass(frozen=True, slots=True)
class Experiment(Generic[C]):
    """One figure of the page."""

    name: str
    title: str
    paper: str
    """What it answers in the paper."""
    full: C
    """The paper's setting."""
    run: Callable[[C, Setting], Outcome]
    draw: Callable[[C, Outcome, Figure], None] | None
    """None for an experiment of numbers only."""
    caption: Callable[[C, Outcome], str]
    quick: C | None = None
    """The same with fewer rounds or runs; without it, the same."""
    size: tuple[float, float] = (8.0, 5.0)
    inputs: tuple[str, ...] = ()
    """Files of the data folder that change its numbers."""
    tables: Callable[[C, Outcome], Sequence[Table]] = lambda *_: ()
    """What is shown below the figure beside the regrets of its simulations."""

    def config(self, *, quick: bool) -> C:
        """Return the configuration to run."""
        return self.quick if quick and self.quick is not None else self.full


def plain(config: Any) -> dict[str, Any]:
    """Return a configuration as JSON data."""
    return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(config).items()}


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
            options = {key: tuple(v) if isinstance(v, list) else v for key, v in record["config"].items()}
            config = type(experiment.full)(**options)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        outcome = Outcome(record["source"], results, record["numbers"])
        figure = None if experiment.draw is None else folder / f"{experiment.name}.png"
        return cls(experiment, config, outcome, record["seconds"], record["seed"], record["versions"], figure)
