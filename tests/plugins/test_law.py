"""A law of one file outside of the package, at most 40 lines: it solves, learns, calibrates, is read and served."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import headgate as hg
from headgate.errors import ProblemFileError, UnregisteredError
from headgate.laws import LAWS
from headgate.service.engine.queue import Ledger
from headgate.service.store import open_database
from headgate.service.verify import verify
from headgate.testing import LAW_CHECKS

from ..calibration.logs import censored, log_of
from ..service import asking
from .gompertz import Gompertz

SHAPE, RATE = 0.05, 0.1
PROBLEM = hg.Problem(Gompertz(SHAPE), activation=[0.6, 0.9, 0.4], rate=[0.1, 0.2, 0.05])


def test_it_is_short() -> None:
    assert len(Path(__file__).with_name("gompertz.py").read_text(encoding="utf-8").splitlines()) <= 40


@pytest.mark.parametrize("check", LAW_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("shape", [SHAPE, 0.3])
def test_it_passes_the_suite(shape: float, check: object, gompertz: type[Gompertz]) -> None:
    assert callable(check)
    check(gompertz(shape))


def test_solve_is_as_good_as_any_point_of_a_grid() -> None:
    best = PROBLEM.solve(60.0)
    assert best.gap <= 1e-8
    share = np.linspace(0.0, 1.0, 121)
    x = np.stack(np.meshgrid(share, share), axis=-1).reshape(-1, 2)
    x = x[x.sum(axis=-1) <= 1.0]
    grid = 60.0 * np.column_stack([x, 1.0 - x.sum(axis=-1)])
    reward = PROBLEM.expected_reward(grid)
    assert np.max(reward) <= best.bound
    assert np.max(reward) == pytest.approx(float(best.value), rel=1e-3)
    assert PROBLEM.expected_reward(best.x) == pytest.approx(float(best.value), abs=1e-9)


def test_toml_is_read_back_once_it_is_registered(gompertz: type[Gompertz]) -> None:
    text = PROBLEM.to_toml()
    again = hg.Problem.from_toml(text)
    assert again == PROBLEM
    assert again.law == gompertz(SHAPE)


def test_without_that_an_error_says_what_to_do() -> None:
    with pytest.raises(ProblemFileError, match=r"unknown law 'gompertz'.*headgate\.register"):
        hg.Problem.from_toml(PROBLEM.to_toml())
    policy = hg.Thompson(Gompertz("learn"), arms=2, max_budget=40.0)
    with pytest.raises(UnregisteredError, match=r"^unknown law 'gompertz'.*headgate\.register"):
        hg.load_policy(policy.to_json())


def test_thompson_learns_its_shape_and_goes_on_from_json(gompertz: type[Gompertz]) -> None:
    """One seeded run: the median arm's log shape within 1 of the truth, from a prior of variance 2 around log 0.1."""
    law = gompertz(0.5)
    problem = hg.Problem(law, activation=[0.7, 0.8, 0.9], rate=[0.1, 0.2, 0.15])
    policy = hg.Thompson(gompertz("learn"), arms=3, max_budget=40.0, seed=1)
    rng, rewards = np.random.default_rng(4), []
    for _ in range(400):
        x = policy.allocate(40.0)
        rewards.append(float(problem.expected_reward(x)))
        policy.observe(x, problem.play(x, rng))
    found = policy.estimate()
    assert found.shape is not None
    assert abs(np.median(np.log(found.shape / 0.5))) < 1.0
    again = hg.load_policy(policy.to_json())
    np.testing.assert_array_equal(again.allocate(30.0), policy.allocate(30.0))
    assert np.mean(rewards[-100:]) > 0.85 * problem.solve(40.0).value


def test_the_papers_policies_refuse_a_mean_that_does_not_tell_the_rate(gompertz: type[Gompertz]) -> None:
    """Below shape 1 densities grow at first: the mean threshold below the budget rises with the rate, then falls."""
    with pytest.raises(hg.errors.UnsupportedError, match=r"arm 0, Gompertz.* grows from .* does not tell the rate"):
        hg.RAUCB(gompertz(0.1), arms=2, max_budget=40.0, rounds=100)
    hg.RAUCB(gompertz(2.0), arms=2, max_budget=40.0, rounds=100)
    hg.Greedy(gompertz(0.1), arms=2, max_budget=40.0, rounds=100, estimator="likelihood")


