"""Slow and obvious readers: loops over rows, to compare what the engine gives with."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, stats

from headgate.calibration.log import Log, Rows
from headgate.evidence import Evidence
from headgate.laws import Floats

DATA = Path(__file__).parents[3] / "shared" / "data"
Row = tuple[str, float, bool, float]
"""Arm, allocation (inf: not said), success, threshold (nan: not seen)."""


def counted(log: Log) -> Counter[tuple[str, float, bool, float]]:
    """The rows of a log; -1 stands for a threshold that was not seen."""
    rows = log.rows
    found: Counter[tuple[str, float, bool, float]] = Counter()
    for arm, given, won, seen, n in zip(
        rows.arm, rows.allocation, rows.success, rows.threshold, rows.count, strict=True
    ):
        found[log.names[arm], float(given), bool(won), -1.0 if np.isnan(seen) else float(seen)] += int(n)
    return found


def count_rows(rows: Iterable[Row]) -> Counter[tuple[str, float, bool, float]]:
    """The same of plain rows."""
    return Counter((arm, given, won, -1.0 if np.isnan(seen) else seen) for arm, given, won, seen in rows)


def evidence_of(names: Sequence[str], rows: Iterable[Row], kind: str) -> Evidence:
    """The evidence as `Log` defines it, by `Evidence.of_rows`."""
    listed = list(rows)
    amounts = [v for _, given, _, seen in listed for v in (given, seen) if np.isfinite(v)]
    most = max(amounts)
    x = []
    for _, given, won, seen in listed:
        enough = given if np.isfinite(given) else most
        x.append(seen if kind == "observed" and not won else enough)
    number = {name: i for i, name in enumerate(names)}
    arm = [number[name] for name, *_ in listed]
    success, threshold = [row[2] for row in listed], [row[3] for row in listed]
    return Evidence.of_rows(arm, x, success, threshold, arms=len(names), max_budget=most)


def assert_same(log: Log, rows: Iterable[Row]) -> None:
    """The log holds exactly these rows."""
    listed = list(rows)
    assert counted(log) == count_rows(listed)
    expected = evidence_of(log.names, listed, log.kind)
    assert log.evidence.max_budget == expected.max_budget
    np.testing.assert_array_equal(log.evidence.bins, expected.bins)


def equal_rows(a: Rows, b: Rows) -> bool:
    """Whether two sets of rows are the same, to the last bit."""
    names = ("arm", "allocation", "success", "threshold", "count")
    return all(np.array_equal(getattr(a, n), getattr(b, n), equal_nan=n == "threshold") for n in names)


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]], mark: str = ",") -> Path:
    """Write a table of text."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter=mark)
        table.writerow(header)
        table.writerows(rows)
    return path


def first_clicks(rows: Iterable[tuple[int, int, int, int]]) -> tuple[list[Row], list[int]]:
    """Criteo's rows (time, user, campaign, click), pair by pair, and the impressions of each user."""
    pairs: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    budgets: Counter[int] = Counter()
    for time, user, campaign, click in rows:
        pairs[user, campaign].append((time, click))
        budgets[user] += 1
    found: list[Row] = []
    for (_, campaign), seen in pairs.items():
        clicks = [time for time, click in seen if click]
        place = 1 + sum(time < min(clicks) for time, _ in seen) if clicks else np.nan
        found.append((str(campaign), float(len(seen)), bool(clicks), float(place)))
    return found, sorted(budgets.values())


class Attempts(NamedTuple):
    """What a plain reader finds in EdNet's user files."""

    rows: list[Row]
    dropped: Counter[str]


_ENDS_FIRST = {"respond": 0, "submit": 1, "quit": 2, "enter": 3}


def ednet(folder: Path, *, limit: float, split: bool = True) -> Attempts:
    """Walk through every user's actions in the order of time."""
    with (folder / "questions.csv").open(encoding="utf-8") as file:
        questions = {row["question_id"]: row for row in csv.DictReader(file)}
    rows: list[Row] = []
    dropped: Counter[str] = Counter()
    for path in sorted(folder.glob("u*.csv")):
        with path.open(encoding="utf-8") as file:
            _user(list(csv.DictReader(file)), questions, rows, dropped, limit, split)
    return Attempts(rows, dropped)


