"""Deciding at an edge: an allocator's policy on the sum that was pulled and what was seen here since.

Nothing here does any input or output, and nothing is shared between threads: `headgate.edge.base` sees to both.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from headgate.client.answers import Learner
from headgate.errors import UnknownArmError
from headgate.evidence import Evidence
from headgate.feedback import Feedback
from headgate.laws import Floats
from headgate.policies import POLICIES, Policy, Thompson
from headgate.policies.thompson import ThompsonState

Results = Mapping[str, float | bool | None]
_AHEAD = 32
"""Decisions of one budget that are drawn together: one of many costs a fraction of one alone."""
_PER_DECISION = 20
"""Results of each arm, in the mean, that have to be known for each of them: then the ones before hardly matter."""
_MOST_BUDGETS = 8
_MOST_CELLS = 12_000
"""Of the evidence of one push, some 300 KB."""


class Deciding:
    """A policy that decides here; `take_over` gives it what the service knows."""

    def __init__(self, learner: Learner, edge: str) -> None:
        self._seed = int.from_bytes(hashlib.sha256(f"{edge} {secrets.token_hex(8)}".encode()).digest()[:6])
        self._round = 0
        self._ahead: dict[float, list[list[float]]] = {}
        self._others: tuple[Policy, Any] | None = None
        self.config = self.seq = -1
        self.archived = False
        self.names: list[str] = []
        self.delta = Evidence.empty(1, 1.0)
        self.take_over(learner)

    def take_over(self, learner: Learner, unsent: Sequence[Evidence] = ()) -> None:
        """Go on with what the service knows, and what was seen here that is not in it: `delta`, and `unsent`."""
        if learner.evidence is None:  # as we know it
            return
        if learner.config != self.config:
            self._configure(learner)
        self.config, self.seq, self.archived = learner.config, learner.seq, learner.archived
        everything = Evidence.from_dict(learner.evidence, self.names).bins + self.delta.bins
        for more in unsent:
            everything[: more.arms] += more.bins
        self._sum.bins[...] = everything
        self._share()
        self._ahead.clear()
        if isinstance(self.policy, Thompson) and isinstance(self._state, ThompsonState):
            self.policy.renew(self._state)  # it looks again now and then, by rounds of its own

    def _configure(self, learner: Learner) -> None:
        """Take over arms and policy; places of arms never change, so evidence of before stays where it is."""
        options = learner.policy["options"]
        self.policy = POLICIES.find(learner.policy["name"]).from_plain({**options, "seed": self._seed})
        before, self.names = self.delta, list(learner.arms)
        most = self.policy.max_budget
        self.delta, self._sum = (Evidence.empty(len(self.names), most) for _ in range(2))
        if before.max_budget == most:
            self.delta.bins[: min(before.arms, len(self.names))] = before.bins[: len(self.names)]
        self._active = np.array(learner.active, dtype=np.intp)
        self._all_active = len(self._active) == len(self.names)
        self._shown = self._sum if self._all_active else Evidence.empty(len(self._active), most)
        self.active_names = [self.names[place] for place in self._active]
        self._place = {name: place for place, name in enumerate(self.names)}
        self._place_in_use = {name: place for place, name in enumerate(self.active_names)}
        self._whole = np.zeros(len(self.names), dtype=np.bool_)
        self._whole[self._active] = self.policy.whole
        self._state = self.policy.start(self._shown)
        self._others = None

    def _share(self) -> None:
        """Let the policy see the evidence of the arms in use, where these are not all."""
        if not self._all_active:
            self._shown.bins[...] = self._sum.bins[self._active]

    # -- decide --------------------------------------------------------------------------------------------------------

    def decide(self, budget: float, terms: Mapping[str, Any]) -> dict[str, float]:
        """Split a budget."""
        if terms or type(budget) is not float:
            return dict(zip(self.active_names, self._decide(budget, terms).tolist(), strict=True))
        draws = self._ahead.get(budget)
        if not draws:
            draws = self._draw(budget)
        return dict(zip(self.active_names, draws.pop(), strict=True))

    def _decide(self, budget: float, terms: Mapping[str, Any]) -> Floats:
        """Begin a round, the next; rounds are counted through all that was pulled, so no noise comes twice."""
        self._state.round = self._round
        self._round += 1
        x, self._state = self.policy.decide(self._state, self.policy.ask(budget, **self._by_place(terms)))
        return x

    def _draw(self, budget: float) -> list[list[float]]:
        """Draw a decision, and many at once when so much is known that a few results more hardly change it."""
        enough = _AHEAD * _PER_DECISION * max(len(self._active), 1)
        draws = [self._decide(budget, {}).tolist()]
        if self._sum.trials.sum() >= enough and isinstance(self._state, ThompsonState):
            draws += self._more(self._state, budget)
        if len(self._ahead) >= _MOST_BUDGETS:
            self._ahead.clear()
        self._ahead[budget] = draws
        return draws

    def _more(self, state: ThompsonState, budget: float) -> list[list[float]]:
        """Draw decisions more in the round that `state` has just decided: from the same posterior, which costs most."""
        if self._others is None:
            seeds = self._seed + 1 + np.arange(_AHEAD - 1)
            policy = type(self.policy)(**self.policy.options() | {"seed": seeds})
            self._others = policy, policy.start(self._many(self._shown))
        policy, others = self._others
        others.evidence, others.round = self._many(self._shown), state.round - 1
        for name in ("memory", "beliefs", "prior", "shares", "idle", "alpha", "looseness"):
            value = getattr(state, name)
            setattr(others, name, np.broadcast_to(value, (_AHEAD - 1, *value.shape)))
        x, _ = policy.decide(others, policy.ask(budget))
        more: list[list[float]] = x.tolist()
        return more

    def _many(self, evidence: Evidence) -> Evidence:
        """Return the evidence as that of many learners, without copying it."""
        return replace(evidence, bins=np.broadcast_to(evidence.bins, (_AHEAD - 1, *evidence.bins.shape)))

    def _by_place(self, terms: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is special about a decision, in the order of the arms in use."""
        by_place: dict[str, Any] = {}
        for name, usual in (("value", self.policy.value), ("lower", 0.0), ("upper", np.inf), ("eligible", False)):
            term = terms.get(name)
            if term is not None:
                by_place[name] = np.broadcast_to(usual, len(self._active)).copy()
                for arm, number in (dict.fromkeys(term, True) if name == "eligible" else term).items():
                    if arm not in self._place_in_use:
                        raise UnknownArmError(f"{name} names {arm!r}, which is no arm in use")
                    by_place[name][self._place_in_use[arm]] = number
        return by_place

    # -- learn ---------------------------------------------------------------------------------------------------------

    def learn(self, amounts: Mapping[str, float], results: Results) -> None:
        """Count results of arms, which got these amounts; raise, and count nothing, if they cannot be."""
        arms = len(self.names)
        x, thresholds = np.zeros(arms), np.full(arms, np.nan)
        won, reported = np.zeros(arms, dtype=np.bool_), np.zeros(arms, dtype=np.bool_)
        for arm, result in results.items():
            place = self._place[arm]
            x[place], reported[place] = amounts[arm], True
            if result is not None:
                won[place] = True
                if result is not True:
                    thresholds[place] = result
        if self._whole.any():
            x[self._whole] = np.floor(x[self._whole])
        feedback = Feedback(won, thresholds, reported)
        self.delta.record(x, feedback)
        self._sum.record(x, feedback)
        self._share()

    def cut(self) -> tuple[Evidence, dict[str, Any]]:
        """Take out of what was seen as much as one push may have: as evidence, and as plain data."""
        arms = np.flatnonzero(self.delta.trials)
        cells = np.cumsum((self.delta.bins[arms] != 0.0).any(axis=-2).sum(axis=(-1, -2)))
        places = arms[: max(int(np.searchsorted(cells, _MOST_CELLS, side="right")), 1)]
        part = Evidence.empty(self.delta.arms, self.delta.max_budget)
        part.bins[places] = self.delta.bins[places]
        self.delta.bins[places] = 0.0
        names = [self.names[place] for place in places]
        plain = (
            replace(part, bins=part.bins[places]).to_dict(names) if names else {**part.to_dict(self.names), "arms": {}}
        )
        return part, plain

    def give_back(self, part: Evidence) -> None:
        """Take evidence back that is not going to be sent."""
        self.delta.bins[: part.arms] += part.bins

    @property
    def unsent(self) -> int:
        """Results that are in no push yet."""
        return int(self.delta.trials.sum())

    def evidence(self) -> Floats:
        """Everything known here, of all arms: (K, kinds, 2, bins)."""
        return self._sum.bins