def test_some_arms_learn_and_others_know(gompertz: type[Gompertz]) -> None:
    """A list of laws: a stranger's and three of ours are learned, one is known, one counts in whole units."""
    truth = [
        gompertz(0.2),
        hg.Weibull(1.8),
        hg.Nakagami(0.8),
        hg.Exponential(),
        hg.LogNormal(0.5),
        hg.DiscreteWeibull(1.1),
    ]
    laws = [
        gompertz("learn"), hg.Weibull("learn"), hg.Nakagami("learn"), hg.Exponential(), hg.LogNormal("learn"),
        hg.DiscreteWeibull("learn"),
    ]  # fmt: skip
    problem = hg.Problem(truth, np.full(6, 0.8), [float(law.rate_of_quantile(6.0, 0.5)) for law in truth])
    rng = np.random.default_rng(5)
    x = np.ceil(rng.uniform(1.0, 25.0, (3000, 6)))
    seen = problem.play(x, rng)
    rows = (values.ravel() for values in (x, seen.success, seen.threshold))
    evidence = hg.Evidence.of_rows(np.tile(np.arange(6), 3000), *rows, max_budget=60.0)
    found = hg.estimators.likelihood(laws, evidence, level=0.9999)
    assert found.shape is not None
    assert found.shape_interval is not None
    for arm, law in enumerate(truth):
        if isinstance(law, hg.Exponential):
            assert np.isnan(found.shape[arm])
            continue
        shape = float(next(iter(law.shapes().values())))
        assert found.shape_interval[arm, 0] <= shape <= found.shape_interval[arm, 1], law
    policy = hg.Thompson(laws, arms=6, max_budget=60.0, seed=0)
    for _ in range(60):
        x = policy.allocate(60.0)
        assert x[5] == np.floor(x[5])
        policy.observe(x, problem.play(x, rng))
    twin = hg.load_policy(policy.to_json())
    np.testing.assert_array_equal(twin.allocate(60.0), policy.allocate(60.0))


def test_calibrate_finds_it(gompertz: type[Gompertz]) -> None:
    """Of all laws it is chosen, with shape and rate within intervals of 99.99%: 8 chances in 10,000 to fail."""
    rows = censored(gompertz(SHAPE), 0.6, RATE, 20_000, 5, arms=2)
    found = hg.calibrate(log_of(rows, "censored", names=("a", "b")), bootstrap=0, budgets=[60.0], level=0.9999)
    for arm in found.arms:
        assert arm.law.name == "gompertz"
        assert arm.shape_interval is not None
        assert arm.shape_interval[0] <= SHAPE <= arm.shape_interval[1]
        assert arm.rate_interval[0] <= RATE <= arm.rate_interval[1]
        assert arm.shape == pytest.approx(SHAPE, rel=0.35)
        assert not arm.at_boundary
    assert hg.Problem.from_toml(found.problem.to_toml()) == found.problem


def test_simulate(gompertz: type[Gompertz]) -> None:
    problem = hg.Problem(gompertz(0.3), [0.8, 0.5], [0.2, 0.1])
    result = hg.simulate(
        problem, {"thompson": hg.Thompson, "uniform": hg.Uniform}, budget=20.0, rounds=60, runs=2, seed=0
    )
    assert np.all(np.isfinite(result.regret["thompson"]))
    assert result.regret["uniform"][:, -1].mean() > 0.0


def test_the_service_learns_it_and_goes_on_after_a_restart(gompertz: type[Gompertz], tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'service.db'}"
    ledger = Ledger(open_database(address))
    asking.create(ledger, law={"name": gompertz.name, "shape": "learn"})
    asking.play(ledger, 6)
    database = open_database(address)  # what another process knows: the tables alone
    assert sum(asking.decide(Ledger(database), "next")["allocation"].values()) == pytest.approx(20.0)
    assert verify(database) == []


def test_an_installed_package_offers_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a word from the user: the entry point is found when the name is asked for."""
    source = Path(__file__).with_name("gompertz.py").read_text(encoding="utf-8")
    (tmp_path / "gompertz_law.py").write_text(source, encoding="utf-8")
    info = tmp_path / "gompertz_law-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gompertz-law\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[headgate.laws]\ngompertz = gompertz_law:Gompertz\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "gompertz_law", raising=False)
    monkeypatch.setattr(LAWS, "_complete", False)
    try:
        law = hg.Problem.from_toml(PROBLEM.to_toml()).law
        assert type(law).__module__ == "gompertz_law"
        assert law.to_dict() == Gompertz(SHAPE).to_dict()
    finally:
        LAWS.remove("gompertz")