def _user(
    actions: list[dict[str, str]], questions: dict[str, dict[str, str]], rows: list[Row],
    dropped: Counter[str], limit: float, split: bool,
) -> None:  # fmt: skip
    steps = []
    for action in actions:
        what, item, first = action["action_type"], action["item_id"], action["item_id"][:1]
        if not action["timestamp"].isdecimal():
            dropped["action without a time"] += 1
        elif not what:
            dropped["action without a name"] += 1
        elif first == "l":
            dropped["lecture action"] += 1
        elif first == "e":
            dropped["explanation action"] += 1
        elif what in {"play_audio", "pause_audio", "play_video", "pause_video"}:
            dropped["audio or video action"] += 1
        elif what not in _ENDS_FIRST:
            dropped["choice erased, payment or other action"] += 1
        elif (first == "q") != (what == "respond") or first not in {"q", "b"}:
            dropped["action on an unknown item"] += 1
        elif what == "respond" and item not in questions:
            dropped["answer to an unknown question"] += 1
        else:
            steps.append((int(action["timestamp"]), _ENDS_FIRST[what], what, item, action["user_answer"]))
    visits: dict[str, list[dict[str, Any]]] = defaultdict(lambda: [{"entered": None, "submitted": None, "said": []}])
    touched = set()
    for time, _, what, item, answer in sorted(steps):
        bundle = questions[item]["bundle_id"] if what == "respond" else item
        if what == "enter":
            visits[bundle].append({"entered": time, "submitted": None, "said": []})
        visit = visits[bundle][-1]
        touched.add((bundle, len(visits[bundle]) - 1))
        if what == "submit" and visit["submitted"] is None:
            visit["submitted"] = time
        if what == "respond":
            visit["said"].append((time, item, answer))
    seen: set[str] = set()
    for bundle, listed in visits.items():
        for number, visit in enumerate(listed):
            if (bundle, number) in touched:
                _visit(number, visit, questions, seen, rows, dropped, limit, split)


def _visit(
    number: int, visit: dict[str, Any], questions: dict[str, dict[str, str]], seen: set[str], rows: list[Row],
    dropped: Counter[str], limit: float, split: bool,
) -> None:  # fmt: skip
    entered, submitted, said = visit["entered"], visit["submitted"], visit["said"]
    if not said:
        entering = "time ran out: submitted without an answer" if submitted is not None else "left without an answer"
        dropped["submitted or left without entering" if number == 0 else entering] += 1
        return
    finals = {}
    for question in {q for _, q, _ in said}:
        mine = [(time, answer) for time, q, answer in said if q == question]
        timely = [time for time, _ in mine if submitted is not None and time <= submitted]
        last = max(timely, default=None)
        finals[question] = last, {answer for time, answer in mine if time == last}
    begun = entered
    order = sorted(finals, key=lambda q: (finals[q][0] is None, finals[q][0] or 0, q))
    for question in order:
        last, answers = finals[question]
        again = question in seen
        seen.add(question)
        right = questions[question]["correct_answer"]
        why = None
        if number == 0:
            why = "answered without entering the bundle"
        elif submitted is None:
            why = "answered but not submitted"
        elif last is None:
            why = "answered only after the submit"
        elif again:
            why = "repeat of a question answered before"
        elif len(answers) > 1:
            why = "two answers at once"
        elif not answers <= set("abcd"):
            why = "unknown answer"
        elif right not in set("abcd"):
            why = "right answer unknown"
        elif (last - begun) / 1000 > limit:
            why = f"time above the limit of {limit:g} s"
        if why is None and last is not None:
            rows.append((question, np.inf, answers == {right}, (last - begun) / 1000))
        else:
            dropped[str(why)] += 1
        if split and last is not None and begun is not None:
            begun = max(begun, last)


def fit_truncated(times: Floats, low: float, high: float) -> tuple[float, float]:
    """Shape and scale of largest likelihood for a Weibull law seen only within [low, high], by a simplex."""

    def loss(theta: Floats) -> float:
        law = stats.weibull_min(np.exp(theta[0]), scale=np.exp(theta[1]))
        inside = max(law.cdf(high) - law.cdf(low), 1e-300)
        return float(times.size * np.log(inside) - np.sum(law.logpdf(times)))

    start = [0.3, float(np.log(times.mean()))]
    best = optimize.minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-8})
    return float(np.exp(best.x[0])), float(np.exp(best.x[1]))
