"""The names and shapes that are fixed, used as the design shows them."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import headgate as hg
from headgate.testing import MakePolicy


def test_every_public_name_exists() -> None:
    for name in hg.__all__:
        assert getattr(hg, name) is not None
        assert name in dir(hg)
    for name in (
        "simulate",
        "theory",
        "Replay",
        "Thompson",
        "RAUCB",
        "MGUCB",
        "load_policy",
        "from_scipy",
        "calibrate",
    ):
        assert name in hg.__all__
    with pytest.raises(AttributeError, match="module 'headgate' has no attribute 'Bernoulli'"):
        hg.Bernoulli  # type: ignore[attr-defined]  # noqa: B018


def test_type_checkers_see_each_name_where_it_is_imported_from() -> None:
    tree = ast.parse(Path(hg.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    shown = {
        alias.name: (node.module or "").removeprefix("headgate").removeprefix(".")
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    packages = {name for name, home in shown.items() if not home}
    assert {name: home for name, home in shown.items() if home} == hg._HOME
    assert sorted({*shown, "__version__"}) == sorted(hg.__all__)
    assert packages == {name for name in hg.__all__ if getattr(hg, name).__class__.__name__ == "module"}


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import headgate", "numpy scipy numba"),
        ("import headgate as hg; hg.Problem(hg.Weibull(1.6), [0.5], [1.0])", "numba scipy.stats scipy.optimize"),
        (
            "import headgate as hg; hg.Thompson(hg.Exponential(), 3, 1.0); hg.simulate",
            "numba scipy.stats scipy.optimize",
        ),
        ("from headgate.cli.app import run; run(['--help'])", "numpy numba scipy matplotlib ibis headgate.service"),
        (
            "from headgate.cli.app import run; run(['solve', '--help'])",
            "numba headgate.service headgate.policies",
        ),
    ],
)
def test_only_what_is_needed_is_imported(code: str, absent: str) -> None:
    look = f"{code}\nimport sys; print(*(name for name in {absent.split()} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].split() == []


def test_the_design_line_by_line() -> None:
    law = hg.Weibull(shape=1.6)
    rng = np.random.default_rng(0)
    problem = hg.Problem(law, activation=np.full(10, 0.5), rate=np.full(10, 0.3))
    best = problem.solve(40.0)
    assert best.x.sum() <= 40.0
    assert best.bound >= best.value
    policy = hg.Thompson(law, arms=10, max_budget=40.0, seed=0)
    x = policy.allocate(40.0)
    policy.observe(x, problem.play(x, rng))
    assert policy.estimate().rate_interval.shape == (10, 2)
    again = hg.load_policy(policy.to_json())
    np.testing.assert_array_equal(again.allocate(40.0), policy.allocate(40.0))
    assert sum(amount for _, amount in policy.pour(step=1.0)) == pytest.approx(40.0)
    exponential = hg.Problem(hg.Exponential(), activation=[0.5, 0.9], rate=[0.1, 0.4])
    result = hg.simulate(
        exponential, {"thompson": hg.Thompson, "ra-ucb": hg.RAUCB}, budget=40.0, rounds=200, runs=2, seed=0
    )
    assert result.regret["thompson"].shape == (2, len(result.rounds))


@pytest.mark.parametrize(
    "policy",
    [hg.Thompson, hg.Uniform, hg.MARA, *(partial(p, rounds=1000) for p in (hg.Greedy, hg.CUCB, hg.RAUCB))],
)
@pytest.mark.parametrize("arms", [3, 7, 10])
def test_an_allocation_never_exceeds_its_budget_not_even_by_rounding(policy: MakePolicy, arms: int) -> None:
    learner = policy(hg.Exponential(), arms, 50.0)
    rng = np.random.default_rng(arms)
    for budget in rng.uniform(0.1, 50.0, 200).tolist():
        assert learner.allocate(budget).sum() <= budget
