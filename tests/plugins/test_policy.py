"""A policy of one file outside of the package, at most 40 lines: library, JSON, simulation, command line, service."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import headgate as hg
from headgate.cli.app import run
from headgate.policies import POLICIES
from headgate.service.engine.queue import Ledger
from headgate.service.store import open_database
from headgate.testing import POLICY_CHECKS, MakePolicy

from ..service import asking
from .epsilon_greedy import EpsilonGreedy

PROBLEM = hg.Problem(hg.Weibull(1.6), activation=[0.9, 0.6, 0.3], rate=[0.2, 0.5, 0.1])


@pytest.fixture
def epsilon_greedy() -> Iterator[type[EpsilonGreedy]]:
    """Register the policy, as its user would; forget it afterwards."""
    yield hg.register(EpsilonGreedy)
    POLICIES.remove(EpsilonGreedy.name)


def test_it_is_short() -> None:
    assert len(Path(__file__).with_name("epsilon_greedy.py").read_text(encoding="utf-8").splitlines()) <= 40


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
def test_it_passes_the_suite(check: Callable[[MakePolicy], None]) -> None:
    check(EpsilonGreedy)


def test_it_explores_as_often_as_it_says() -> None:
    """600 rounds at 0.25: the share's standard error is 1.8%, five of them are allowed."""
    policy = EpsilonGreedy(hg.Exponential(), arms=3, max_budget=9.0, epsilon=0.25)
    policy.observe([3.0, 3.0, 3.0], hg.Feedback([True, True, False], [0.5, 1.0, np.nan]))
    even = [np.ptp(policy.allocate(9.0)) < 1e-6 for _ in range(600)]
    assert np.mean(even) == pytest.approx(0.25, abs=0.09)


def test_its_options_are_its_own() -> None:
    with pytest.raises(hg.errors.ParameterError, match=r"EpsilonGreedy does not take calm: .*upper, epsilon"):
        EpsilonGreedy(hg.Exponential(), 3, 9.0, calm=2.0)  # type: ignore[call-arg]  # on purpose
    assert "epsilon : float in [0, 1]" in (EpsilonGreedy.__doc__ or "")
    assert "max_budget : float" in (EpsilonGreedy.__doc__ or "")


def test_json_is_read_back_once_it_is_registered(epsilon_greedy: type[EpsilonGreedy]) -> None:
    policy, rng = epsilon_greedy(PROBLEM.law, 3, 12.0, seed=3, epsilon=0.3), np.random.default_rng(0)
    for _ in range(20):
        x = policy.allocate(12.0)
        policy.observe(x, PROBLEM.play(x, rng))
    again = hg.load_policy(policy.to_json())
    assert repr(again) == repr(policy)
    for _ in range(9):
        np.testing.assert_array_equal(again.allocate(12.0), policy.allocate(12.0))


def test_without_that_an_error_says_what_to_do() -> None:
    with pytest.raises(hg.errors.InputError, match=r"unknown policy 'epsilon-greedy'.*headgate\.register"):
        hg.load_policy(EpsilonGreedy(PROBLEM.law, 3, 12.0).to_json())


def test_simulate_and_the_command_line(
    epsilon_greedy: type[EpsilonGreedy], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = hg.simulate(PROBLEM, {"mine": epsilon_greedy, "even": hg.Uniform}, budget=12.0, rounds=150, runs=3)
    assert result.regret["mine"][:, -1].mean() < result.regret["even"][:, -1].mean()
    path = tmp_path / "problem.toml"
    PROBLEM.to_toml(path)
    call = ["simulate", str(path), "--budget", "12", "--rounds", "20", "--runs", "2", "--workers", "1", "--json"]
    assert run([*call, "--policy", "epsilon-greedy:epsilon=0.2"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["summary"]
    assert row["policy"] == "epsilon-greedy:epsilon=0.2"
    with pytest.raises(hg.errors.ParameterError, match=r"epsilon must be within \[0, 1\], got 2"):
        run([*call, "--policy", "epsilon-greedy:epsilon=2"])


def test_the_service(epsilon_greedy: type[EpsilonGreedy], tmp_path: Path) -> None:
    ledger = Ledger(open_database(f"sqlite:///{tmp_path / 'service.db'}"))
    asking.create(ledger, policy={"name": epsilon_greedy.name, "epsilon": 0.2})
    asking.play(ledger, 12)
    assert sum(asking.decide(ledger, "next")["allocation"].values()) == pytest.approx(20.0)


def test_an_installed_package_offers_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(__file__).with_name("epsilon_greedy.py").read_text(encoding="utf-8")
    (tmp_path / "epsilon_policy.py").write_text(source, encoding="utf-8")
    info = tmp_path / "epsilon_policy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: epsilon-policy\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[headgate.policies]\nx = epsilon_policy:EpsilonGreedy\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "epsilon_policy", raising=False)
    monkeypatch.setattr(POLICIES, "_complete", False)
    try:
        policy = hg.load_policy(EpsilonGreedy(PROBLEM.law, 3, 12.0, epsilon=0.3).to_json())
        assert type(policy).__module__ == "epsilon_policy"
    finally:
        POLICIES.remove("epsilon-greedy")
