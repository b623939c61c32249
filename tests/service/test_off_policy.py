"""What another policy would have earned, from the log: what is known, what is filled in, what the bounds hold."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from sqlalchemy import select

import headgate as hg
from headgate.errors import InputError
from headgate.laws import Floats
from headgate.service.backup import backup, opened_backup
from headgate.service.engine import windows
from headgate.service.engine.queue import Ledger
from headgate.service.replay import Replayed, Trials, estimate
from headgate.service.replay_log import replay
from headgate.service.store import Database, open_database, schema
from tests.service import asking

PROBLEM = hg.Problem(hg.Weibull(1.6), [0.8, 0.5, 0.3], [0.2, 0.1, 0.05])
KEPT = Path(__file__).parent / "kept"


def trials(given: Floats, wanted: Floats, rng: np.random.Generator) -> Trials:
    """Decisions with these amounts, (n, K), played in `PROBLEM`."""
    feedback = PROBLEM.play(given, rng)
    n, arms = given.shape
    return Trials(
        np.repeat(np.arange(n), arms), np.tile(np.arange(arms), n), given.ravel(), feedback.success.ravel(),
        feedback.threshold.ravel(), np.broadcast_to(wanted, given.shape).ravel(), np.ones(n * arms),
    )  # fmt: skip


def test_less_than_was_given_is_known_exactly() -> None:
    """Then the estimate is the count of thresholds within it, and the bounds are one number."""
    rng = np.random.default_rng(0)
    made = trials(rng.uniform(5.0, 10.0, (200, 3)), np.array([4.0, 5.0, 2.0]), rng)
    found = estimate(made, 200)
    by_hand = (
        sum(t <= x for t, x, won in zip(made.threshold, made.policy_amount, made.success, strict=True) if won) / 200
    )
    assert found.known == 1.0
    assert found.bounds == (found.value, found.value)
    assert found.value == pytest.approx(by_hand)
    assert found.earned == pytest.approx(made.success.sum() / 200)


@pytest.mark.parametrize("cascade", [False, True])
def test_intervals_cover_what_would_really_have_come(cascade: bool) -> None:
    """100 logs; the interval is for 95%, and 15 misses or more have probability 3e-4. Bounds always hold the mean."""
    rng, missed, wanted = np.random.default_rng(1), 0, np.array([9.0, 6.0, 12.0])
    chance = PROBLEM.activation * PROBLEM.law.cdf(wanted, PROBLEM.rate)
    truth = 1.0 - np.prod(1.0 - chance) if cascade else chance.sum()
    for _ in range(100):
        made = trials(rng.choice([2.0, 5.0, 10.0, 15.0], (400, 3)), wanted, rng)
        found = estimate(made, 400, cascade=cascade, resamples=60)
        missed += not found.interval[0] <= truth <= found.interval[1]
        assert found.beyond == 0.0
        assert 0.2 < found.known < 0.9
        low, high = found.bounds
        assert low <= found.value <= high
        assert low - 0.2 < truth < high + 0.2
    assert missed <= binom.ppf(1.0 - 3e-4, 100, 0.05)


def test_beyond_what_was_ever_given_nothing_is_known() -> None:
    """The estimate counts no success there, the interval's upper end all of them, and the truth lies between."""
    rng = np.random.default_rng(2)
    wanted = np.array([20.0, 20.0, 20.0])
    found = estimate(trials(rng.choice([2.0, 5.0], (500, 3)), wanted, rng), 500)
    truth = float(np.sum(PROBLEM.activation * PROBLEM.law.cdf(wanted, PROBLEM.rate)))
    assert found.beyond > 0.5
    assert found.interval[0] <= found.value < truth < found.interval[1] <= found.bounds[1] + 1e-9
    assert found.value >= found.bounds[0]


def test_successes_of_unknown_thresholds_are_known_from_their_amount_on() -> None:
    made = Trials(np.arange(2), np.zeros(2, int), np.array([4.0, 4.0]), np.array([True, True]), np.full(2, np.nan),
                  np.array([5.0, 3.0]), np.ones(2))  # fmt: skip
    found = estimate(made, 2)
    assert (found.known, found.bounds) == (0.5, (0.5, 1.0))


def test_nothing_to_go_by_is_an_error() -> None:
    none = Trials(*(np.empty(0, kind) for kind in (int, int, float, bool, float, float, float)))
    with pytest.raises(InputError, match="no complete decision"):
        estimate(none, 0)
    one = trials(np.full((1, 3), 2.0), np.ones(3), np.random.default_rng(0))
    for wrong in ({"level": 1.0}, {"resamples": 1}):
        with pytest.raises(InputError, match="must be"):
            estimate(one, 1, **wrong)


# -- from the log ----------------------------------------------------------------------------------------------------


