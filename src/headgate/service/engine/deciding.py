"""What a policy decides for an allocator: splits, schedules, plans, live rounds, and the same again from the log."""

from __future__ import annotations

import json
from abc import ABC
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headgate.feedback import Feedback
from headgate.laws import Floats, Law, OneOf
from headgate.live import LiveRound
from headgate.policies import Contextual, Guarded, Policy
from headgate.policies.ask import Ask
from headgate.service.bodies import DecisionRequest, LiveRequest, Mode
from headgate.service.engine.baseline import Baseline
from headgate.service.engine.features import features_by_arm, features_of_request
from headgate.service.engine.live import Playing
from headgate.service.engine.modes import Split, draw
from headgate.service.engine.order import Part
from headgate.service.engine.reasons import reason_of
from headgate.service.engine.records import LoggedDecision
from headgate.service.faults import RefusedError
from headgate.service.spec import AllocatorSpec, ArmSpec, build_law

_MOST_STEPS = 2_000  # of a schedule: all of them are in the answer
_MOST_LIVE = 200  # arms of a live round, whose curves are all stored with it
_MOST_PLANNED = 50  # arms of a plan: half a second or so, in which nobody else decides


class Decider(ABC):
    """The policy of the arms in use, in the state that it has come to. `Learner` brings it there, from the database."""

    name: str
    """Of the allocator."""
    spec: AllocatorSpec
    policy: Policy
    state: Any
    """The policy's own."""
    baseline: Baseline | None
    ordered: bool
    """Whether the state depends on the order of the log."""
    active: NDArray[np.intp]
    """The arms in use, by their positions among all."""
    active_names: list[str]
    place: dict[str, int]
    """Of each arm in use among these."""
    reason: str | None
    """What is stored of the latest decision, for `why`."""
    _believer: Policy
    """The policy, or the one that a guard holds back."""
    _specs: list[ArmSpec]

    # -- decisions ---------------------------------------------------------------------------------------------------

    def _ask(self, request: DecisionRequest, turn: int) -> Ask:
        """Return what the decision of that number wants, in the order of the arms in use."""
        terms: dict[str, Any] = {}
        if isinstance(self.policy, Contextual) or request.features is not None or request.arm_features is not None:
            terms |= features_by_arm(self.policy, self.active_names, request.features, request.arm_features)
        for name, usual in (("value", self.policy.value), ("lower", 0.0), ("upper", np.inf), ("eligible", False)):
            term = getattr(request, name)
            if term is not None:
                terms[name] = np.broadcast_to(usual, len(self.active)).copy()
                by_arm = dict.fromkeys(term, True) if name == "eligible" else term
                for arm, number in by_arm.items():
                    place = self.place.get(arm)
                    if place is None:
                        raise RefusedError(f"there is no arm {arm!r} in use", name)
                    terms[name][place] = number
        budget = self.policy.max_budget if request.budget is None else request.budget
        return self.policy.ask(budget, round=turn, **terms)

    def allocate(self, request: DecisionRequest, turn: int, mode: Mode | None = None) -> Split:
        """Split a budget, as the decision of that number: by the policy, or by the baseline if that has its turn.

        A decision that is made again says whose turn it was.
        """
        ask, policy, self.reason = self._ask(request, turn), self.policy, None
        if mode is None:
            mode = "policy" if self.baseline is None else self._whose(turn)
        if mode == "holdout":
            allocation = self._by_baseline(ask)
            self.state = policy.skip(self.state, ask)
            return Split(allocation, mode, self.spec.holdout)
        aside = mode == "shadow" and self.ordered  # it is not its round: it must not remember that it decided
        held = self.state.held if isinstance(policy, Guarded) else 0.0
        x, state = policy.decide(self.state.copy() if aside else self.state, ask)
        if not np.isfinite(x.sum()):
            raise ArithmeticError(f"allocator {self.name!r} has decided what is no number")
        self.state = policy.skip(self.state, ask) if aside else state
        self.reason = reason_of(self._believer)
        allocation = dict(zip(self.active_names, x.tolist(), strict=True))
        if mode == "shadow":
            return Split(self._by_baseline(ask), mode, 1.0, allocation)
        if isinstance(policy, Guarded) and bool(state.held > held):
            mode = "guard"
        return Split(allocation, mode, 1.0 - self.spec.holdout)

    def _whose(self, turn: int) -> Mode:
        """Return whose turn it is: the policy's, or the baseline's."""
        if self.spec.shadow:
            return "shadow"
        return "holdout" if draw(self.name, turn) < self.spec.holdout else "policy"

    def _by_baseline(self, ask: Ask) -> dict[str, float]:
        if self.baseline is None:
            raise AssertionError("its turn comes only where there is one")
        return dict(zip(self.active_names, self.baseline.split(ask).tolist(), strict=True))

    def refuse_as_it_goes(self, field: str) -> None:
        """Refuse schedules and live rounds where the baseline may have to answer, which splits a budget at once."""
        if self.spec.shadow or self.spec.guard is not None:
            word = "shadow" if self.spec.shadow else "guard"
            raise RefusedError(f"with a {word} a budget must be known and is split at once", field)

    def open(self, request: LiveRequest, turn: int) -> Playing:
        """Begin a live round, as the decision of that number."""
        policy = self.policy
        if len(self.active) > _MOST_LIVE:
            raise RefusedError(f"a live round has at most {_MOST_LIVE} arms, this one has {len(self.active)}", "body")
        ask = self._ask(request, turn)
        (x, y), self.state = policy.begin_live(self.state, ask)
        live = LiveRound(
            x, y, budget=request.budget, value=1.0 if ask.value is None else ask.value, lower=ask.limits.lower,
            upper=np.minimum(ask.limits.upper, policy.max_budget), whole=policy.whole, reward=self.spec.reward,
            switching=request.switching,
        )  # fmt: skip
        return Playing(live, self.active_names)

    def schedule(self, request: DecisionRequest, turn: int) -> list[tuple[str, float]]:
        """Plan for a budget that nobody knows yet."""
        policy, names, step = self.policy, self.active_names, request.step
        least = self.spec.max_budget / _MOST_STEPS
        if step is not None and step < least:
            raise RefusedError(f"step must be at least max_budget / {_MOST_STEPS}, {least:g}, got {step:g}", "step")
        blocks = min(1024, max(_MOST_STEPS // len(names), 16))
        resolution = self.spec.max_budget / blocks if step is None else None
        if step is None and policy.whole.any():
            step, resolution = float(np.ceil(max(self.spec.max_budget / blocks, 1.0))), None
        (arms, amounts), self.state = policy.decide_pour(self.state, self._ask(request, turn), step, resolution)
        steps: list[tuple[str, float]] = []
        for arm, amount in zip(arms.tolist(), amounts.tolist(), strict=True):
            if steps and steps[-1][0] == names[arm]:
                steps[-1] = (names[arm], steps[-1][1] + amount)
            else:
                steps.append((names[arm], amount))
        return steps

    def plan(self, request: DecisionRequest, turn: int) -> list[tuple[str, float]]:
        """Plan for a budget that nobody knows, without taking up an arm again, by how long budgets have lasted."""
        names = self.active_names
        if len(names) > _MOST_PLANNED:
            raise RefusedError(
                f"switching must be true with more than {_MOST_PLANNED} arms, got {len(names)}", "switching"
            )
        plan, self.state = self.policy.decide_plan(self.state, self._ask(request, turn))
        return [(names[arm], float(plan.amounts[arm])) for arm in plan.order.tolist()]

    # -- what is in the log already ------------------------------------------------------------------------------------

    def again(self, decision: LoggedDecision) -> dict[str, float] | list[tuple[str, float]]:
        """Make a decision of the log again: return the allocation or schedule of the policy, a holdout's as it is."""
        if decision.live:
            body = {name: value for name, value in json.loads(decision.request).items() if name != "live"}
            self.open(LiveRequest.model_validate(body), decision.round)
            return {}
        request = DecisionRequest.model_validate_json(decision.request)
        if request.budget is None:
            return (self.schedule if request.switching else self.plan)(request, decision.round)
        if decision.mode == "holdout":
            self.state = self.policy.skip(self.state, self._ask(request, decision.round))
            return decision.allocation or {}
        split = self.allocate(request, decision.round, "shadow" if decision.mode == "shadow" else "policy")
        return split.allocation if split.policy_allocation is None else split.policy_allocation

    def learn(self, part: Part) -> None:
        """Let a policy that depends on the order absorb a report; raise, and change nothing, if it cannot be."""
        arms = len(self.active)
        x, thresholds = np.zeros(arms), np.full(arms, np.nan)
        won, reported = np.zeros(arms, dtype=np.bool_), np.zeros(arms, dtype=np.bool_)
        for name, threshold in part.results.items():
            place = self.place.get(name)
            if place is None:  # retired before this policy began
                continue
            x[place], reported[place], won[place] = part.amounts[name], True, threshold is not None
            if threshold is not None and threshold is not True:
                thresholds[place] = threshold
        features = features_of_request(self.policy, self.active_names, part.request)
        self.state = self.policy.absorb(self.state, x, Feedback(won, thresholds, reported), **features)
        if part.lasted is not None:
            self.state = self.policy.absorb_budget(self.state, *part.lasted)

    # -- which law it is -----------------------------------------------------------------------------------------------

    @cached_property
    def law(self) -> Law:
        """The law of the arms in use; where that is learned too, the one that is most probable now.

        A learner that thinks of it is not one that decides: the policy weighs laws when it begins a round.
        """
        laws = self.policy.laws
        if not isinstance(laws, OneOf):
            return laws
        if isinstance(self.policy, Contextual):
            return laws.laws[int(np.argmax(self.policy.chances(self.state)))]
        _, state = self.policy.decide(self.state.copy(), self.policy.ask(self.policy.max_budget))
        shares: Floats = state.shares
        return laws.laws[int(np.argmax(shares.mean(axis=0)))]

    def law_of(self, places: NDArray[np.intp]) -> Law:
        """Return the law of some arms, by their places, retired ones too."""
        if not isinstance(self.policy.laws, OneOf):
            return build_law(self.spec, [self._specs[place] for place in places])
        return self.law
