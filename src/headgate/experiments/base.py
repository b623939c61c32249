"""What an experiment is: a frozen configuration, a run that returns data, and a figure drawn from the data alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final

from headgate.simulation import Result, simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

C = TypeVar("C")
LEVEL = 0.9  # of every confidence interval on the page


@final
@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a run found: simulations by name, other numbers as plain JSON data, and where the data came from."""

    source: str
    results: Mapping[str, Result] = field(default_factory=dict)
    numbers: Mapping[str, Any] = field(default_factory=dict)


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

    def config(self, *, quick: bool) -> C:
        """Return the configuration to run."""
        return self.quick if quick and self.quick is not None else self.full


def plain(config: Any) -> dict[str, Any]:
    """Return a configuration as JSON data."""
    return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(config).items()}
