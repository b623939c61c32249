"""From a log to a problem: every arm's law and parameters, and what better allocation would gain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from headgate import checks
from headgate.calibration.differing.features import FeatureFit, Slopes, fit_features
from headgate.calibration.differing.rounds import RoundsFit, fit_rounds
from headgate.calibration.fitting.cautions import cautions
from headgate.calibration.fitting.choose import RANKS, ArmFit, best_arms, fit_arms
from headgate.calibration.fitting.points import Basis, Times, of_rows
from headgate.calibration.gain import Gain, gains
from headgate.calibration.log import Log, Reading
from headgate.calibration.provenance import LIKELIHOOD, problem_of
from headgate.calibration.resample import Refits, Resampler
from headgate.calibration.show import calibration_columns, calibration_words
from headgate.calibration.splits import WorthByBudget, usual_budgets, worth_by_budget
from headgate.calibration.times import choose_times
from headgate.errors import BudgetError, ParameterError
from headgate.evidence import Evidence
from headgate.extras import extra
from headgate.features import Features
from headgate.frames import Shown
from headgate.oracle import REWARDS, Reward
from headgate.problem import Problem

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Calibration(Shown):
    """What a log says: the arms, the problem they make, and what a better allocation would bring."""

    log: Log
    """Of the arms that were kept."""
    arms: tuple[ArmFit, ...]
    problem: Problem
    gains: tuple[Gain, ...]
    worth: WorthByBudget
    basis: Basis
    trim: tuple[float, float] | None
    level: float
    bootstrap: int
    left_out: tuple[str, ...]
    """The arms that were not selected."""
    replay_error: Mapping[Times, float]
    """How far p G, fitted on one half of the rows, is from the share of successes within x that the other half shows,
    on average over arms and amounts, by which times the law is fitted to; empty where there is no choice."""
    resamples: tuple[Refits, ...] = ()
    """Each arm's fits to the resamples: where bands of its curve come from."""
    by_round: bool = False
    """Whether whole rounds were resampled, rather than rows one by one."""
    features: FeatureFit | None = None
    """What features tell, where some were asked for."""
    rounds: RoundsFit | None = None
    """What whole rounds tell of at least one success, where that is the reward."""

    @property
    def reading(self) -> Reading:
        """What became of the rows."""
        return self.log.reading

    @property
    def likelihood(self) -> str:
        """Which likelihood was used, in words."""
        kept = (
            "" if self.trim is None else f"; thresholds within the {self.trim[0]:.1%} and {self.trim[1]:.1%} quantiles"
        )
        return LIKELIHOOD[self.basis] + kept + (", law truncated there" if kept else "")

    def columns(self) -> dict[str, Any]:
        """Return a row for each arm: law, activation, rate and shape with intervals, fit, and the best allocations."""
        return calibration_columns(self)

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the fitted curves and the best allocation of the largest budget: a figure, or the file's path."""
        best = self.problem.solve(max(gain.budget for gain in self.gains))
        return extra("headgate.figures.results").draw_problem(self.problem, best, path)

    def __repr__(self) -> str:
        return calibration_words(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        from headgate.calibration.report.data import as_data  # noqa: PLC0415  # it describes this very class

        return as_data(self)

    def write(self, folder: str | Path) -> Path:
        """Write problem.toml, evidence.json, calibration.json, figures and calibration.html; return the page's path."""
        from headgate.calibration.report.write import write  # noqa: PLC0415  # matplotlib is an extra, and not light

        return write(self, Path(folder))


def calibrate(
    log: Log,
    *,
    law: str | None = None,
    laws: Sequence[str] | None = None,
    times: Times = "auto",
    trim: tuple[float, float] | None = None,
    select: int | None = None,
    by: str = "ks",
    budgets: Sequence[float] | None = None,
    level: float = 0.9,
    bootstrap: int = 200,
    seed: int = 0,
    features: Features | Sequence[str] | None = None,
    slopes: Slopes = "auto",
    reward: Reward = "sum",
    progress: Progress = lambda *_: None,
) -> Calibration:
    """Fit every arm of a log, and value allocations.

    Parameters
    ----------
    log
        What was read, by `headgate.calibration.reading.read_log`.
    law
        The law of all arms; without it, each arm's own, the one with the smallest AIC.
    laws
        Which are compared; by default all that the thresholds may follow.
    times
        Where failures show a time too: fit the law to the times of "all" rows, as the paper does, or of "successes",
        which does not need activation and speed to be independent; "auto": whichever foretells better what replay
        counts in rows that were held out.
    trim
        Two quantiles: thresholds outside are left out, and the law is truncated there, as in the paper.
    select
        Keep only so many arms, those that fit best.
    by
        What best is: "ks" (Kolmogorov and Smirnov) or "rows".
    budgets
        What to allocate; by default a quarter, a half and all of what a round usually had.
    level
        Nominal coverage of intervals.
    bootstrap
        How many resamples intervals of gains are made of; 0: none.
    seed
        The same seed gives the same numbers.
    features
        Columns that the log was read with (`Columns(features=...)`), or `headgate.Features` that declare them: rates
        and activations are regressed on them (cure regression), and what they foretell and gain is held out.
    slopes
        Whose slopes are: those of all arms together ("shared"), each arm's own ("arm"), or whichever foretells rows
        that were held out better ("auto").
    reward
        "cascade": value allocations by the chance of at least one success a round too, from whole rounds, whose
        arms are not taken to be independent. Needs a log read with `Columns(round=..., keep_rounds=True)`.
    progress
        Called as the work goes on.
    """
    if not 0.0 < level < 1.0:
        raise ParameterError(f"level must be within (0, 1), got {level!r}")
    checks.whole("bootstrap", bootstrap, least=0)
    checks.choice("times", times, get_args(Times))
    checks.choice("by", by, RANKS)
    checks.choice("reward", reward, REWARDS)
    if select is not None:
        checks.whole("select", select, most=log.arms)
    if budgets:
        checks.numbers("budget", budgets, BudgetError, open_least=True)
    if features is not None and trim is not None:
        raise ParameterError(f"features are of all rows: leave out trim, got {trim!r}")
    total = log.arms

    def fitted(basis: Basis) -> list[ArmFit]:
        points = of_rows(log.rows, log.arms, basis, trim=trim, whole=log.whole)
        return fit_arms(
            points, log.names, law=law, laws=laws, whole=log.whole, level=level,
            progress=lambda done: progress("fitting laws", done, total),
        )  # fmt: skip

    basis, fits, errors = choose_times(log, times, fitted, Resampler(log, 0, seed))
    left_out: tuple[str, ...] = ()
    if select is not None:
        kept = best_arms(fits, select, by)
        left_out = tuple(name for arm, name in enumerate(log.names) if arm not in kept)
        log, fits = only_arms(log, kept), [fits[arm] for arm in kept]
    fits = [replace(fit, cautions=cautions(fit, log, arm)) for arm, fit in enumerate(fits)]
    problem = problem_of(log, fits, basis, trim=trim, level=level, left_out=left_out)
    amounts = tuple(budgets) if budgets else usual_budgets(log)
    resampler = Resampler(log, bootstrap, seed)
    results, refits = gains(
        log, fits, problem, amounts, resampler, level=level,
        progress=lambda done: progress("resampling", done, log.arms),
    )  # fmt: skip
    by_features = by_rounds = None
    if features is not None:
        by_features = fit_features(
            log, fits, features, basis, amounts, slopes=slopes, level=level, bootstrap=bootstrap, seed=seed,
            progress=lambda done: progress("fitting features", done, 3),
        )  # fmt: skip
    if reward == "cascade":
        by_rounds = fit_rounds(
            log, budgets, level=level, bootstrap=bootstrap, seed=seed,
            progress=lambda done: progress("choosing for rounds", done, 3),
        )  # fmt: skip
    return Calibration(
        log=log,
        arms=tuple(fits),
        problem=problem,
        gains=tuple(results),
        worth=worth_by_budget(log, problem, amounts),
        basis=basis,
        trim=trim,
        level=level,
        bootstrap=bootstrap,
        left_out=left_out,
        replay_error=errors,
        resamples=refits,
        by_round=resampler.by_round,
        features=by_features,
        rounds=by_rounds,
    )


def only_arms(log: Log, arms: np.typing.NDArray[np.int64]) -> Log:
    """Return the log of some arms, in their order."""
    place = np.full(log.arms, -1)
    place[arms] = np.arange(arms.size)
    rows = log.rows.only(place[log.rows.arm] >= 0)
    rows = replace(rows, arm=place[rows.arm])
    records = log.records
    if records is not None:
        records = records.only(place[records.arm] >= 0)
        records = replace(records, arm=place[records.arm])
    names = tuple(log.names[arm] for arm in arms)
    evidence = Evidence(log.evidence.max_budget, log.evidence.bins[arms], log.evidence.edges, names)
    return replace(log, names=names, rows=rows, evidence=evidence, records=records)
