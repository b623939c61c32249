"""Every policy goes through the suite that users put their own through."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from headgate.laws import Floats, Law
from headgate.oracle import Limits
from headgate.policies import (
    CUCB,
    MARA,
    MGUCB,
    RAUCB,
    ExploreThenCommit,
    Greedy,
    Oracle,
    Policy,
    Thompson,
    Uniform,
)
from headgate.testing import POLICY_CHECKS, ConformanceError, MakePolicy, check_policy


def told(law: Law, arms: int, max_budget: float, **common: Any) -> Oracle:
    truth: dict[str, Any] = {"activation": np.linspace(0.3, 0.9, arms), "rate": np.linspace(0.2, 1.0, arms)}
    return Oracle(law, arms, max_budget, **truth, **common)


MAKERS: dict[str, MakePolicy] = {
    "thompson": Thompson,
    "ra-ucb": partial(RAUCB, rounds=60),
    "ra-ucb small radii": partial(RAUCB, rounds=60, scale=1e-4),
    "ra-ucb corrected": partial(RAUCB, rounds=60, scale=1e-4, estimator="corrected"),
    "ra-ucb fisher": partial(RAUCB, confidence="fisher"),
    "mg-ucb": partial(MGUCB, rounds=60, scale=1e-3),
    "greedy": partial(Greedy, rounds=60),
    "greedy fisher": partial(Greedy, confidence="fisher"),
    "explore-then-commit": partial(ExploreThenCommit, rounds=60),
    "explore-then-commit likelihood": partial(ExploreThenCommit, rounds=60, estimator="likelihood"),
    "cucb": partial(CUCB, rounds=60),
    "cucb step": partial(CUCB, step=1.0),
    "mara": MARA,
    "uniform": Uniform,
    "oracle": told,
}


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", MAKERS)
def test_policy_conforms(name: str, check: Callable[[MakePolicy], None]) -> None:
    check(MAKERS[name])


class Spendthrift(Uniform):
    """Spends what it has not got."""

    def _allocate(self, limits: Limits) -> Floats:
        return 1.1 * super()._allocate(limits)


class Forgetful(Thompson):
    """Does not write its state down."""

    state_names = ()


class Crowded(Uniform):
    """Its state grows."""

    state_names = ("seen",)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.seen = np.zeros(0)

    def allocate(self, budget: Any) -> Floats:
        x = super().allocate(budget)
        self.seen = np.append(self.seen, x.sum())
        return x


class Careless(Uniform):
    """Notes the round before it looks whether it may."""

    def allocate(self, budget: Any) -> Floats:
        self.round += 1
        x = super().allocate(budget)
        self.round -= 1
        return x


@pytest.mark.parametrize(
    ("policy", "complaint"),
    [
        (Spendthrift, "spends more"),
        (Forgetful, "allocates differently|must write the JSON"),
        (Crowded, "has grown"),
        (Careless, "changed the state"),
    ],
)
def test_the_suite_catches_bad_policies(policy: type[Policy], complaint: str) -> None:
    with pytest.raises(ConformanceError, match=complaint) as caught:
        check_policy(policy)
    assert any("headgate.testing" in note for note in caught.value.__notes__)
