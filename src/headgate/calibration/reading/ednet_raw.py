"""Raw EdNet-KT3 or KT4: a file of actions for each user, and what the right answers are.

A student enters a bundle, responds to its questions (and may change an answer), and submits. An attempt is a question
answered during one visit to its bundle. What counts is its last response up to the submit, and the time that took:

- since the bundle was entered, for its only question;
- of a bundle with several questions, since the last response to the question settled before it: then the times of a
  bundle add up to the time spent on it, as allocations add up to a budget. The first question has the time of reading
  the common text. (`bundles="enter"` counts from entering for each of them instead.)

The first attempt at a question counts, since afterwards its explanation has been seen. Lectures, explanations, audio
and purchases are no attempts. Nothing depends on the order of lines in a file, only on time: at the same millisecond
what ends comes before what begins.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

from headgate import checks
from headgate.calibration.engine import Engine, Table
from headgate.calibration.reading.ednet_pseudo import LIMIT
from headgate.calibration.reading.parts import Part, in_parts
from headgate.calibration.reading.screen import TORN, Clean, count_reasons, read_and_dropped
from headgate.calibration.reading.tables import FILE, columns_of, files, open_table, text_table, torn
from headgate.errors import InputError
from headgate.extras import extra

ACTIONS = ("timestamp", "action_type", "item_id", "user_answer")
QUESTIONS = ("question_id", "bundle_id", "correct_answer")
_USER = re.compile(r"u\d+\.csv(\.gz)?")
_VISIT = ("user", "bundle", "visit")
_ATTEMPT = (*_VISIT, "question")
_LETTERS = "abcd"
_CONFLICT = 7  # the code of two answers at once; 1 to 4 are a to d, 0 is anything else


@final
@dataclass(frozen=True, slots=True)
class EdnetRaw:
    """User files in a folder, and `questions.csv` there, in `contents/`, beside it, or where it is said to be."""

    questions: str | Path | None = None
    limit: float = LIMIT
    bundles: Literal["split", "enter"] = "split"
    keep: str | Path | None = None
    """A folder for what has been read of very many users, so that a run that was stopped goes on; by default none."""

    def __post_init__(self) -> None:
        """Check the options."""
        checks.choice("bundles", self.bundles, ("split", "enter"), InputError)
        checks.numbers("limit", self.limit, InputError, open_least=True)

    def open(self, engine: Engine, source: str | Path, progress: Callable[[str], None]) -> Clean:
        """Read all users, find their attempts, and say what became of each."""
        good, counts = self.answers(engine, source, progress)
        read, dropped = read_and_dropped(source, counts)
        rows = good.select(
            "success", arm=good.question, allocation=extra("ibis").null("float64"), threshold=good.seconds
        )
        return Clean(rows, "observed", read, dropped, False, "s", None, "attempts and other actions")

    def answers(self, engine: Engine, source: str | Path, progress: Callable[[str], None]) -> Part:
        """Return the good attempts (user, question, success, seconds), and how many others there are by reason."""
        progress("reading actions")
        paths = _user_files(source)
        first = text_table(engine, paths[:1]) if paths else open_table(engine, source, columns=("user_id",))
        columns_of(first, ACTIONS, source)
        questions = engine.keep(_questions(engine, self.questions, paths[0].parent if paths else None))
        if not paths:
            user = first.user_id.cast("string").re_extract(r"(\d+)", 1).cast("int64")
            return self._attempts(engine, first.mutate(user=user), questions, source)

        def read(some: list[Path]) -> Part:
            table = text_table(engine, some, named=True)
            user = table[FILE].re_extract(r"u(\d+)\.csv(\.gz)?$", 1).cast("int64")
            return self._attempts(engine, table.mutate(user=user), questions, source)

        options = (str(self.limit), self.bundles, _digest(questions))
        return in_parts(engine, paths, read, options, self.keep, progress)

    def _attempts(self, engine: Engine, table: Table, questions: Table, source: object) -> Part:
        """The attempts in a table of actions that has a column `user`."""
        columns_of(table, ACTIONS, source)
        before = torn(engine)
        actions = engine.keep(_parsed(table))
        events = engine.keep(_events(actions.filter(actions.reason.isnull()), questions))
        visits = _visits(events.filter(events.bundle.notnull()))
        attempts = engine.keep(_judged(_attempts(events, visits, self.bundles), questions, self.limit))
        others = actions.filter(actions.reason.notnull())
        counts = count_reasons(others, _lost(events), _empty(visits), attempts) | {TORN: torn(engine) - before}
        good = attempts.filter(attempts.reason.isnull())
        return Part(good.select("user", "question", "seconds", success=good.code == good.right), counts)


def _user_files(source: str | Path) -> list[Path]:
    """The files of all users; none if the source is a table of the engine."""
    path = Path(source)
    if path.is_dir() and not any(_USER.fullmatch(p.name) for p in path.iterdir()):
        path = next((path / name for name in ("KT3", "KT4") if (path / name).is_dir()), path)
    if not path.is_dir() and not path.is_file() and not any(mark in str(source) for mark in "*?["):
        return []
    paths = [p for p in files(path, (".csv",)) if _USER.fullmatch(p.name)]
    if not paths:
        raise InputError(f"{source} must have user files such as u123.csv, got none")
    return paths


def _digest(questions: Table) -> str:
    """What tells one table of right answers from another."""
    rows = sorted(map(str, questions.to_pandas().itertuples(index=False, name=None)))
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def _questions(engine: Engine, path: str | Path | None, folder: Path | None) -> Table:
    """The questions with their bundles and right answers."""
    if path is None:
        if folder is None:
            raise InputError("questions must say where the right answers are: a file or a table of the engine")
        places = [up / sub / "questions.csv" for up in (folder, folder.parent) for sub in (".", "contents")]
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            raise InputError(f"questions.csv is not there: looked in {', '.join(str(p.parent) for p in places)}")
    table = open_table(engine, path, columns=QUESTIONS)
    kept = table.select(question=table.question_id, home=table.bundle_id, right=_code(table.correct_answer))
    return kept.group_by("question").agg(home=kept.home.min(), right=kept.right.min())


def _code(answer: Table) -> Table:
    """1 to 4 for a to d, 0 for anything else."""
    letter = answer.strip().lower()
    return extra("ibis").cases(*((letter == x, i) for i, x in enumerate(_LETTERS, 1)), else_=0).cast("int64")


def _parsed(table: Table) -> Table:
    """The actions; `reason` says why one has nothing to do with a question, null if it has."""
    ibis = extra("ibis")
    time, action, item = table["timestamp"].try_cast("int64"), table.action_type.strip(), table.item_id.strip()
    first = item.substr(0, 1)
    reason = ibis.cases(
        (time.isnull() | (time < 0) | table.user.isnull(), "action without a time"),
        (action.isnull() | (action == ""), "action without a name"),
        (first == "l", "lecture action"),
        (first == "e", "explanation action"),
        (action.isin(["play_audio", "pause_audio", "play_video", "pause_video"]), "audio or video action"),
        (~action.isin(["enter", "respond", "submit", "quit"]), "choice erased, payment or other action"),
        ((first == "q") & (action == "respond"), ibis.null("string")),
        ((first == "b") & (action != "respond"), ibis.null("string")),
        else_="action on an unknown item",
    )
    return table.select("user", time=time, action=action, item=item, code=_code(table.user_answer), reason=reason)


def _events(actions: Table, questions: Table) -> Table:
    """Entering, responding, submitting and quitting, each with its bundle and the number of the visit to it."""
    ibis = extra("ibis")
    joined = actions.left_join(questions, actions.item == questions.question)
    responded = joined.action == "respond"
    events = joined.select(
        "user", "time", "action", "question", "code",
        bundle=ibis.ifelse(responded, joined.home, joined.item),
        order=ibis.cases((responded, 0), (joined.action == "submit", 1), (joined.action == "quit", 2), else_=3),
    )  # fmt: skip
    upto = ibis.cumulative_window(group_by=["user", "bundle"], order_by=["time", "order"])
    return events.mutate(visit=(events.action == "enter").cast("int64").sum().over(upto))


def _visits(events: Table) -> Table:
    """When each visit began and was submitted first, and how many responses it had."""
    return events.group_by(*_VISIT).agg(
        entered=events.time.min(where=events.action == "enter"),
        submitted=events.time.min(where=events.action == "submit"),
        responses=events.count(where=events.action == "respond"),
    )


def _attempts(events: Table, visits: Table, bundles: str) -> Table:
    """Each question answered in a visit: its last response up to the submit, and the seconds that took."""
    ibis = extra("ibis")
    responses = events.filter((events.action == "respond") & events.bundle.notnull())
    moment = responses.group_by(*_ATTEMPT, "time").agg(low=responses.code.min(), high=responses.code.max())
    table = moment.inner_join(visits, _VISIT)
    code = ibis.ifelse(table.low == table.high, table.high, _CONFLICT)
    timely = (table.submitted.notnull() & (table.time <= table.submitted)).fill_null(False)
    attempts = table.group_by(*_ATTEMPT).agg(
        entered=table.entered.min(), submitted=table.submitted.min(),
        final=(table.time * 8 + code).max(where=timely),  # the last time, with its answer
    )  # fmt: skip
    attempts = attempts.mutate(last=attempts.final // 8, code=attempts.final % 8)
    start = attempts.entered
    if bundles == "split":
        order = [attempts["last"].isnull(), attempts["last"], attempts.question]
        before = ibis.window(group_by=list(_VISIT), order_by=order)
        start = ibis.greatest(attempts.entered, attempts["last"].lag().over(before).fill_null(attempts.entered))
    first = attempts.visit.min().over(ibis.window(group_by=["user", "question"]))
    return attempts.mutate(seconds=(attempts["last"] - start) / 1000, again=attempts.visit > first)


def _judged(attempts: Table, questions: Table, limit: float) -> Table:
    """Say of each attempt what is wrong with it; null if nothing is."""
    ibis = extra("ibis")
    rows = attempts.inner_join(questions, "question")
    reason = ibis.cases(
        (rows.visit == 0, "answered without entering the bundle"),
        (rows.submitted.isnull(), "answered but not submitted"),
        (rows["last"].isnull(), "answered only after the submit"),
        (rows.again, "repeat of a question answered before"),
        (rows.code == _CONFLICT, "two answers at once"),
        (rows.code == 0, "unknown answer"),
        (rows.right == 0, "right answer unknown"),
        (rows.seconds > limit, f"time above the limit of {limit:g} s"),
        else_=ibis.null("string"),
    )
    return rows.select("user", "question", "code", "right", "seconds", reason=reason)


def _lost(events: Table) -> Table:
    """Responses to questions that are in no bundle."""
    ibis = extra("ibis")
    orphans = events.filter(events.bundle.isnull())
    return orphans.select(reason=ibis.literal("answer to an unknown question"))


def _empty(visits: Table) -> Table:
    """Visits without a response: nobody knows which of its questions was looked at for how long."""
    ibis = extra("ibis")
    empty = visits.filter(visits.responses == 0)
    return empty.select(
        reason=ibis.cases(
            (empty.visit == 0, "submitted or left without entering"),
            (empty.submitted.notnull(), "time ran out: submitted without an answer"),
            else_="left without an answer",
        )
    )
