"""The baseline of an allocator: what would be done without it, for any budget and within the limits of a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from headgate.laws import Floats
from headgate.policies import Policy, Uniform
from headgate.policies.ask import Ask
from headgate.policies.guarded import fitted


class Baseline:
    """An even split, or amounts by arm: as they are where the budget suffices, else all of them cut in proportion.

    Limits of arms hold for both. Arms that amounts do not name get nothing, or what they must get.
    """

    def __init__(self, baseline: Literal["even"] | Mapping[str, float], names: Sequence[str], policy: Policy) -> None:
        self._policy = policy
        self._even = Uniform(policy.law, len(names), policy.max_budget)
        self._amounts = None if baseline == "even" else np.array([baseline.get(name, 0.0) for name in names])

    @property
    def of_guard(self) -> Any:
        """The same as `headgate.Guarded` takes it."""
        return "even" if self._amounts is None else self._at

    def _at(self, budget: float) -> Floats:
        """Return the amounts of a budget, before limits: (K,)."""
        if self._amounts is None:
            raise AssertionError("an even split has no amounts")
        total = float(self._amounts.sum())
        return self._amounts if total <= budget else self._amounts * (budget / total)

    def split(self, ask: Ask) -> Floats:
        """Return what each arm in use gets, (K,)."""
        if self._amounts is None:
            x = self._even.split(self._even.state, ask)
        else:
            x = fitted(self._at(float(ask.limits.budget)), ask, self._policy.whole)
        return self._even.within_budget(x, ask)
