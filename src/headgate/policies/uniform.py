"""Uniform: the same for every arm, whatever it sees."""

from __future__ import annotations

from typing import final

import numpy as np

from headgate.laws import Floats
from headgate.oracle import Limits
from headgate.policies.ask import Ask
from headgate.policies.base import Policy
from headgate.policies.state import State


@final
class Uniform(Policy):
    """Split the budget evenly: one level for all arms, or the nearest that an arm's limits allow.

    Arms that count in whole units get whole units: of what does not divide, one more to each of the first. What arms
    are worth and how rounds are rewarded makes no difference.
    """

    name = "uniform"
    additive = True

    def split(self, state: State, ask: Ask) -> Floats:  # noqa: ARG002  # whatever was seen
        """Return one level for all arms."""
        limits = ask.limits
        if limits.free:
            x = np.repeat(limits.budget[..., None] / self.arms, self.arms, axis=-1)
        else:
            x = np.clip(_level(limits)[..., None], limits.lower, limits.upper)
        if self.whole.any():
            x = np.where(self.whole, np.floor(x), x)
            rest = limits.budget - x.sum(axis=-1)
            room = self.whole & (x + 1.0 <= limits.upper)
            x += room & (np.cumsum(room, axis=-1) <= rest[..., None] + 1e-9)
        return x


def _level(limits: Limits) -> Floats:
    """The level at which clipping to the limits spends the budget, or as much of it as the arms can hold."""
    budget = limits.budget[..., None]
    lower, upper = np.broadcast_arrays(limits.lower, np.minimum(limits.upper, budget))
    # As the level rises an arm fills from `lower` to `upper`: how many are filling, and what that adds up to.
    ends = np.concatenate([lower, upper], axis=-1)
    order = np.argsort(ends, axis=-1, kind="stable")
    ends = np.take_along_axis(ends, order, axis=-1)
    filling = np.cumsum(np.where(order < lower.shape[-1], 1.0, -1.0), axis=-1)
    spent = np.cumsum(filling[..., :-1] * np.diff(ends, axis=-1), axis=-1)
    spent = np.concatenate([np.zeros_like(ends[..., :1]), spent], axis=-1) + lower.sum(axis=-1, keepdims=True)
    last = np.sum(spent <= budget, axis=-1, keepdims=True) - 1
    last = np.maximum(last, 0)
    at, so_far, count = (np.take_along_axis(v, last, axis=-1) for v in (ends, spent, filling))
    return np.asarray((at + np.maximum(budget - so_far, 0.0) / np.maximum(count, 1.0))[..., 0])