def _play(ledger: Ledger, rounds: int, seed: int = 0, name: str = "quiz") -> None:
    """Rounds of 10 to 30, in batches of 25."""
    rng = np.random.default_rng(seed)
    for first in range(0, rounds, 25):
        keys = [f"{name}-{seed}-{i}" for i in range(first, min(first + 25, rounds))]
        budgets = [float(b) for b in rng.choice([10.0, 20.0, 30.0], len(keys))]
        texts = ledger.answer([asking.ask(key, b, name) for key, b in zip(keys, budgets, strict=True)])
        told = []
        for key, text in zip(keys, texts, strict=True):
            made = json.loads(text)["allocation"]
            feedback = PROBLEM.play(np.array(list(made.values())), rng)
            said: dict[str, Any] = {}
            for place, (arm, x) in enumerate(made.items()):
                if x > 0.0:
                    seen = {"threshold": float(feedback.threshold[place])} if feedback.success[place] else {}
                    said[arm] = {"success": bool(feedback.success[place]), **seen}
            told.append(asking.tell(key, said))
        ledger.answer(told)


def _replay(database: Database, **terms: Any) -> Replayed:
    return database.look(lambda c: replay(c, "quiz", **terms))


def test_its_own_policy_earned_what_it_earned(database: Database) -> None:
    """An even split, replayed, is what was done: everything is known."""
    ledger = Ledger(database)
    asking.create(ledger, policy={"name": "uniform"})
    _play(ledger, 50)
    asking.decide(ledger, "open")
    found = _replay(database)
    assert (found.decisions, found.left_out, found.known, found.difference) == (50, 1, 1.0, 0.0)
    rows = database.look(lambda c: c.execute(select(schema.reports.c.results)).scalars().all())
    won = sum(result is not None for text in rows for result in json.loads(text).values())
    assert found.earned == pytest.approx(won / 50)


@pytest.mark.parametrize(
    "fades", [{}, {"half_life": 8 * 3600.0}, {"window": 2 * 3600.0}], ids=["all", "half", "window"]
)
def test_a_shadow_is_replayed_as_what_it_would_have_given(
    database: Database, fades: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thompson follows the log of an even split, and gives what the shadow kept: the same numbers, bit for bit."""
    times = itertools.count(1_900_000_000_000_000_000, 10_800_000_000_000)  # three hours later at every look
    monkeypatch.setattr(time, "time_ns", lambda: next(times))
    ledger = Ledger(database)
    asking.create(ledger, baseline="even", shadow=True, feedback_deadline=None, **fades)
    _play(ledger, 60)
    found = _replay(database)
    table = schema.decisions.c
    rows = database.look(lambda c: c.execute(select(table.round, table.answer).order_by(table.round)).all())
    kept = np.array([list(json.loads(answer)["policy_allocation"].values()) for _, answer in rows])
    reports = select(schema.reports.c.round, schema.reports.c.results)
    heard = {number: text for number, text in database.look(lambda c: c.execute(reports).all())}  # noqa: C416
    arms, columns = ["q1", "q2", "q3"], []
    for number, answer in rows:
        given, said = json.loads(answer)["allocation"], json.loads(heard[number])
        for place, arm in enumerate(arms):
            columns.append((number, place, given[arm], said[arm] is not None, said[arm] or np.nan, kept[number, place]))
    made: list[Any] = [np.array(column) for column in zip(*columns, strict=True)]
    assert estimate(Trials(*made, np.ones(len(columns))), 60) == found  # type: ignore[call-arg]
    if fades:
        assert database.look(lambda c: len(windows.read(c, 1))) > 1
        assert _replay(database, fades={"half_life": None, "window": None}) != found


@pytest.mark.long
def test_another_policy_another_law_and_a_backup(sqlite_url: str, tmp_path: Path) -> None:
    """By the function and by the command, which say the same; the truth is within the interval (seeded)."""
    database = open_database(sqlite_url)
    ledger = Ledger(database)
    asking.create(ledger, policy={"name": "uniform"}, baseline="even", holdout=0.1)
    _play(ledger, 400)
    best = {"name": "oracle", "activation": PROBLEM.activation.tolist(), "rate": PROBLEM.rate.tolist()}
    found = _replay(database, policy=best)
    truth = np.mean([PROBLEM.solve(budget).value for budget in (10.0, 20.0, 30.0)])
    assert found.interval[0] < truth < found.interval[1]
    assert found.bounds[0] < found.earned < found.bounds[1]
    other = _replay(database, policy={"name": "thompson"}, law="exponential", resamples=20)
    assert other.value != _replay(database, policy={"name": "thompson"}, resamples=20).value
    backup(database, file := tmp_path / "monday.db")
    database.close()
    before = file.read_bytes()
    command = [sys.executable, "-m", "headgate.cli", "replay", "quiz", "--policy", json.dumps(best), "--backup", file]
    done = subprocess.run([*map(str, command), "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["value"] == found.value
    assert file.read_bytes() == before, "a backup is never changed"
    shown = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout
    assert "would have been" in shown
    assert "bounds hold without" in shown.replace("\n", " ")
    wrong = subprocess.run([*map(str, command[:5]), "--policy", "{", "-d", sqlite_url], capture_output=True, text=True)  # noqa: PLW1510
    assert (wrong.returncode, "--policy must be a name or JSON" in wrong.stderr) == (2, True)


@pytest.mark.parametrize("file", sorted(KEPT.glob("backup-*.db")), ids=lambda file: file.stem)
def test_old_backups_are_replayed_or_say_why_not(file: Path) -> None:
    with opened_backup(file) as database:
        try:
            found = database.look(lambda c: replay(c, "quiz", resamples=5))
        except InputError as error:
            assert "no complete decision" in str(error)  # noqa: PT017
        else:
            assert found.decisions > 0
