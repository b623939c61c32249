"""What a policy is: a rule, and the object people hold, which keeps a state and acts on it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from headgate.errors import AllocationError, BudgetError, FeedbackError, ShapeError, UnsupportedError
from headgate.estimators import Estimate, likelihood
from headgate.evidence import Evidence
from headgate.feedback import Feedback
from headgate.laws import Floats, from_dict
from headgate.live import LiveRound, Step
from headgate.live.progress import step_of
from headgate.live.terms import check_way, checked_budget
from headgate.names import Amounts, ByArm, amounts_of, by_name, flags_by_name
from headgate.oracle.plan import Plan
from headgate.policies.rule import Rule
from headgate.policies.state import parsed, plain
from headgate.policies.version1 import upgraded

VERSION = 2


class Policy(Rule):
    """Allocates and learns.

    The fields are the configuration, and never change; what has been learned is the `state`. Every method here is
    written in terms of the verbs of `Rule`, which take a state and return the next: `allocate` decides, `observe`
    absorbs.

    Leading axes are a batch: seeds of shape (R,) make R independent learners that step together, each equal to a single
    one with its seed.

    A policy of your own has a `name` and writes `split`; what it remembers beside evidence is a subclass of `State`
    that `start` makes and `absorb` fills.
    """

    @cached_property
    def state(self) -> Any:
        """The state that `allocate` and `observe` act on: of the class that `start` returns."""
        return self.start()

    @property
    def evidence(self) -> Evidence:
        """What has been seen of each arm."""
        evidence: Evidence = self.state.evidence
        return evidence if self.names is None else evidence.of_names(self.names)

    @property
    def round(self) -> int:
        """How many rounds have begun."""
        return int(self.state.round)

    def allocate(
        self,
        budget: ArrayLike,
        *,
        value: ByArm | None = None,
        eligible: ByArm | None = None,
        lower: ByArm | None = None,
        upper: ByArm | None = None,
        features: Any = None,
    ) -> Floats:
        """Split a budget, and begin a new round: return what each arm gets, (..., K), the sum <= budget.

        Parameters
        ----------
        budget
            One number or one per batch row, within [0, max_budget].
        value
            What a success of each arm is worth in this round, instead of the policy's own: (K,), (batch, K), by name.
        eligible
            False for arms that cannot be served in this round: they get 0, whatever the policy's own lower limit. Or
            the names of those that can.
        lower, upper
            The least and most of each arm in this round, where that is narrower than the policy's own limits; by name
            too.
        features
            What is known of the round or of each arm before deciding; for `headgate.Contextual` alone.
        """
        if value is eligible is lower is upper is None:
            ask = self.ask(budget, features=features)
        else:
            ask = self.ask(budget, features=features, **self._by_name(value, eligible, lower, upper))
        x, state = self.decide(self.state, ask)
        vars(self)["state"] = state
        return x if self.names is None else Amounts.of(x, self.names)

    def _by_name(self, value: Any, eligible: Any, lower: Any, upper: Any) -> dict[str, Any]:
        """Return what a round was asked for: by name, then in the order of the arms; all else as it is."""
        names = self.names
        return {
            "value": by_name(value, names, 1.0),
            "eligible": flags_by_name(eligible, names),
            "lower": by_name(lower, names, 0.0, BudgetError),
            "upper": by_name(upper, names, np.inf, BudgetError),
        }

    def live(
        self,
        budget: ArrayLike | None = None,
        *,
        value: ByArm | None = None,
        eligible: ByArm | None = None,
        lower: ByArm | None = None,
        upper: ByArm | None = None,
        features: Any = None,
        switching: bool = True,
        lookahead: bool = False,
    ) -> LiveRound:
        """Begin a round that is handed out step by step: what a success leaves over goes to the others.

        Serve what `next` says, `report` what came of it, until there is no next step; then `observe` the round.

        Parameters
        ----------
        budget
            One number within [0, max_budget]; None if nobody knows it, and you `stop` the round when it is gone;
            several numbers, what it has been: then it is taken to be one of these.
        value, eligible, lower, upper, features
            As in `allocate`.
        switching, lookahead
            See `headgate.LiveRound`.
        """
        if self.batch:
            raise UnsupportedError(f"only a single learner plays live, this is a batch of shape {self.batch}")
        amounts = None if budget is None else checked_budget(budget)
        most = self.max_budget if amounts is None else float(amounts.max())
        ask = self.ask(most, features=features, **self._by_name(value, eligible, lower, upper))
        check_way(amounts, ask.limits, self.reward, switching, lookahead)
        curves, state = self.begin_live(self.state, ask)
        vars(self)["state"] = state
        whole = np.ascontiguousarray(np.broadcast_to(self.whole, ask.limits.lower.shape[-1:]))
        return LiveRound.trusted(
            curves, amounts, 1.0 if ask.value is None else ask.value, ask.limits, whole, reward=self.reward,
            switching=switching, lookahead=lookahead, names=self.names,
        )  # fmt: skip

    def observe(
        self,
        x: ByArm | LiveRound,
        feedback: Feedback | Mapping[str, float | bool | None] | None = None,
        *,
        features: Any = None,
    ) -> None:
        """Learn what came of an allocation: at once or late, whole or in parts, in any order.

        `x` is what was really given, or a live round that is over, which has its feedback. An arm whose result has not
        arrived is marked as not reported, and observed later in a call of its own. `features` are those that the round
        was decided with, for a policy that takes them. Where arms have names, both may be given by them: of each arm
        that has reported the threshold of its success, True if that is not known, None for a failure.

        >>> from headgate import Thompson, Weibull
        >>> policy = Thompson(Weibull(1.6), arms=["q1", "q2"], max_budget=30.0)
        >>> policy.observe({"q1": 8.0, "q2": 12.0}, {"q1": 3.2, "q2": None})
        >>> policy.evidence.successes
        array([1., 0.])
        """
        if isinstance(x, LiveRound):
            if feedback is not None or not x.done:
                raise FeedbackError(
                    "a live round has its feedback when it is over: play it until next() is None, or stop() it, and "
                    "observe(live)"
                )
            feedback, x = x.feedback, x.x
        if type(feedback) is not Feedback and isinstance(feedback, Mapping):
            feedback = Feedback.by_name(feedback, self.names)
        if type(x) is not np.ndarray and type(x) is not Amounts:
            x = amounts_of(x, self.names, AllocationError)
        extra = () if features is None else (features,)
        vars(self)["state"] = self.absorb(self.state, x, feedback, *extra)  # type: ignore[arg-type]  # checked there

    def warm_start(self, evidence: Evidence) -> None:
        """Begin again with what was seen elsewhere, such as the evidence of a log: a copy of it, and round 0.

        It must be of the policy's arms and at its max_budget. Where both have names arms are found by them; else they
        are in the policy's order. A policy that remembers more than evidence (`additive` is False) cannot begin so.
        """
        if not self.additive:
            raise UnsupportedError(f"{self.name} remembers more than evidence: it cannot begin with that of a log")
        fresh = self.start()
        if self.names is not None and evidence.names is not None:
            evidence = evidence.of_names(self.names)
        theirs, ours = ((e.max_budget, e.bins.shape[:-3]) for e in (evidence, fresh.evidence))
        if theirs != ours:
            raise ShapeError(
                f"evidence must be at max_budget {ours[0]:g} and of arms {ours[1]}, got {theirs[0]:g} and {theirs[1]}"
            )
        own = evidence.copy()
        vars(self)["state"] = self.start(Evidence(own.max_budget, own.bins, own.edges))

    def pour(
        self, step: float | None = None, *, resolution: float | None = None, features: Any = None
    ) -> Iterator[Step]:
        """Begin a round whose budget nobody knows yet: yield (arm, amount) until `max_budget`, or until you stop.

        Each is a `Step`, whose `name` is the arm's if it has one.

        Then `observe` what each arm got in all. See `ModelPolicy.decide_pour` for `step` and `resolution`.
        """
        (arms, amounts), state = self.decide_pour(
            self.state, self.ask(self.max_budget, features=features), step, resolution
        )
        vars(self)["state"] = state
        return iter([step_of(*pair, self.names) for pair in zip(arms.tolist(), amounts.tolist(), strict=True)])

    def plan(
        self,
        *,
        value: ByArm | None = None,
        eligible: ByArm | None = None,
        upper: ByArm | None = None,
        features: Any = None,
    ) -> Plan:
        """Begin a round whose budget nobody knows, in which no arm is taken up again: return order and amounts.

        The plan is the best for what is believed of the arms and of the budget, whose law is learned from
        `observe_budget`; its value and bound hold under that belief. Then `observe(plan.given(budget), feedback)` and
        `observe_budget(budget)`. `value`, `eligible`, `upper` and `features` are those of `allocate`.
        """
        ask = self.ask(self.max_budget, features=features, **self._by_name(value, eligible, None, upper))
        plan, state = self.decide_plan(self.state, ask)
        vars(self)["state"] = state
        return plan.labelled(self.names)

    def observe_budget(self, amount: float, *, censored: bool = False) -> None:
        """Learn how long a budget lasted, for `plan`: a number within [0, max_budget].

        `censored`: the round ended before the budget did, after `amount`, so nobody knows how long it would have
        lasted.
        """
        vars(self)["state"] = self.absorb_budget(self.state, amount, censored)

    def estimate(
        self, level: float = 0.9, interval: Literal["fisher", "likelihood-ratio"] = "likelihood-ratio"
    ) -> Estimate:
        """Return what has been learned of each arm, with intervals; see `headgate.estimators.likelihood`."""
        with np.errstate(all="ignore"):  # arms of which nothing is known have infinite intervals
            estimate = likelihood(self.laws, self.state.evidence, level=level, interval=interval)
        return estimate if self.names is None else replace(estimate, names=self.names)

    def to_json(self) -> str:
        """Write configuration and state; `headgate.load_policy` continues from it exactly."""
        data = {"version": VERSION, "policy": self.name, "options": self.plain_options(), "state": self.state.to_dict()}
        return json.dumps(data, allow_nan=False)

    def plain_options(self) -> dict[str, Any]:
        """Return the configuration as plain data for JSON."""
        return {name: plain(value) for name, value in self.options().items()} | {"law": self.laws.to_dict()}

    @classmethod
    def from_plain(cls, options: Mapping[str, Any]) -> Self:
        """Return the policy that `plain_options` was written of, knowing nothing yet."""
        return cls(**{name: parsed(value) for name, value in options.items()} | {"law": from_dict(options["law"])})

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a policy from what `to_json` wrote, parsed; version 1 is read too."""
        if data["version"] == 1:
            data = upgraded(cls, data)
        policy = cls.from_plain(data["options"])
        vars(policy)["state"] = policy.start().from_dict(data["state"])
        return policy
