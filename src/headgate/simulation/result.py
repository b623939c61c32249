"""What a simulation returns: curves by policy, a tidy table, and the files it is kept in."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from headgate import checks, files
from headgate.errors import InputError
from headgate.extras import extra
from headgate.frames import Shown, html
from headgate.laws import Floats
from headgate.simulation.play import MEASURES
from headgate.simulation.store import versions


class Summary(NamedTuple):
    """What one policy came to in the last round, over the runs."""

    policy: str
    regret: float
    """Mean expected regret."""
    low: float
    """The mean's confidence interval, by Student's t; NaN for a single run."""
    high: float
    spread: float
    """Standard deviation between runs."""
    realised: float
    reward: float
    share: float
    """Expected reward as a share of the optimum's."""


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Result(Shown):
    """Regret of each policy at the checkpoints: `regret["thompson"]` is (runs, C), as the others."""

    rounds: NDArray[np.int64]
    """The checkpoints, (C,)."""
    regret: Mapping[str, Floats]
    """Expected reward of the optimum less that of what was played, added up over rounds."""
    realised: Mapping[str, Floats]
    """Reward that the optimum got in the same world less what the policy got."""
    reward: Mapping[str, Floats]
    """Reward that the policy got."""
    optimum: Mapping[str, Floats]
    """Expected reward of the optimum."""
    configuration: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=versions)
    seconds: float = 0.0
    """How long it took; of a resumed simulation, the last part."""

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies' names, in the order they were given."""
        return tuple(self.regret)

    def summary(self, level: float = 0.9) -> list[Summary]:
        """Return the final regret of each policy with a confidence interval for its mean."""
        checks.numbers("level", level, most=1.0, open_least=True)
        return [self._summary(policy, level) for policy in self.policies]

    def _summary(self, policy: str, level: float) -> Summary:
        final_regret, optimum = self.regret[policy][:, -1], self.optimum[policy][:, -1]
        runs = final_regret.size
        mean = float(final_regret.mean())
        spread = float(final_regret.std(ddof=1)) if runs > 1 else float("nan")
        half = float(stdtrit(runs - 1, 0.5 + level / 2.0)) * spread / runs**0.5 if runs > 1 else float("nan")
        return Summary(
            policy,
            mean,
            mean - half,
            mean + half,
            spread,
            float(self.realised[policy][:, -1].mean()),
            float(self.reward[policy][:, -1].mean()),
            1.0 - mean / float(optimum.mean()) if optimum.any() else float("nan"),
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return a tidy table as columns: one row for each policy, run and checkpoint."""
        runs = len(self.regret[self.policies[0]])
        count = runs * self.rounds.size
        table: dict[str, NDArray[Any]] = {
            "policy": np.repeat(np.array(self.policies, dtype=np.str_), count),
            "run": np.tile(np.repeat(np.arange(runs), self.rounds.size), len(self.policies)),
            "round": np.tile(self.rounds, runs * len(self.policies)),
        }
        for name in MEASURES:
            table[name] = np.concatenate([getattr(self, name)[policy].ravel() for policy in self.policies])
        return table

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw expected regret by round, the mean of the runs and one standard deviation: a figure or a path."""
        return extra("headgate.figures.results").draw_result(self, path)

    def _repr_html_(self) -> str:
        """Show the final regret of each policy."""
        table = self.summary()
        return html(
            repr(self).splitlines()[0], {name: [getattr(row, name) for row in table] for name in Summary._fields}
        )

    def __repr__(self) -> str:
        """Show the final regret of up to eight policies, each with its interval."""
        lines = [f"Result({len(self.policies)} policies, {len(self.regret[self.policies[0]])} runs, "
                 f"{self.rounds[-1]:,} rounds)"]  # fmt: skip
        lines += [
            f"  {row.policy}: regret {row.regret:.4g} [{row.low:.4g}..{row.high:.4g}], {row.share:.2%} of the optimum"
            for row in self.summary()[:8]
        ]
        return "\n".join([*lines, "  ..."] if len(self.policies) > 8 else lines)

    def metadata(self) -> dict[str, Any]:
        """Return versions, seed and configuration: what stands beside the table."""
        return {
            "versions": {"python": sys.version.split()[0], **self.versions},
            "seed": self.configuration.get("seed"),
            "seconds": self.seconds,
            "policies": list(self.policies),
            "configuration": dict(self.configuration),
        }

    def to_parquet(self, path: str | Path) -> Path:
        """Write the tidy table as Parquet, and beside it a JSON file with versions, seed and configuration."""
        where = Path(path)
        content = io.BytesIO()
        extra("pyarrow.parquet").write_table(extra("pyarrow").table(self.columns()), content)
        files.write(where, content.getvalue())
        files.write(where.with_suffix(".json"), json.dumps(self.metadata(), indent=2))
        return where

    @classmethod
    def from_parquet(cls, path: str | Path) -> Self:
        """Read what `to_parquet` wrote."""
        where = Path(path)
        data = json.loads(where.with_suffix(".json").read_text(encoding="utf-8"))
        table = extra("pyarrow.parquet").read_table(where)
        columns = {name: table.column(name).to_numpy() for name in ("run", "round", *MEASURES)}
        names = data["policies"]
        runs = int(columns["run"].max()) + 1
        if table.num_rows % (runs * len(names)):
            raise InputError(f"{where} is not a complete simulation of {runs} runs and {len(names)} policies")
        shape = (len(names), runs, table.num_rows // (runs * len(names)))
        curves = {name: dict(zip(names, columns[name].reshape(shape), strict=True)) for name in MEASURES}
        rounds = columns["round"].reshape(shape)[0, 0]
        return cls(
            rounds,
            **curves,
            configuration=data["configuration"],
            versions={key: v for key, v in data["versions"].items() if key != "python"},
            seconds=data["seconds"],
        )
