"""Every policy goes through the suite that users put their own through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from headgate.laws import Floats, Law
from headgate.policies import (
    CUCB,
    LRUCB,
    MARA,
    MGUCB,
    POLICIES,
    RAUCB,
    Ask,
    Contextual,
    ExploreThenCommit,
    Greedy,
    Guarded,
    Oracle,
    Policy,
    Portfolio,
    State,
    Thompson,
    Uniform,
)
from headgate.testing import POLICY_CHECKS, ConformanceError, MakePolicy, check_policy


def told(law: Law, arms: int, max_budget: float, **common: Any) -> Oracle:
    truth: dict[str, Any] = {"activation": np.linspace(0.3, 0.9, arms), "rate": np.linspace(0.2, 1.0, arms)}
    return Oracle(law, arms, max_budget, **truth, **common)


def guarded(law: Law, arms: int, max_budget: float, **common: Any) -> Guarded:
    return Guarded(Thompson(law, arms, max_budget, **common), share=0.8)


MAKERS: dict[str, MakePolicy] = {
    "thompson": Thompson,
    "contextual": Contextual,
    "contextual features": partial(Contextual, features=3),
    "contextual slopes": partial(Contextual, features=2, slopes=True, memory=40),
    "lr-ucb": LRUCB,
    "guarded": guarded,
    "ra-ucb": partial(RAUCB, rounds=60),
    "ra-ucb small radii": partial(RAUCB, rounds=60, scale=1e-4),
    "ra-ucb corrected": partial(RAUCB, rounds=60, scale=1e-4, estimator="corrected"),
    "mg-ucb": partial(MGUCB, rounds=60, scale=1e-3),
    "greedy": partial(Greedy, rounds=60),
    "explore-then-commit": partial(ExploreThenCommit, rounds=60),
    "explore-then-commit likelihood": partial(ExploreThenCommit, rounds=60, estimator="likelihood"),
    "cucb": partial(CUCB, rounds=60),
    "cucb step": partial(CUCB, step=1.0),
    "mara": MARA,
    "portfolio": partial(Portfolio, memory=15, kinds=3),
    "uniform": Uniform,
    "oracle": told,
}


def test_every_policy_of_the_registry_is_put_through_the_suite() -> None:
    assert {name.split()[0] for name in MAKERS} >= set(POLICIES)  # and wrappers of them


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", MAKERS)
def test_policy_conforms(name: str, check: Callable[[MakePolicy], None]) -> None:
    check(MAKERS[name])


class Plain(Policy):
    """An even split."""

    name = "plain"
    additive = True

    def split(self, state: Any, ask: Ask) -> Floats:
        even: Floats = Uniform.split(self, state, ask)  # type: ignore[arg-type]  # it needs a policy's arms alone
        return even


class Spendthrift(Plain):
    """Spends what it has not got."""

    def split(self, state: Any, ask: Ask) -> Floats:
        return 1.1 * super().split(state, ask)


class Forgetful(Plain):
    """Does not write its state down: with every decision it gives less."""

    def split(self, state: Any, ask: Ask) -> Floats:
        hidden = vars(self)
        hidden["decisions"] = hidden.get("decisions", 0) + 1
        less = np.floor(super().split(state, ask) / hidden["decisions"])
        return np.asarray(np.maximum(less, ask.limits.lower))


@dataclass(slots=True, eq=False)
class Growing(State):
    seen: Floats


class Crowded(Plain):
    """Its state grows."""

    def start(self, evidence: Any = None) -> Growing:
        return Growing(self.evidence_or_none(evidence), 0, np.zeros(0))

    def split(self, state: Any, ask: Ask) -> Floats:
        x = super().split(state, ask)
        state.seen = np.append(state.seen, x.sum())
        return x


class Careless(Plain):
    """Notes the round before it looks whether it may."""

    def ask(self, budget: Any, **more: Any) -> Ask:
        self.state.round += 1
        ask = super().ask(budget, **more)
        self.state.round -= 1
        return ask


class Noisy(Plain):
    """Learns when it decides."""

    def split(self, state: Any, ask: Ask) -> Floats:
        state.evidence.bins[...] += 1.0
        return super().split(state, ask)


class Stubborn(Plain):
    """Does not look at the limits of a round."""

    def split(self, state: Any, ask: Ask) -> Floats:
        return super().split(state, replace(ask, limits=replace(self._limits, budget=ask.limits.budget)))


class Hoarder(Plain):
    """Says that feedback changes evidence alone, and keeps more."""

    def absorb(self, state: Any, x: Any, feedback: Any, features: Any = None) -> Any:
        state.round += 1
        return super().absorb(state, x, feedback, features)


@pytest.mark.parametrize(
    ("policy", "complaint"),
    [
        (Spendthrift, "spends more"),
        (Forgetful, "allocates differently|must write the JSON|allocate alike"),
        (Crowded, "has grown"),
        (Careless, "changed the state"),
        (Noisy, "must not change evidence|weigh 10 rounds"),
        (Stubborn, "is above the upper limits"),
        (Hoarder, "must leave the same state"),
    ],
)
def test_the_suite_catches_bad_policies(policy: type[Policy], complaint: str) -> None:
    with pytest.raises(ConformanceError, match=complaint) as caught:
        check_policy(policy)
    assert any("headgate.testing" in note for note in caught.value.__notes__)
