"""When an arm has changed: few alarms where nothing has, the right border where something has; what the page says."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import headgate as hg
from headgate.service import clock
from headgate.service.changed import THRESHOLD, scan
from headgate.service.dashboard.detail import detail
from headgate.service.engine.queue import Ledger
from headgate.service.memory import Memory
from headgate.service.store import Database
from tests.service import asking

LAW = hg.Weibull(1.6)
ARMS = ["q1", "q2", "q3"]
HOUR = 3_600_000_000


def worlds(seed: int, arms: int, windows: int, trials: float, factor: float = 1.0, since: int = 0) -> hg.Evidence:
    """Windows of evidence of arms that have nothing to do with each other; activations are multiplied from one on."""
    rng = np.random.default_rng(seed)
    p, rate = rng.uniform(0.4, 0.95, arms), np.exp(rng.uniform(np.log(0.06), np.log(0.3), arms))
    seen = hg.Evidence.empty(arms, 30.0, (windows,))
    for window in range(windows):
        arm = np.repeat(np.arange(arms), rng.poisson(trials, arms))
        x, threshold = rng.uniform(3.0, 20.0, arm.size), LAW.sample(rate[arm], rng, arm.size)
        active = rng.random(arm.size) < p[arm] * (factor if window >= since else 1.0)
        won = active & (threshold <= x)
        rows = arm, x, won, np.where(won, threshold, np.nan)
        seen.bins[window] += hg.Evidence.of_rows(*rows, arms=arms, max_budget=30.0).bins
    return seen


def test_where_nothing_has_changed_there_is_hardly_an_alarm() -> None:
    """300 arms, 24 windows: with 2 alarms in 1,000 arms, more than 3 come with one seed of 300."""
    top = scan(LAW, worlds(0, 300, 24, 3.0)).ratio.max(axis=0)
    assert np.sum(top >= THRESHOLD) <= 3
    assert np.mean(top >= 12.0) < 0.08, "and the ratio is of the size that it should be"
    assert np.mean(top >= 6.0) > 0.2


def test_a_change_is_found_where_it_was() -> None:
    found = scan(LAW, worlds(1, 40, 24, 30.0, factor=0.5, since=15))
    assert np.mean(found.ratio.max(axis=0) >= THRESHOLD) > 0.85
    assert np.mean(np.abs(found.best - 14) <= 1) > 0.75, "border b is between windows b and b + 1"
    assert np.median(found.best) == 14


def test_a_window_without_trials_says_nothing() -> None:
    seen = worlds(2, 3, 6, 20.0)
    seen.bins[2:4, 1] = 0.0
    seen.bins[:, 2] = 0.0
    found = scan(LAW, seen)
    assert np.isfinite(found.ratio).all()
    assert found.ratio[1, 1] == pytest.approx(found.ratio[2, 1]) == pytest.approx(found.ratio[3, 1])
    assert np.all(found.ratio[:, 2] < 1e-6)


def _shown(database: Database) -> Any:
    return database.look(lambda c: detail(c, "quiz", Memory()))["drift"]


def test_the_page_says_when(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_900_000_800_000_000]
    monkeypatch.setattr(time, "time_ns", lambda: now[0] * 1000)
    ledger, rng = Ledger(database), np.random.default_rng(0)
    asking.create(ledger, policy={"name": "uniform"}, half_life=8 * 3600.0)
    before, after = (hg.Problem(LAW, p, [0.3, 0.3, 0.3]) for p in ([0.9, 0.5, 0.5], [0.2, 0.5, 0.5]))
    assert _shown(database)["at"] == []
    for hour in range(12):
        batch = [asking.ask(f"d{hour}-{i}", 30.0) for i in range(25)]
        ledger.answer(batch)
        told = []
        for i in range(25):
            heard = (before if hour < 7 else after).play(np.full(3, 10.0), rng)
            said = {
                arm: {"success": True, "threshold": float(at)} if won else {"success": False}
                for arm, won, at in zip(ARMS, heard.success, heard.threshold, strict=True)
            }
            told.append(asking.tell(f"d{hour}-{i}", said))
        ledger.answer(told)
        now[0] += HOUR
    asking.decide(ledger, "now", 0.0)
    found = _shown(database)
    one, *others = found["arms"]
    begun = 1_900_000_800_000_000 // HOUR * HOUR
    assert one["changed"]["at"] == clock.as_text(begun + 7 * HOUR)
    assert (one["changed"]["window"], one["name"], one["changed"]["amount"]) == (6, "q1", pytest.approx(10.0, rel=1e-3))
    assert one["changed"]["before"] == pytest.approx(0.9, abs=0.1)
    assert one["changed"]["after"] == pytest.approx(0.2, abs=0.1)
    assert [arm["changed"] for arm in others] == [None, None]
    assert found["at"] == [clock.as_text(begun + (hour + 1) * HOUR) for hour in range(12)]
    assert one["trials"] == [25] * 12
    assert all(0.3 < share < 0.9 for share in one["expected"])
    asking.create(ledger, "lasting")
    assert database.look(lambda c: detail(c, "lasting", Memory()))["drift"] is None
