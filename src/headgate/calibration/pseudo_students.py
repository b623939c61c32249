"""The paper's EdNet table from raw user files: 20 questions, 5,000 answers of each, grouped into pseudo-students.

The recipe, as the paper's appendix has it: of all questions with at least 5,000 interactions, retain 5,000 of each;
fit a Weibull law, truncated at the 2.5% and 97.5% quantiles; select the 20 questions whose law lies closest to their
times (Kolmogorov and Smirnov); pseudo-student j has the j-th of the interactions retained of each question.

Which interactions are retained is the paper's secret. Here they are spread over users by a fixed rule on the numbers of
user, question and seed, which depends neither on the order of files nor on the engine.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from headgate import checks, files
from headgate.calibration.engine import Engine, Table, connect
from headgate.calibration.engine.add_up import in_order
from headgate.calibration.fitting.choose import RANKS, fit_arms
from headgate.calibration.fitting.points import of_rows
from headgate.calibration.log import Rows
from headgate.calibration.reading.ednet_raw import EdnetRaw
from headgate.errors import InputError
from headgate.extras import extra
from headgate.laws import Weibull

HEADER = ("pseudo_user_id", "question_id", "response_time_ms", "is_correct")
TRIM = (0.025, 0.975)
"""The quantiles at which the paper trims."""
_TOGETHER = 100  # questions fitted at a time
_PRIME = 2**31 - 1


@final
@dataclass(frozen=True, slots=True)
class Selected:
    """What was written, and what it was chosen from."""

    path: Path
    questions: tuple[str, ...]
    """In the order of their names, as in the table."""
    distances: tuple[float, ...]
    """The Kolmogorov-Smirnov distance of each."""
    candidates: int
    """How many questions had enough interactions."""
    students: int


def write_pseudo_students(
    source: str | Path,
    out: str | Path,
    *,
    how: EdnetRaw | None = None,
    select: int = 20,
    by: str = "ks",
    interactions: int = 5000,
    law: str = Weibull.name,
    trim: tuple[float, float] = TRIM,
    seed: int = 0,
    engine: object = None,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Selected:
    """Write the paper's table, one row for each pseudo-student and question.

    Parameters
    ----------
    source
        The folder with a file for each user, or a glob of them.
    out
        The table: a CSV file. While users are being read, finished parts lie in a folder of the same name with `.parts`
        behind it, and a run that was stopped goes on from there; it is removed in the end.
    how
        How user files are read.
    select
        How many questions.
    by
        Which: "ks", the smallest distance of law and times, or "rows", the most interactions.
    interactions
        So many of each question, which is also the number of pseudo-students; questions with fewer are left out.
    law
        The law whose distance counts.
    trim
        Two quantiles: times outside are left out of the fit, but not of the table.
    seed
        Another seed retains other interactions.
    engine
        None for DuckDB in this process, or what `headgate.calibration.reading.read_log` takes.
    progress
        Called with what is being done, how much of it is done, and how much there is (0: not known).
    """
    checks.whole("select", select)
    checks.whole("interactions", interactions)
    checks.whole("seed", seed, least=0)
    checks.choice("by", by, RANKS)
    path = Path(out)
    parts = path.with_name(f"{path.name}.parts")
    reader = EdnetRaw() if how is None else how
    reader = EdnetRaw(reader.questions, reader.limit, reader.bundles, parts if reader.keep is None else reader.keep)
    with connect(engine) as opened:
        answers = reader.answers(opened, source, lambda what: progress(what, 0, 0)).rows
        answers = answers.filter(answers.seconds > 0.0)  # nobody answers within the millisecond of entering
        counts = answers.group_by("question").agg(n=answers.count())
        frame = counts.filter(counts.n >= interactions).to_pandas()
        rows = dict(zip(frame.question, frame.n, strict=True))
        names = list(in_order(rows))
        if len(names) < select:
            raise InputError(
                f"{select} questions with at least {interactions:,} interactions must be there, got {len(names)}"
            )
        distances = _distances(opened, answers, names, interactions, law, trim, seed, progress)
        worth = distances if by == "ks" else {name: -float(rows[name]) for name in names}
        best = sorted(names, key=lambda name: worth[name])[:select]
        chosen = [name for name in names if name in set(best)]
        table = _retained(answers, chosen, interactions, seed).to_pandas()
    progress("writing pseudo-students", 0, 0)
    files.write(path, _csv(table, chosen))
    _remove(parts)
    return Selected(path, tuple(chosen), tuple(distances[name] for name in chosen), len(names), interactions)


def _retained(answers: Table, names: list[str], interactions: int, seed: int) -> Table:
    """Rows (question, seconds, success, place): the first so many of each question in an order without meaning."""
    ibis = extra("ibis")
    some = answers.filter(answers.question.isin(names))
    number = some.question.re_extract(r"(\d+)", 1).cast("int64")
    mixed = (some.user % _PRIME * 48_271 + number * 69_621 + (seed % _PRIME) * 16_807 + 12_345) % _PRIME
    mixed = (mixed * 39_373 + number * 48_271) % _PRIME  # numbers stay below 2^63 in every engine
    mixed = (mixed * 16_807 + some.user % 1009 * 742_938) % _PRIME
    keyed = some.mutate(key=mixed)
    order = ibis.window(group_by="question", order_by=[keyed.key, keyed.user, keyed.seconds, keyed.success])
    placed = keyed.mutate(place=ibis.row_number().over(order))
    return placed.filter(placed.place < interactions).select("question", "seconds", "success", "place")


def _distances(
    engine: Engine,
    answers: Table,
    names: list[str],
    interactions: int,
    law: str,
    trim: tuple[float, float],
    seed: int,
    progress: Callable[[str, int, int], None],
) -> dict[str, float]:
    """How far the fitted law of each question lies from its times; a hundred questions at a time."""
    distances: dict[str, float] = {}
    for start in range(0, len(names), _TOGETHER):
        some = names[start : start + _TOGETHER]
        before = engine.kept
        table = engine.keep(_retained(answers, some, interactions, seed)).to_pandas()
        engine.drop_since(before)
        arm = table.question.map({name: place for place, name in enumerate(some)}).to_numpy(dtype=np.int64)
        seconds, right = table.seconds.to_numpy(dtype=np.float64), table.success.to_numpy(dtype=np.bool_)
        same = np.ones(arm.size)
        rows = Rows(arm, np.inf * same, right, seconds, same.astype(np.int64))
        fits = fit_arms(of_rows(rows, len(some), "all", trim=trim), some, law=law)
        distances |= {fit.name: float(fit.ks) if np.isfinite(fit.ks) else np.inf for fit in fits}
        progress("fitting questions", len(distances), len(names))
    return distances


def _csv(table: Any, names: list[str]) -> str:
    """The table by pseudo-student and question; milliseconds to the tenth."""
    order = {name: place for place, name in enumerate(names)}
    rows = sorted(
        (int(place), order[question], float(seconds), bool(success))
        for question, seconds, success, place in table.itertuples(index=False, name=None)
    )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for place, question, seconds, success in rows:
        writer.writerow((f"pseudo_u{place + 1}", names[question], f"{1000.0 * seconds:.1f}", int(success)))
    return text.getvalue()


def _remove(parts: Path) -> None:
    """Remove the parts, and nothing that somebody else put there."""
    if not parts.is_dir():
        return
    for path in parts.iterdir():
        if path.name.startswith("part-") and path.suffix in {".parquet", ".json"}:
            path.unlink()
    if not any(parts.iterdir()):
        parts.rmdir()
